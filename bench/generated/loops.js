'use strict';
// Long loops: compiled while they run (on-stack replacement), one inside the other.
const size = Number(process.argv[2]);

function sieve(limit) {
    const composite = new Uint8Array(limit);
    let sum = 0;
    for (let i = 2; i < limit; i++) {
        if (composite[i])
            continue;
        sum += i;
        for (let j = i * i; j < limit; j += i)
            composite[j] = 1;
    }
    return sum;
}

function mandelbrot(n) {
    let inside = 0;
    for (let py = 0; py < n; py++)
        for (let px = 0; px < n; px++) {
            let x = 0, y = 0, i = 0;
            for (; i < 100 && x * x + y * y < 4; i++)
                [x, y] = [x * x - y * y + px / n * 3 - 2, 2 * x * y + py / n * 2 - 1];
            inside += i === 100;
        }
    return inside;
}

let sum = 0, x = 1;
for (let i = 0; i < size * 1e8; i++)
    x = Math.imul(x, 1664525) + 1013904223 | 0;
for (let i = 0; i < size * 4; i++)
    sum += sieve(4e6) + mandelbrot(500);
console.log(sum, x);
