'use strict';
// Promises, async functions, streams, timers and compression in the pool of threads.
const size = Number(process.argv[2]);
const {promisify} = require('util');
const {PassThrough, Transform, pipeline} = require('stream');
const gzip = promisify(require('zlib').gzip);
const {EventEmitter} = require('events');

const later = x => new Promise(done => (x % 100 ? queueMicrotask : setImmediate)(() => done(x)));

async function chain(n) {
    let sum = 0;
    for (let i = 0; i < n; i++)
        sum += await (i % 10 ? i : later(i));
    return sum;
}

async function* pieces(n) {
    for (let i = 0; i < n; i++)
        yield Buffer.alloc(2000, String(i));
}

function upper(n) {
    return new Promise((done, fail) => {
        let length = 0;
        const change = new Transform({transform(b, _, next) { next(null, b.toString().toUpperCase()); }});
        const end = new PassThrough();
        end.on('data', b => { length += b.length; });
        pipeline(pieces(n), change, end, e => e ? fail(e) : done(length));
    });
}

async function main() {
    let sum = 0;
    const emitter = new EventEmitter();
    emitter.on('n', n => { sum += n; });
    for (let i = 0; i < size * 20; i++) {
        const all = await Promise.all(Array.from({length: 40}, (_, k) => chain(400 + k)));
        all.forEach(n => emitter.emit('n', n));
        sum += await upper(400) + (await gzip(Buffer.alloc(200000, 'text ' + i))).length;
    }
    console.log(sum);
}
main();
