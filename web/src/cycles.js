// What a modelled processor's cycles are for: of the program, of the calling context that is chosen, of functions and
// of lines; and the report by one cause instead of all cycles.

import * as format from "./format.js";

const SHOWN_AT_FIRST = 25;

// { cause: cycles } as an array in the order of causes.
function inOrder(causes, stack) {
  return causes.map(({ name }) => stack[name] || 0);
}

function sum(numbers) {
  return numbers.reduce((all, n) => all + n, 0);
}

function describe(causes, cycles, instructions) {
  const all = sum(cycles);
  return causes
    .map(({ title }, i) => ({ title, part: cycles[i] }))
    .filter(({ part }) => part > 0)
    .sort((a, b) => b.part - a.part)
    .map(({ title, part }) => `${title} ${format.percent(part, all)}, ${perInstruction(part, instructions)}`)
    .join("\n");
}

function perInstruction(cycles, instructions) {
  return `${instructions > 0 ? (cycles / instructions).toFixed(3) : "–"} cycles an instruction`;
}

// One bar whose parts are the causes.
function bar(causes, cycles, instructions) {
  const made = document.createElement("div");
  const all = sum(cycles);
  made.className = "stack";
  made.title = describe(causes, cycles, instructions);
  causes.forEach(({ name, title }, i) => {
    if (cycles[i] === 0) return;
    const part = document.createElement("i");
    part.className = `cause ${name}`;
    part.style.width = `${(100 * cycles[i]) / all}%`;
    const label = document.createElement("span"); // a name that has no room is not seen (style.css)
    label.textContent = title;
    part.append(label);
    made.append(part);
  });
  return made;
}

// Beside an instruction (annotate.js); `simulated` may be undefined.
export function fillCycles(cell, causes, simulated) {
  cell.className = "cycles";
  if (!simulated || simulated.cycles === 0) return;
  const number = document.createElement("b");
  number.textContent = (simulated.cycles / simulated.instructions).toFixed(2);
  cell.append(number, bar(causes, inOrder(causes, simulated.stack), simulated.instructions));
}

// The reports of a simulation: that by cycles, and one for each cause that there is, whose trees are made when they are
// shown.
export function byCause(data) {
  const { causes } = data.simulated || {};
  const columns = data.nodes?.simulated;
  if (!causes || !columns) return [data];
  const made = causes.map(({ title }, i) => {
    const column = columns[i + 1];
    const leftOut = data.nodes.simulated_left_out[i + 1];
    let nodes = null;
    return {
      ...data,
      metric: title,
      samples: column[0],
      functions: null,
      get nodes() {
        return (nodes ||= { ...data.nodes, self: ownOf(data.nodes.depth, column, leftOut), left_out: leftOut, calls: [], threads: null });
      },
    };
  });
  return [data, ...made.filter(({ samples }) => samples > 0)];
}

// What nodes have that none below them has, of what they have with all below. leftOut: what those have that are not
// there, each behind its distance from the one before.
function ownOf(depth, totals, leftOut) {
  const own = totals.slice();
  const path = [];
  depth.forEach((level, i) => {
    path[level] = i;
    if (level > 0) own[path[level - 1]] -= totals[i];
  });
  for (let i = 0, node = 0; i < leftOut.length; i += 2) {
    node += leftOut[i];
    own[node] -= leftOut[i + 1];
  }
  return own;
}

export class Cycles {
  constructor(section) {
    this.section = section;
    this.which = "functions";
    this.limit = SHOWN_AT_FIRST;
    for (const button of section.querySelectorAll("[data-cycles]"))
      button.addEventListener("click", () => {
        this.which = button.dataset.cycles;
        this.limit = SHOWN_AT_FIRST;
        this.#list();
      });
    section.querySelector(".more").addEventListener("click", () => {
      this.limit = Infinity;
      this.#list();
    });
  }

  // flat: the tree that is drawn (model.js).
  show(data, flat) {
    this.simulated = data.simulated;
    this.flat = flat;
    this.section.hidden = !this.simulated;
    if (!this.simulated) return;
    const { causes, machine, instructions, cycles, stack } = this.simulated;
    this.section.querySelector(".of").textContent =
      `machine ${machine}: ${format.count(instructions)} instructions in ${format.count(cycles)} cycles, ` +
      perInstruction(cycles, instructions);
    this.#row("program", inOrder(causes, stack), instructions);
    this.#legend(inOrder(causes, stack));
    this.choose(null);
    this.#list();
  }

  // The calling context of a drawn frame; null: none.
  choose(frame) {
    const columns = this.flat?.simulated;
    const nodes = columns && frame?.parent ? frame.data.nodes : null;
    const row = this.section.querySelector(".context");
    row.hidden = !nodes;
    if (!nodes || !this.simulated) return;
    const [instructions, ...cycles] = columns.map((column) => sum(nodes.map((node) => column[node])));
    row.querySelector(".name").textContent = format.shortName(frame.data.name);
    row.querySelector(".name").title = frame.data.name;
    this.#row("context", cycles, instructions);
  }

  #row(which, cycles, instructions) {
    const row = this.section.querySelector(`.${which}`);
    row.querySelector(".cpi").textContent = instructions > 0 ? (sum(cycles) / instructions).toFixed(3) : "–";
    row.querySelector(".stack").replaceWith(bar(this.simulated.causes, cycles, instructions));
  }

  #legend(cycles) {
    const all = sum(cycles);
    const entries = this.simulated.causes.map(({ name, title, what }, i) => {
      const item = document.createElement("li");
      const swatch = document.createElement("i");
      swatch.className = `cause ${name}`;
      item.title = what;
      item.append(swatch, `${title} ${format.percent(cycles[i], all)}`);
      return item;
    });
    this.section.querySelector("ul").replaceChildren(...entries.filter((_, i) => cycles[i] > 0));
  }

  #list() {
    const list = this.simulated[this.which] || [];
    const lines = this.which === "lines";
    for (const button of this.section.querySelectorAll("[data-cycles]"))
      button.setAttribute("aria-pressed", String(button.dataset.cycles === this.which));
    this.section.querySelector("th:last-child").textContent = lines ? "Line" : "Function";
    this.section.querySelector("tbody").replaceChildren(...list.slice(0, this.limit).map((one) => this.#listed(one)));
    const more = this.section.querySelector(".more");
    more.hidden = list.length <= this.limit;
    more.textContent = `Show ${format.count(list.length - this.limit)} more`;
  }

  #listed({ function: name, image, file, line, instructions, cycles, stack }) {
    const row = document.createElement("tr");
    const share = row.insertCell();
    const part = document.createElement("i");
    part.style.width = `${(100 * cycles) / this.simulated.cycles}%`;
    share.append(part, format.percent(cycles, this.simulated.cycles));
    row.insertCell().textContent = instructions > 0 ? (cycles / instructions).toFixed(2) : "";
    for (const cell of row.cells) cell.className = "number";
    row.insertCell().append(bar(this.simulated.causes, inOrder(this.simulated.causes, stack), instructions));
    const where = row.insertCell();
    const code = document.createElement("code");
    const place = line ? `${file.replace(/.*\//, "")}:${line}` : image;
    where.className = "place";
    where.title = line ? `${file}:${line}` : image;
    code.textContent = format.shortName(name);
    where.append(code, ` ${place}`);
    return row;
  }
}
