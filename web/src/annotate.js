// The hottest functions, instruction by instruction: counts, disassembly and source side by side.
// A function's table is made when it is opened.

import * as format from "./format.js";

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

function table(annotated) {
  const lines = annotated.instructions;
  const all =
    annotated.unit === "executions"
      ? lines.reduce((most, line) => Math.max(most, line.count), 0)
      : annotated.total;
  const made = document.createElement("table");
  const body = made.createTBody();
  let before = "";
  for (const line of lines) {
    const row = body.insertRow();
    const place = line.file ? `${line.file.replace(/.*\//, "")}:${line.line}` : "";
    const taken = line.left ? `  [${format.percent(line.taken, line.left)} taken]` : "";
    counted(row, line, all);
    cell(row, line.offset, "address");
    cell(row, line.text + taken, "code");
    cell(row, place && place !== before ? place : "", "place").title = line.file || "";
    cell(row, place && place !== before ? line.source || "" : "", "source");
    if (place) before = place;
  }
  return made;
}

// Fills the section; hides it if the profile has no annotated functions.
export function showAnnotated(section, list) {
  section.hidden = !list || list.length === 0;
  for (const annotated of list || []) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const name = document.createElement("code");
    const what = annotated.unit === "executions" ? "instructions executed" : "samples";
    name.textContent = annotated.function;
    summary.append(name, ` ${annotated.image}: ${format.count(annotated.total)} ${what}`);
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (!details.open || details.children.length > 1) return;
      const scroll = document.createElement("div");
      scroll.className = "scroll";
      scroll.append(table(annotated));
      details.append(scroll);
    });
    section.append(details);
  }
}
