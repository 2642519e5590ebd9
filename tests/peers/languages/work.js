function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
console.log(fib(32))
const a = []
for (let i = 0; i < 300000; i++) a.push("k" + i)
a.sort()
console.log(a[777], require("crypto").createHash("sha256").update(a.join("")).digest("hex"))
require("zlib").gzip(a.join(""), (e, z) => console.log(e, z.length))
try { null.x } catch (e) { console.log(e.name) }
