// Hot paths: a row each; a chosen one is drawn over the annotated code.

import * as format from "./format.js";

const SHOWN_AT_FIRST = 25;

function lines(path) {
  const places = [];
  let file = "";
  for (const line of path.lines || []) {
    places.push(line.file === file ? `${line.line}` : `${line.file.replace(/.*\//, "")}:${line.line}`);
    file = line.file;
  }
  return places.join(" ");
}

export class PathTable {
  // onPick(path): a row was chosen, or null: it was chosen again.
  constructor({ section, table, more, onPick }) {
    Object.assign(this, { section, table, more, onPick });
    more.addEventListener("click", () => this.fill(this.paths.length));
  }

  show(paths) {
    this.paths = paths || [];
    this.picked = null;
    this.section.hidden = this.paths.length === 0;
    this.fill(SHOWN_AT_FIRST);
  }

  fill(limit) {
    const hidden = Math.max(0, this.paths.length - limit);
    this.table.tBodies[0].replaceChildren(...this.paths.slice(0, limit).map((path) => this.#row(path)));
    this.more.hidden = hidden === 0;
    this.more.textContent = `Show ${format.count(hidden)} more`;
  }

  #pick(path, button) {
    this.picked = this.picked === path ? null : path;
    for (const other of this.table.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(this.picked !== null));
    this.onPick(this.picked);
  }

  #row(path) {
    const row = document.createElement("tr");
    const share = row.insertCell();
    const bar = document.createElement("i");
    share.className = "number";
    bar.style.width = `${path.share}%`;
    share.append(bar, `${path.share.toFixed(2)}%`);
    for (const number of [path.count, path.instructions]) {
      const cell = row.insertCell();
      cell.className = "number";
      cell.textContent = format.count(number);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = path.functions.map(format.shortName).join(" \u203a ");
    button.title = path.blocks.join("\n");
    button.setAttribute("aria-pressed", String(this.picked === path));
    button.addEventListener("click", () => this.#pick(path, button));
    row.insertCell().append(button);
    const place = row.insertCell();
    place.className = "place";
    place.textContent = lines(path);
    return row;
  }
}
