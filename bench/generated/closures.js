'use strict';
// Closures and the builtins that call back: map, filter, reduce, sort, replace, generators, proxies.
const size = Number(process.argv[2]);
const compose = (...all) => x => all.reduce((value, f) => f(value), x);

function* counted(n) {
    for (let i = 0; i < n; i++)
        yield i;
}

let sum = 0;
const f = compose(x => x + 1, x => x * 3 % 1009, x => x ^ 21, Math.abs, x => -x);
for (let i = 0; i < size * 14; i++) {
    const list = Array.from({length: 40000}, (_, k) => (k * 7919 + i) % 40009);
    list.sort((a, b) => a - b);
    sum += list.map(f).filter(x => x % 2).reduce((a, b) => a + b, 0);
    sum += [...counted(40000)].flatMap(x => [x, x + 1]).findLast(x => x % 977 === 0);
    sum += new Map(list.map(x => [x, String(x)])).size + new Set(list).size;
    sum += list.join(' ').replace(/\d+/g, x => x.length).length;
    const counting = new Proxy({}, {get: (_, key) => key.length, has: () => true});
    for (let k = 0; k < 20000; k++)
        sum += counting['key' + k] + Reflect.apply(f, null, [k]);
    list.forEach(x => { sum += f.call(null, x) + f.apply(null, [x]); });
}
console.log(sum);
