// The flame graph, on a canvas: what is in view is drawn, and only what is wide enough to be seen. Frames beside one
// another that are too narrow are one block, until one zooms in.

import * as format from "./format.js";

const CELL = 20;
const SLIVER = 3; // pixels: frames narrower than that are drawn together
const FONT = "12px ui-monospace, 'SF Mono', 'Cascadia Mono', 'Noto Sans Mono', 'DejaVu Sans Mono', monospace";
const FOUND_INK = "#14181c";
const TALLEST = 0.72; // of the window

// A node (model.js) with a place: x0 and x1 between 0 and 1. Those below it are made when one looks there.
class Frame {
  #children = null;

  constructor(data, parent, x0, x1) {
    Object.assign(this, { data, parent, x0, x1, depth: parent ? parent.depth + 1 : 0 });
  }

  // The greatest first, from the left.
  get children() {
    if (this.#children) return this.#children;
    const { data } = this;
    const scale = data.value > 0 ? (this.x1 - this.x0) / data.value : 0;
    let x = this.x0;
    this.#children = data.children.map((child) => new Frame(child, this, x, (x += child.value * scale)));
    return this.#children;
  }
}

function fitted(text, room) {
  if (text.length <= room) return text;
  return room < 3 ? "" : `${text.slice(0, room - 1)}…`;
}

// Copies the stack of the graph's frame, as Ctrl+C does there.
export class CopyButton {
  constructor(button, graph) {
    this.button = button;
    const label = button.textContent;
    button.addEventListener("click", async () => {
      button.textContent = (await graph.copy()) ? "Copied" : "Not copied";
      setTimeout(() => (button.textContent = label), 1500);
    });
  }

