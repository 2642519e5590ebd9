// Recursion, exceptions through 500 frames, promises.
const end = Date.now() + Number(process.argv[2]) * 1000;
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
const deep = (n) => { if (n === 0) throw new Error("x"); return deep(n - 1) + 1; };
(async () => {
  let fine = true;
  while (Date.now() < end) {
    fine &&= fib(22) === 17711;
    try { deep(500); fine = false; } catch (e) { fine &&= e.message === "x"; }
    await new Promise((done) => setImmediate(done));
  }
  console.log(fine ? "fine" : "broken");
})();
