// Threads with a heap of their own each, that come and go; compression on the thread pool.
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const zlib = require("zlib");
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
const ask = (n) => new Promise((done, broken) => {
  const w = new Worker(__filename, { workerData: n });
  w.on("message", done);
  w.on("error", broken);
});
const packed = (data) => new Promise((done) => zlib.gzip(data, (e, out) => done(zlib.gunzipSync(out).equals(data))));
if (isMainThread) {
  const end = Date.now() + Number(process.argv[2]) * 1000;
  const data = Buffer.from("what is said again and again, ".repeat(5000));
  (async () => {
    let fine = true;
    while (Date.now() < end) {
      const answers = await Promise.all([ask(20), ask(21), ask(22), packed(data), packed(data)]);
      fine &&= answers.join() === "6765,10946,17711,true,true";
    }
    console.log(fine ? "fine" : "broken");
  })();
} else {
  parentPort.postMessage(fib(workerData));
}
