'use strict';
// Call chains that are known: f0 calls f1 calls ... f7, through functions, V8's builtins and its C++.
let seed = 1;

function f7(depth, x) {
    const rounds = depth > 30 ? 6000 : 300;
    for (let i = 0; i < rounds; i++)
        x = Math.imul(x, 1664525) + (x >>> 9) + i | 0;
    /* V8's own C++, called by generated code through builtins */
    const text = JSON.stringify({x, list: [x, depth, 'text'], more: {depth}});
    return x + new Error(text).stack.length + JSON.parse(text).list.length | 0;
}

function f6(depth, x, ...more) { return f7(depth, x) + f7(depth, x + more.length) | 0; }

function f5(depth, x) {
    try {
        const y = f6(depth, x, 1, 2, 3);
        if ((y & 1023) === 1023)
            throw new Error('odd');
        return y;
    } catch (e) {
        return e.message.length;
    }
}

class Base {
    constructor(x) { this.x = x; }
    f4(depth) { return f5(depth, this.x); }
}
class Other extends Base {
    f4(depth) { return f5(depth, this.x + 1) ^ 1; }
}

function f3(depth, x) { return (x & 1 ? new Base(x) : new Other(x)).f4(depth) + [x, x + 1].length; }
function f2(depth, x) { return JSON.parse('[1]', (key, y) => typeof y === 'number' ? f3(depth, x + y) : y)[0]; }
function f1(depth, x) {
    let sum = 0;
    for (let i = 0; i < 2 + depth; i++)
        sum = sum + f2.call(null, depth, x + i) | 0;
    return sum;
}
function f0(x) {
    for (let i = 0; i < 40; i++)
        seed = seed + f1(i % 36, x + i) | 0;
    return seed;
}

for (let i = 0; i < Number(process.argv[2]); i++)
    f0(i);
console.log(seed);
