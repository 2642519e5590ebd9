'use strict';
// Exceptions through many frames, with stack traces, and what finally does.
const size = Number(process.argv[2]);
let depth = 0;

class Own extends Error {
    constructor(n) { super('own ' + n); this.n = n; }
}

function thrower(n, kind) {
    if (n === 0) {
        if (kind % 3 === 0)
            throw new Own(kind);
        if (kind % 3 === 1)
            return undefined.length;
        throw kind;
    }
    try {
        return thrower(n - 1, kind) + 1;
    } finally {
        depth++;
    }
}

let sum = 0;
for (let i = 0; i < size * 60000; i++) {
    try {
        sum += thrower(i % 20, i);
    } catch (e) {
        sum += e instanceof Own ? e.stack.length && 1 : typeof e === 'number' ? 2 : e.message.length;
    }
    try {
        JSON.parse('{"a":' + i);
    } catch (e) {
        sum += e instanceof SyntaxError;
    }
}
console.log(sum, depth);
