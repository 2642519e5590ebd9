'use strict';
// Recursive and polymorphic calls.
const size = Number(process.argv[2]);

class Leaf { value(x) { return x; } }
class Sum {
    constructor(a, b) { this.a = a; this.b = b; }
    value(x) { return this.a.value(x) + this.b.value(x); }
}
class Product extends Sum {
    value(x) { return this.a.value(x) * this.b.value(x + 1) % 1000003; }
}

function tree(depth) {
    if (depth === 0)
        return new Leaf();
    const kind = depth % 2 ? Sum : Product;
    return new kind(tree(depth - 1), tree(depth - 1));
}

function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

function permutations(list, n, visit) {
    if (n === 1)
        return visit(list);
    for (let i = 0; i < n; i++) {
        permutations(list, n - 1, visit);
        const other = n % 2 ? 0 : i, kept = list[other];
        list[other] = list[n - 1];
        list[n - 1] = kept;
    }
}

let sum = 0;
const root = tree(16);
for (let i = 0; i < size * 40; i++)
    sum += root.value(i);
sum += fib(31) * size;
for (let i = 0; i < size; i++)
    permutations([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 10, list => { sum += list[0] * list[9]; });
console.log(sum);
