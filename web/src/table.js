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

export class FunctionTable {
  // onPick(name): a row was chosen.
  constructor({ table, more, functions, data, all, palette, onPick }) {
    Object.assign(this, { table, more, functions, data, all, palette, onPick });
    this.sorted = "self";
    this.reversed = false;
    this.shown = SHOWN_AT_FIRST;
    table.classList.toggle("uncounted", !functions.some((f) => f.calls > 0));
    for (const button of table.tHead.querySelectorAll("button"))
      button.addEventListener("click", () => this.sort(button.dataset.column));
    more.addEventListener("click", () => {
      this.shown = Infinity;
      this.fill();
    });
    this.sort("self");
  }

  sort(column) {
    this.reversed = this.sorted === column && this.filled ? !this.reversed : false;
    this.sorted = column;
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
    this.filled = true;
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
    button.textContent = format.shortName(f.name);
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
      [f.calls > 0 ? format.count(f.calls) : "", ""],
      [each.mean, each.interval && `95% interval: ${each.interval}`],
    ]) {
      const cell = row.insertCell();
      cell.className = "number calls";
      cell.title = title;
      cell.textContent = text;
    }
  }
}
