'use strict';
// Objects: allocation under the garbage collector, maps, queues, inheritance, big numbers, workers.
const size = Number(process.argv[2]);
const {Worker, isMainThread, parentPort, workerData} = require('worker_threads');

class Queue {
    #heap = [];
    get size() { return this.#heap.length; }
    push(key, value) {
        let i = this.#heap.push({key, value}) - 1;
        for (let up; i && this.#heap[up = (i - 1) >> 1].key > this.#heap[i].key; i = up)
            [this.#heap[i], this.#heap[up]] = [this.#heap[up], this.#heap[i]];
    }
    pop() {
        const top = this.#heap[0], last = this.#heap.pop();
        if (this.#heap.length)
            this.#heap[0] = last;
        for (let i = 0, down; (down = 2 * i + 1) < this.#heap.length; i = down) {
            if (down + 1 < this.#heap.length && this.#heap[down + 1].key < this.#heap[down].key)
                down++;
            if (this.#heap[i].key <= this.#heap[down].key)
                break;
            [this.#heap[i], this.#heap[down]] = [this.#heap[down], this.#heap[i]];
        }
        return top;
    }
}

function dijkstra(n, seed) {
    const random = () => (seed = Math.imul(seed, 1103515245) + 12345 & 0x7fffffff) % n;
    const edges = Array.from({length: n}, () => Array.from({length: 5}, () => ({to: random(), cost: 1 + random() % 100})));
    const best = new Map(), queue = new Queue();
    queue.push(0, 0);
    while (queue.size) {
        const {key, value} = queue.pop();
        if (best.has(value))
            continue;
        best.set(value, key);
        for (const {to, cost} of edges[value])
            queue.push(key + cost, to);
    }
    return best.get(n - 1) || 0;
}

function factorial(n) { return n ? BigInt(n) * factorial(n - 1) : 1n; }

function work(rounds) {
    let sum = 0;
    for (let i = 0; i < rounds; i++)
        sum += dijkstra(20000, i + 1) + factorial(1500 + i).toString().length;
    return sum;
}

if (isMainThread) {
    const worker = new Worker(__filename, {workerData: size * 6, argv: [size]});
    worker.on('message', other => console.log(work(size * 6) + other));
} else {
    parentPort.postMessage(work(workerData));
}
