// The page of `penumbra diff --html`: both recordings' calling contexts as one flame graph, each frame in the color of
// what changed, and the functions by what changed. Noise is gray.

import { DiffPalette, onSchemeChange } from "./color.js";
import * as format from "./format.js";
import { CopyButton, Graph } from "./graph.js";
import { DrawnNode, matcher } from "./model.js";

const element = (id) => document.getElementById(id);
const ROWS = 100; // of the table, at first
const TYPING_PAUSE = 150; // milliseconds until what was typed is searched for
// How wide a frame is, in percent of the total before. "both": what appeared and what is gone are both to be seen.
const WIDTHS = {
  before: (change) => change.before,
  both: (change) => (change.before + change.after) / 2,
  after: (change) => change.after,
};
const WIDTH_NAMES = { before: "Before", both: "Both", after: "After" };
const WEIGHTS = { self: "Own samples", total: "With callees" };
const LABELS = { appeared: "+ ", gone: "− ", both: "" };

const percent = (value) => `${value.toFixed(2)}%`;
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function changeOf({ before, difference, after }) {
  if (before === 0) return after === 0 ? "" : "appeared";
  return after === 0 ? "gone" : `${signed((100 * difference) / before)}%`;
}

// The calling contexts, in columns (src/report/diff_page.h): as rows when one looks at them.
class Contexts {
  constructor({ frames, contexts }) {
    Object.assign(this, { frames, ...contexts });
    this.count = this.frame.length;
    this.first = new Int32Array(this.count).fill(-1); // of what it calls
    this.next = new Int32Array(this.count).fill(-1); // of what its caller calls
    for (let i = this.count - 1; i > 0; i--) {
      this.next[i] = this.first[this.parent[i]];
      this.first[this.parent[i]] = i;
    }
  }

  #change({ before, after, low, high, significant }, i) {
    const values = { before: before[i], after: after[i], low: low[i], high: high[i] };
    return { ...values, difference: after[i] - before[i], significant: significant[i] === 1 };
  }

  row(i) {
    const [name, image, was] = this.frames[this.frame[i]];
    const total = this.#change(this.total, i);
    const presence = total.before === 0 ? "appeared" : total.after === 0 ? "gone" : "both";
    return { name, image, was, presence, self: this.#change(this.self, i), total };
  }

  width(i, width) {
    return width({ before: this.total.before[i], after: this.total.after[i] });
  }

  *callees(i) {
    for (let callee = this.first[i]; callee >= 0; callee = this.next[callee]) yield callee;
  }

  // As Graph draws them.
  tree(width) {
    const node = (i) => {
      const row = this.row(i);
      const below = () => [...this.callees(i)].filter((callee) => this.width(callee, width) > 0).map(node);
      const made = new DrawnNode({ name: row.name, image: row.image, key: i }, width(row.total), width(row.self), below);
      return Object.assign(made, { row, label: LABELS[row.presence] + row.name });
    };
    return node(0);
  }

  // The width of all contexts with a frame on their stack that matches. Parents come before what they call.
  found(matches, width) {
    const matched = this.frames.map(([name]) => matches(name));
    const inside = new Uint8Array(this.count);
    let sum = 0;
    for (let i = 1; i < this.count; i++) {
      const above = inside[this.parent[i]];
      inside[i] = above || matched[this.frame[i]] ? 1 : 0;
      if (inside[i] && !above) sum += this.width(i, width);
    }
    return sum;
  }
}

// What the graph says of a frame.
const words = {
  describe({ data: { row } }) {
    const { total } = row;
    return [row.name, row.image, `${percent(total.before)} before, ${percent(total.after)} after`, verdict(total)].filter(Boolean).join(" · ");
  },
  rows({ data, parent, drawn }) {
    if (!data) return [["Together", percent(parent.children.slice(drawn).reduce((sum, child) => sum + child.data.value, 0))]];
    const line = (label, change) => [label, percent(change.before), percent(change.after), signed(change.difference), `${signed(change.low)} … ${signed(change.high)}`];
    const { row } = data;
    const rows = [["", "before", "after", "difference", "95% interval"], line("Total", row.total), line("Self", row.self)];
    if (row.was) rows.push(["Was", row.was]);
    rows.push(["", verdict(row.total)]);
    return rows;
  },
};

function verdict(change) {
  return change.significant ? `${changeOf(change)}, more than chance` : "not more than chance";
}

function readState() {
  const hash = new URLSearchParams(location.hash.slice(1));
  return {
    width: hash.get("width") in WIDTHS ? hash.get("width") : "both",
    weight: hash.get("weight") in WEIGHTS ? hash.get("weight") : "self",
    shape: hash.get("shape") === "flame" ? "flame" : "icicle",
    search: hash.get("search") || "",
    zoom: hash.get("zoom") || "",
  };
}

// Buttons of which one is pressed.
function choice(label, names, key, onPick) {
  const group = document.createElement("div");
  group.className = "choice";
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  for (const [value, text] of Object.entries(names)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.dataset[key] = value;
    button.addEventListener("click", () => onPick(value));
    group.append(button);
  }
  return group;
}

function cell(row, text, className = "") {
  const made = row.insertCell();
  made.textContent = text;
  made.className = className;
  return made;
}

export class DiffPage {
  constructor(data) {
    this.data = data;
    this.state = readState();
    this.palette = new DiffPalette();
    this.rows = ROWS;
    this.graph = new Graph({
      host: element("graph"),
      tip: element("tip"),
      palette: this.palette,
      words,
      events: {
        onZoom: (path) => this.change({ zoom: path }),
        onFrame: (text) => {
          element("detail").textContent = text;
          this.copy.show();
        },
        onChoose: () => {},
      },
    });
    element("graph").frames = () => this.graph.frames();
    this.copy = new CopyButton(element("copy"), this.graph);
    this.contexts = new Contexts(data);
    this.#build();
    this.#listen();
    this.show();
  }

