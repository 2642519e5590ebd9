// The flat profile: a sortable table whose rows highlight a function in the graph.

import * as format from "./format.js";

const SHOWN_AT_FIRST = 100;

const columns = {
  name: (a, b) => a.name.localeCompare(b.name),
  image: (a, b) => (a.image || "").localeCompare(b.image || ""),
  self: (a, b) => b.self - a.self,
  total: (a, b) => b.total - a.total,
  calls: (a, b) => (b.calls || 0) - (a.calls || 0),
  each: (a, b) => (b.cost_per_call?.samples || 0) - (a.cost_per_call?.samples || 0),
};
const ALPHABETIC = ["name", "image"];

// What has the same name in the same image is one row: two versions of a file have the same name.
function merge(functions) {
  const rows = new Map();
  for (const f of functions) {
    const key = `${f.image || ""}\0${f.name}`;
    const row = rows.get(key);
    if (!row) {
      rows.set(key, { ...f });
      continue;
    }
    for (const what of ["self", "total", "calls"]) row[what] = (row[what] || 0) + (f[what] || 0);
    row.cost_per_call = null;
  }
  return [...rows.values()];
}

// Names are shown short, but for those that would be told apart no more.
function shortNames(functions) {
  const times = new Map();
  const key = (f) => `${f.image || ""}\0${format.shortName(f.name)}`;
  for (const f of functions) times.set(key(f), (times.get(key(f)) || 0) + 1);
  return (f) => (times.get(key(f)) > 1 ? f.name : format.shortName(f.name));
}

export class FunctionTable {
  // onPick(name): a row was chosen. data: the report, set before anything is shown.
  constructor({ table, more, palette, onPick }) {
    Object.assign(this, { table, more, palette, onPick, data: null });
    this.functions = [];
    this.sorted = "self";
    this.reversed = false;
    this.shown = SHOWN_AT_FIRST;
    for (const button of table.tHead.querySelectorAll("button"))
      button.addEventListener("click", () => this.sort(button.dataset.column));
    more.addEventListener("click", () => {
      this.shown = Infinity;
      this.fill();
    });
  }

  // all: what shares are of.
  show(functions, all) {
    this.functions = merge(functions);
    this.all = all;
    this.nameOf = shortNames(this.functions);
    this.table.classList.toggle("uncounted", !functions.some((f) => f.calls > 0));
    this.#order();
  }

  sort(column) {
    this.reversed = this.sorted === column ? !this.reversed : false;
    this.sorted = column;
    this.#order();
  }

  #order() {
    const column = this.sorted;
    const sign = this.reversed ? -1 : 1;
    this.functions.sort((a, b) => sign * columns[column](a, b));
    for (const button of this.table.tHead.querySelectorAll("button")) {
      const chosen = button.dataset.column === column;
      const descending = !ALPHABETIC.includes(column) !== this.reversed;
      button
        .closest("th")
        .setAttribute("aria-sort", !chosen ? "none" : descending ? "descending" : "ascending");
    }
    this.fill();
  }

  // matches: which rows to mark, or null.
  mark(matches) {
    this.matches = matches;
    for (const row of this.table.tBodies[0].rows)
      row.classList.toggle("match", matches !== null && matches(row.dataset.name));
  }

  fill() {
    const body = this.table.tBodies[0];
    body.replaceChildren(...this.functions.slice(0, this.shown).map((f) => this.#row(f)));
    const hidden = this.functions.length - body.rows.length;
    this.more.hidden = hidden === 0;
    this.more.textContent = `Show ${format.count(hidden)} more`;
    this.mark(this.matches ?? null);
  }

  #row(f) {
    const row = document.createElement("tr");
    row.dataset.name = f.name;
    for (const samples of [f.self, f.total]) {
      const cell = row.insertCell();
      const bar = document.createElement("i");
      const number = document.createElement("small");
      cell.className = "number";
      cell.title = format.cost(samples, this.data) || `${format.count(samples)} ${format.unit(this.data)}`;
      bar.style.width = `${this.all > 0 ? (100 * samples) / this.all : 0}%`;
      number.textContent = format.count(samples);
      cell.append(bar, format.percent(samples, this.all), number);
    }
    this.#calls(row, f);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = this.nameOf(f);
    button.title = f.name;
    button.addEventListener("click", () => this.onPick(f.name));
    row.insertCell().append(button);
    const image = row.insertCell();
    image.className = "image";
    image.textContent = f.image || "";
    image.title = f.image || "";
    return row;
  }

  #calls(row, f) {
    const each = f.cost_per_call ? format.call(f.cost_per_call, this.data) : { mean: "", interval: "" };
    for (const [text, title] of [
      [f.calls > 0 ? format.calls(f.calls, f.cost_per_call, this.data) : "", ""],
      [each.mean, each.interval && `95% interval: ${each.interval}`],
    ]) {
      const cell = row.insertCell();
      cell.className = "number calls";
      cell.title = title;
      cell.textContent = text;
    }
  }
}