  show() {
    this.button.hidden = false;
  }
}

export class Graph {
  // host: the element to draw in. tip: the tooltip's element.
  // events: onZoom(path), onFrame(text, frame), onChoose(path)
  // words: describe(frame) and rows(frame), instead of those of a report; or nothing.
  // data: the report, set before anything is drawn.
  constructor({ host, tip, palette, events, words }) {
    Object.assign(this, { host, tip, palette, events, words, data: null });
    this.matches = null;
    this.canvas = document.createElement("canvas");
    this.spacer = document.createElement("div");
    host.replaceChildren(this.canvas, this.spacer);
    this.shown = []; // blocks in view: { frame, count, x, y, width }
    host.addEventListener("scroll", () => this.#paint());
    host.addEventListener("mousemove", (event) => this.#point(event));
    host.addEventListener("mouseleave", () => this.#point(null));
    host.addEventListener("click", (event) => this.#click(event));
    host.addEventListener("keydown", (event) => this.#key(event));
    host.addEventListener("focus", () => this.current && this.#mark(this.current));
    host.addEventListener("blur", () => this.#paint());
    document.addEventListener("copy", (event) => this.#copy(event));
  }

  // Draws root (model.js). icicle: the root on top. zoom, frame: paths of what fills the width, and of what is chosen.
  draw(root, { icicle, bottomUp, zoom, frame = "" }) {
    this.bottomUp = bottomUp;
    this.icicle = icicle;
    this.total = root.value;
    this.top = new Frame(root, null, 0, 1);
    this.deepest = -1;
    this.focus = this.#at(zoom);
    this.current = frame ? this.#at(frame) : this.focus;
    this.chosen = frame ? this.current : null;
    this.hovered = null;
    this.width = this.host.clientWidth;
    this.#arrange();
    this.host.scrollTop = icicle ? 0 : this.host.scrollHeight;
    if (this.chosen) this.#mark(this.chosen);
    else this.#paint();
  }

  // A frame's path: the keys from the root's child down to it. It is the same when the page is opened again.
  #path(frame) {
    const keys = [];
    for (let at = frame; at.parent; at = at.parent) keys.push(at.data.key);
    return keys.reverse().join(".");
  }

  // The frame with this path, or the last on the way to it that is there.
  #at(path) {
    let frame = this.top;
    for (const key of path === "" ? [] : path.split(".")) {
      const next = frame.children.find((child) => String(child.data.key) === key);
      if (!next) break;
      frame = next;
    }
    return frame;
  }

  // The names from the outermost frame to the chosen one, a line each.
  stack() {
    const names = [];
    for (let at = this.current; at.parent; at = at.parent) names.push(at.data.name);
    return (this.bottomUp ? names : names.reverse()).map((name) => `${name}\n`).join("");
  }

  // Resolves to whether that was done: a page that came from elsewhere, unencrypted, has no clipboard.
  async copy() {
    try {
      await navigator.clipboard.writeText(this.stack());
      return true;
    } catch {
      document.getSelection().removeAllRanges();
      this.host.focus({ preventScroll: true });
      return document.execCommand("copy");
    }
  }

  // What is selected on the page is copied as ever.
  #copy(event) {
    if (document.activeElement !== this.host || String(document.getSelection()) !== "" || this.current === this.top) return;
    event.clipboardData.setData("text/plain", this.stack());
    event.preventDefault();
  }

  resize() {
    this.#resize();
    this.#paint();
  }

  // matches: name => bool, or null.
  search(matches) {
    this.matches = matches;
    this.known = new Map(); // a name is looked at once, however many frames have it
    this.#paint();
  }

  // Paths, as in draw().
  zoom(zoom, frame = "") {
    const focus = this.#at(zoom);
    if (focus !== this.focus) this.current = focus;
    this.focus = focus;
    this.chosen = frame ? this.#at(frame) : null;
    if (this.chosen) this.current = this.chosen;
    this.#paint();
  }

  // For tests, and whoever reads the page by other means: what is in view.
  frames() {
    return this.shown.map(({ frame, count, x, y, width }) => {
      const box = this.canvas.getBoundingClientRect();
      const name = frame.data ? format.shortName(frame.data.name) : `(${count} frames)`;
      const path = frame.data ? this.#path(frame) : null;
      return { name, path, x: box.x + x, y: box.y + y, width, height: CELL, matched: this.#isFound(frame) };
    });
  }

  #resize() {
    const height = (this.deepest + 1) * CELL;
    const room = Math.min(height, Math.floor(TALLEST * window.innerHeight));
    // The scroll bar is there before the width is measured, or not at all.
    this.host.style.overflowY = height > room ? "scroll" : "hidden";
    this.host.style.height = `${room + 2}px`;
    this.width = this.host.clientWidth;
    this.height = room;
    this.spacer.style.height = `${height - room}px`;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(room * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${room}px`;
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = FONT;
    this.character = this.context.measureText("MMMMMMMMMM").width / 10;
  }

  #row(frame) {
    return (this.icicle ? frame.depth : this.deepest - frame.depth) * CELL - this.host.scrollTop;
  }

  // Where a frame is at this zoom; those above the one that is zoomed into are as wide as it.
  #place(frame) {
    const scale = this.width / (this.focus.x1 - this.focus.x0 || 1);
    const x = Math.max(0, (frame.x0 - this.focus.x0) * scale);
    return { x, width: Math.min(this.width, (frame.x1 - this.focus.x0) * scale) - x };
  }

  #visible(frame) {
    return this.#place(frame).width >= SLIVER;
  }

  // The blocks that are wide enough, of all rows: { frame, count, x, width }. One of several frames has no data, but their
  // parent and how many of its children are before them.
  #blocks() {
    const blocks = [];
    for (let frame = this.focus.parent; frame; frame = frame.parent) blocks.push({ frame, count: 1, x: 0, width: this.width });
    const stack = [this.focus];
    blocks.push({ frame: this.focus, count: 1, x: 0, width: this.width });
    while (stack.length > 0) {
      const parent = stack.pop();
      const { children } = parent;
      // The greatest are first: what is behind the first sliver is a sliver.
      const wide = children.findIndex((child) => !this.#visible(child));
      const drawn = wide < 0 ? children.length : wide;
      for (const child of children.slice(0, drawn)) {
        blocks.push({ frame: child, count: 1, ...this.#place(child) });
        stack.push(child);
      }
      if (drawn === children.length) continue;
      const { x, width } = this.#place({ x0: children[drawn].x0, x1: children.at(-1).x1 });
      const frame = { parent, drawn, depth: parent.depth + 1 };
      if (width > 0.5) blocks.push({ frame, count: children.length - drawn, x, width });
    }
    return blocks;
  }

  // What is shown; a graph that shows more rows than before is higher from then on.
  #arrange() {
    let blocks = this.#blocks();
    const deepest = blocks.reduce((most, { frame }) => Math.max(most, frame.depth), 0);
    if (deepest > this.deepest) {
      const more = deepest - this.deepest;
      this.deepest = deepest;
      this.#resize();
      if (!this.icicle) this.host.scrollTop += more * CELL;
      blocks = this.#blocks(); // beside a scroll bar there may be less room
    }
    this.shown = blocks
      .map((block) => ({ ...block, y: this.#row(block.frame) }))
      .filter(({ y }) => y > -CELL && y < this.height);
  }

  #paint() {
    if (!this.context || !this.top) return;
    const { context } = this;
    const style = getComputedStyle(this.host);
    const ink = style.getPropertyValue("--frame-ink");
    const gap = style.getPropertyValue("--raised");
    const merged = style.getPropertyValue("--line");
    this.#arrange();
    context.clearRect(0, 0, this.width, this.height);
    context.textBaseline = "middle";
    for (const { frame, count, x, y, width } of this.shown) {
      const found = this.#isFound(frame);
      const { image, name, label: marked } = frame.data || {};
      const above = frame.depth < this.focus.depth;
      context.globalAlpha = above ? 0.55 : 1;
      const dimmed = this.matches !== null;
      context.fillStyle =
        !frame.data ? merged : found ? this.palette.highlight() : this.palette.fill(image, name, dimmed, frame.data);
      context.fillRect(x, y, width, CELL);
      context.fillStyle = gap;
      context.fillRect(x + width - 0.6, y, 0.6, CELL);
      context.fillRect(x, y + CELL - 0.6, width, 0.6);
      context.fillStyle = found ? FOUND_INK : ink;
      const text = frame.data ? format.shortName(marked ?? name) : `${format.count(count)} more`;
      const label = fitted(text, Math.floor((width - 8) / this.character));
      if (label) context.fillText(label, x + 4, y + CELL / 2);
    }
    context.globalAlpha = 1;
    this.#outline(ink);
  }

  #isFound(frame) {
    if (!this.matches) return false;
    if (!frame.data) return frame.parent.children.slice(frame.drawn).some((child) => this.#isFound(child));
    const { name } = frame.data;
    if (!this.known.has(name)) this.known.set(name, this.matches(name));
    return frame !== this.top && this.known.get(name);
  }

  #outline(ink) {
    const current = document.activeElement === this.host ? this.current : this.chosen;
    this.context.strokeStyle = ink;
    this.context.lineWidth = 1.4;
    for (const { frame, x, y, width } of this.shown)
      if (frame === current || frame === this.hovered)
        this.context.strokeRect(x + 0.7, y + 0.7, Math.max(1, width - 1.4), CELL - 1.4);
  }

  #blockAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.x;
    const y = event.clientY - box.y;
    return this.shown.find((block) => x >= block.x && x < block.x + block.width && y >= block.y && y < block.y + CELL);
  }

  #point(event) {
    const block = event && this.#blockAt(event);
    const frame = block ? block.frame : null;
    this.host.style.cursor = block ? "pointer" : "";
    this.tip.hidden = !block;
    if (block) {
      if (frame !== this.hovered) this.#fillTip(block);
      const { offsetWidth: width, offsetHeight: height } = this.tip;
      const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
      const below = event.clientY + 16;
      const top = below + height > window.innerHeight ? event.clientY - height - 12 : below;
      this.tip.style.left = `${Math.max(8, left)}px`;
      this.tip.style.top = `${Math.max(8, top)}px`;
    }
    if (frame === this.hovered) return;
    this.hovered = frame;
    this.#paint();
  }

  // A block of many zooms into what they are below.
  #click(event) {
    const block = this.#blockAt(event);
    if (!block) return;
    const frame = block.frame.data ? block.frame : block.frame.parent;
    this.current = frame;
    this.events.onZoom(this.#path(frame));
    this.events.onFrame(this.describe(frame), frame);
  }

  describe(frame) {
    if (this.words) return this.words.describe(frame);
    const { name, image, value, self, calls, cost } = frame.data;
    const parts = [name];
    if (image) parts.push(image);
    parts.push(this.bottomUp && frame.depth > 0 ? `${format.unit(this.data)} that end this way` : "total");
    parts.push(`${format.percent(value, this.total)}, ${format.count(value)} ${format.unit(this.data)}`);
    if (!this.bottomUp) parts.push(`self ${format.percent(self, this.total)}`);
    if (calls > 0) parts.push(`${format.calls(calls, cost, this.data)}${cost ? `, ${format.call(cost, this.data).mean} each` : ""}`);
    return parts.join(" · ");
  }

  #rows({ frame }) {
    if (this.words) return this.words.rows(frame);
    const row = (label, samples) => [
      label,
      format.percent(samples, this.total),
      `${format.count(samples)} ${format.unit(this.data)}`,
      format.cost(samples, this.data),
    ];
    if (!frame.data) {
      const { children } = frame.parent;
      return [row("Together", children.slice(frame.drawn).reduce((sum, child) => sum + child.data.value, 0))];
    }
    const { value, self, calls, cost } = frame.data;
    const rows = this.bottomUp
      ? [row(frame.depth > 1 ? "Through here" : "Self", value)]
      : [row("Total", value), row("Self", self)];
    if (calls > 0) {
      const { mean, interval } = cost ? format.call(cost, this.data) : { mean: "", interval: "" };
      rows.push(["Calls", format.calls(calls, cost, this.data), mean && `${mean} each`, interval && `(95%: ${interval})`]);
    }
    return rows;
  }

  #fillTip(block) {
    const { frame, count } = block;
    const title = document.createElement("strong");
    title.textContent = frame.data ? frame.data.name : `${format.count(count)} frames too narrow to draw`;
    const where = document.createElement("span");
    where.className = "tip-image";
    where.textContent = frame.data ? frame.data.image : `below ${frame.parent.data.name}; a click zooms into that`;
    const table = document.createElement("table");
    for (const cells of this.#rows(block)) {
      const line = table.insertRow();
      for (const cell of cells) line.insertCell().textContent = cell;
    }
    this.tip.replaceChildren(title, ...(where.textContent ? [where] : []), table);
  }

  // Scrolls to a frame, outlines it and says what it is.
  #mark(frame) {
    const y = this.#row(frame);
    if (y < 0) this.host.scrollTop += y - CELL;
    if (y + CELL > this.height) this.host.scrollTop += y + 2 * CELL - this.height;
    this.#paint();
    this.events.onFrame(this.describe(frame), frame);
  }

  // As the keyboard does: it stays outlined.
  #choose(frame) {
    this.current = frame;
    this.chosen = frame === this.top ? null : frame;
    this.#mark(frame);
    this.events.onChoose(this.#path(frame));
  }

  #neighbor(step) {
    const row = (this.current.parent?.children || []).filter((frame) => this.#visible(frame));
    return row[row.indexOf(this.current) + step];
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const inward = this.icicle ? "ArrowDown" : "ArrowUp";
    const outward = this.icicle ? "ArrowUp" : "ArrowDown";
    const moves = {
      [inward]: () => this.current.children.find((frame) => this.#visible(frame)),
      [outward]: () => this.current.parent,
      ArrowLeft: () => this.#neighbor(-1),
      ArrowRight: () => this.#neighbor(1),
      Home: () => this.focus,
    };
    if (moves[event.key]) {
      event.preventDefault();
      const next = moves[event.key]();
      this.#choose(next || this.current);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.events.onZoom(this.#path(this.current));
      this.#choose(this.current);
    } else if (event.key === "Escape") {
      this.events.onZoom("");
    }
  }
}
