// Garbage, code that is optimized and thrown away again, regular expressions, generators, JSON.
const end = Date.now() + Number(process.argv[2]) * 1000;
function* count(n) { for (let i = 0; i < n; i++) yield i; }
class Square { constructor(n) { this.n = n; } area() { return this.n * this.n; } }
class Strip { constructor(n) { this.width = 1; this.n = n; } area() { return this.n; } }
const area = (shapes) => shapes.reduce((sum, s) => sum + s.area(), 0);
let fine = true;
while (Date.now() < end) {
  const shapes = [...count(200)].map((i) => (i % 2 ? new Square(i) : new Strip(i)));
  fine &&= area(shapes) === 1343200;
  const text = JSON.stringify(shapes);
  fine &&= JSON.parse(text).length === 200 && text.replace(/"n":\d+/g, "").length < text.length;
  shapes[0] = { area: () => "x" };
  fine &&= typeof area(shapes) === "string";
  fine &&= new Function("a", `return a + ${Math.floor(Math.random() * 1000)}`)(1) > 0;
  const m = new Map(shapes.map((s, i) => [`k${i}`, s]));
  fine &&= m.size === 200;
}
console.log(fine ? "fine" : "broken");
