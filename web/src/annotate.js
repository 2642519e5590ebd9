// The hottest functions, instruction by instruction: counts, disassembly, values and source side by side, and
// over them a path: which of its blocks each instruction is in. A function's table is made when it
// is opened.

import { fillCycles } from "./cycles.js";
import * as format from "./format.js";
import { fillValues } from "./values.js";

const WARM = 0.01;

function cell(row, text, className = "") {
  const made = row.insertCell();
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function counted(row, line, all) {
  const share = all > 0 ? line.count / all : 0;
  const made = cell(row, line.count ? format.count(line.count) : "", "number");
  const bar = document.createElement("i");
  bar.style.width = `${100 * share}%`;
  made.prepend(bar);
  made.title = line.count ? format.percent(line.count, all) : "";
  if (share < WARM) row.className = "cold";
}

// What was wasted of an instruction's bytes; the title: the accesses that it makes pairs with.
function fillWaste(made, waste) {
  const sum = (figure) => (waste?.accesses || []).reduce((all, access) => all + access[figure], 0);
  made.className = "waste";
  made.textContent = ["dead", "silent", "redundant"]
    .filter((kind) => sum(`${kind}_bytes`) > 0)
    .map((kind) => {
      const all = sum(kind === "redundant" ? "load_bytes" : "store_bytes");
      return `${format.percent(sum(`${kind}_bytes`), all)} ${kind}`;
    })
    .join(", ");
  made.title = (waste?.pairs || [])
    .map((pair) => {
      const { image, offset, function: name } = pair.with;
      const how = pair.kind === "dead" ? "overwritten by" : "before it";
      return `${pair.kind}, ${format.count(pair.bytes)} bytes: ${how} ${name} ${image}+${offset}`;
    })
    .join("\n");
}

const UNITS = { executions: "instructions executed", cycles: "cycles", samples: "samples" };

function table(annotated, causes) {
  const lines = annotated.instructions;
  const all =
    annotated.unit === "executions"
      ? lines.reduce((most, line) => Math.max(most, line.count), 0)
      : annotated.total;
  const made = document.createElement("table");
  const body = made.createTBody();
  const observed = lines.some((line) => line.values?.length > 0);
  const wasteful = lines.some((line) => line.waste);
  let before = "";
  for (const line of lines) {
    const row = body.insertRow();
    row.dataset.offset = line.offset;
    const place = line.file ? `${line.file.replace(/.*\//, "")}:${line.line}` : "";
    const taken = line.left ? `  [${format.percent(line.taken, line.left)} taken]` : "";
    counted(row, line, all);
    cell(row, "", "step");
    cell(row, line.offset, "address");
    const kernel = line.kernel ? "  [kernel]" : "";
    cell(row, line.text + taken + kernel, "code").title = line.kernel
      ? "A sample at the instruction behind a system call is of time in the kernel, not of the instruction"
      : "";
    if (causes) fillCycles(row.insertCell(), causes, line.simulated);
    if (observed) fillValues(row.insertCell(), line.values);
    if (wasteful) fillWaste(row.insertCell(), line.waste);
    cell(row, place && place !== before ? place : "", "place").title = line.file || "";
    cell(row, place && place !== before ? line.source || "" : "", "source");
    if (place) before = place;
  }
  return made;
}

// The steps of a path that an instruction is in: [1, 4] if its first and fourth block cover it.
function stepsAt(blocks, image, offset) {
  return blocks.flatMap((block, i) =>
    block.image === image && offset >= block.begin && offset < block.end ? [i + 1] : [],
  );
}

export class Annotated {
  constructor(section) {
    Object.assign(this, { section, shown: [] });
  }

  // Fills the section; hides it if the profile has no annotated functions.
  // causes: of cycles, where they are known.
  show(list, causes) {
    this.causes = causes;
    for (const { details } of this.shown) details.remove();
    this.shown = [];
    this.section.hidden = !list || list.length === 0;
    for (const annotated of list || []) this.section.append(this.#details(annotated));
  }

  // Draws a path (of the report's "paths") over the functions that it crosses, and opens them; null: none.
  draw(path) {
    this.blocks = (path?.blocks || []).map((place, i) => {
      const at = place.lastIndexOf("+0x");
      const begin = Number(place.slice(at + 1));
      return { image: place.slice(0, at), begin, end: begin + path.bytes[i] };
    });
    const crossed = this.shown.filter(({ annotated }) =>
      annotated.instructions.some((line) => this.#steps(annotated, line.offset).length > 0),
    );
    for (const shown of this.shown) this.#mark(shown);
    for (const shown of crossed) {
      shown.details.open = true;
      this.#open(shown);
    }
    crossed[0]?.details.querySelector("tr.on").scrollIntoView({ block: "center" });
  }

  #steps(annotated, offset) {
    return stepsAt(this.blocks || [], annotated.image, Number(offset));
  }

  #mark(shown) {
    for (const row of shown.details.querySelectorAll("tr")) {
      const steps = this.#steps(shown.annotated, row.dataset.offset);
      row.classList.toggle("on", steps.length > 0);
      row.querySelector(".step").textContent = steps.join(" ");
    }
  }

  #open(shown) {
    if (shown.details.children.length > 1) return;
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.append(table(shown.annotated, this.causes));
    shown.details.append(scroll);
    this.#mark(shown);
  }

  #details(annotated) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const name = document.createElement("code");
    const what = UNITS[annotated.unit];
    const shown = { annotated, details };
    name.textContent = annotated.function;
    summary.append(name, ` ${annotated.image}: ${format.count(annotated.total)} ${what}`);
    details.append(summary);
    details.addEventListener("toggle", () => details.open && this.#open(shown));
    this.shown.push(shown);
    return details;
  }
}