  #build() {
    const { before, after, normalize, metric, functions } = this.data;
    element("command").textContent = before[0].command === after[0].command ? before[0].command : `${before[0].command} → ${after[0].command}`;
    const fact = (label, value) => {
      const item = document.createElement("div");
      const [name, text] = ["dt", "dd"].map((tag) => document.createElement(tag));
      name.textContent = label;
      text.textContent = value;
      item.append(name, text);
      element("facts").append(item);
    };
    const samples = (runs) =>
      `${format.count(runs.reduce((sum, run) => sum + run.samples, 0))} samples${runs.length > 1 ? `, ${runs.length} recordings` : ""}`;
    fact("Before", samples(before));
    fact("After", samples(after));
    fact("Metric", metric);
    fact("Normalized by", normalize);
    if (normalize !== "total") fact("Total after", percent((100 * after.reduce((sum, run) => sum + run.scale, 0)) / after.length));
    fact("Functions changed", `${functions.filter((f) => f.self.significant || f.total.significant).length} beyond chance`);
    document.querySelector("[data-view]").parentElement.replaceWith(
      choice("Width of frames", WIDTH_NAMES, "width", (width) => this.change({ width, zoom: "" })),
    );
    const table = element("functions");
    table.classList.remove("uncounted");
    table.before(choice("Weight of functions", WEIGHTS, "weight", (weight) => this.change({ weight })));
    this.head = ["Before", "After", "Difference", "95% interval", "Change", "Function", "Image"].map((text, i) => {
      const head = document.createElement("th");
      head.scope = "col";
      head.className = i < 5 ? "number" : "";
      const label = document.createElement("span");
      label.textContent = text;
      head.append(label);
      return head;
    });
    table.tHead.rows[0].replaceChildren(...this.head);
    this.#legend();
  }

  #legend() {
    const entries = this.palette.legend().map(([label, color]) => {
      const item = document.createElement("li");
      const swatch = document.createElement("i");
      swatch.style.background = color;
      item.append(swatch, label);
      return item;
    });
    element("legend").setAttribute("aria-label", "Colors of changes");
    element("legend").replaceChildren(...entries);
  }

  #listen() {
    for (const button of document.querySelectorAll("[data-shape]"))
      button.addEventListener("click", () => this.change({ shape: button.dataset.shape, zoom: "" }));
    element("search").addEventListener("input", (event) => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.change({ search: event.target.value }), TYPING_PAUSE);
    });
    element("reset").addEventListener("click", () => this.change({ search: "", zoom: "" }));
    element("more").addEventListener("click", () => {
      this.rows = Infinity;
      this.#table();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input")) return;
      event.preventDefault();
      element("search").focus();
    });
    window.addEventListener("resize", () => this.graph.resize());
    window.addEventListener("popstate", () => {
      this.state = readState();
      this.show();
    });
    onSchemeChange(() => {
      this.#legend();
      this.graph.resize();
    });
  }

  change(changes) {
    Object.assign(this.state, changes);
    const usual = { width: "both", weight: "self", shape: "icicle", search: "", zoom: "" };
    const hash = new URLSearchParams(Object.entries(this.state).filter(([key, value]) => value !== usual[key]));
    const address = `#${hash}`;
    if (address !== (location.hash || "#")) history.pushState(null, "", address);
    this.show();
  }

  show() {
    const { width, weight, shape, search, zoom } = this.state;
    const drawn = `${width} ${shape}`;
    if (this.drawn !== drawn)
      this.graph.draw(this.contexts.tree(WIDTHS[width]), { icicle: shape === "icicle", bottomUp: false, zoom });
    else this.graph.zoom(zoom);
    this.drawn = drawn;
    for (const [key, value] of Object.entries({ width, weight, shape }))
      for (const button of document.querySelectorAll(`[data-${key}]`))
        button.setAttribute("aria-pressed", String(button.dataset[key] === value));
    if (element("search").value !== search) element("search").value = search;
    this.matches = matcher(search);
    this.graph.search(this.matches);
    const part = this.matches ? this.contexts.found(this.matches, WIDTHS[width]) : 0;
    element("found").textContent = this.matches ? `${format.percent(part, this.graph.total)} matched` : "";
    this.#table();
  }

  // Significant ones first, then by the greatest difference.
  #table() {
    const { weight } = this.state;
    const rank = ({ [weight]: change }) => (change.significant ? 1e6 : 0) + Math.abs(change.difference);
    const listed = this.data.functions.filter((f) => f[weight].before + f[weight].after > 0).sort((a, b) => rank(b) - rank(a));
    const body = element("functions").tBodies[0];
    body.replaceChildren();
    for (const f of listed.slice(0, this.rows)) {
      const change = f[weight];
      const row = body.insertRow();
      row.className = `${change.significant ? "changed" : "noise"}${this.matches?.(f.name) ? " match" : ""}`;
      cell(row, percent(change.before), "number");
      cell(row, percent(change.after), "number");
      cell(row, signed(change.difference), "number");
      cell(row, `${signed(change.low)} … ${signed(change.high)}`, "number");
      cell(row, `${changeOf(change)}${change.significant ? " *" : ""}`, "number");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = f.was ? `${f.name} (was ${f.was})` : f.name;
      button.addEventListener("click", () => this.change({ search: this.state.search === `=${f.name}` ? "" : `=${f.name}` }));
      cell(row, "").append(button);
      cell(row, f.image, "image");
    }
    element("more").hidden = listed.length <= this.rows;
    element("more").textContent = `${format.count(listed.length - Math.min(this.rows, listed.length))} more functions`;
  }
}
