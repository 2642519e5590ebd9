// The flame graph: d3-flame-graph, with our colors, tooltip and keyboard.

import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import * as format from "./format.js";

const CELL = 20;
const NARROWEST = 0.5; // pixels

// The depth of the deepest node below root.
function levels(root) {
  let deepest = 0;
  const stack = [[root, 0]];
  while (stack.length > 0) {
    const [node, depth] = stack.pop();
    deepest = Math.max(deepest, depth);
    for (const child of node.children) stack.push([child, depth + 1]);
  }
  return deepest;
}

export class Graph {
  // host: the element to draw in. tip: the tooltip's element.
  // events: onZoom(id), onSearch(samples, all), onFrame(text)
  constructor({ host, tip, palette, data, events }) {
    Object.assign(this, { host, tip, palette, data, events });
    this.matches = null;
    host.addEventListener("keydown", (event) => this.#key(event));
    host.addEventListener("focus", () => this.current && this.#mark(this.current));
    host.addEventListener("blur", () => this.#mark(null));
  }

  // Draws root (model.js). icicle: the root on top.
  draw(root, { icicle, bottomUp }) {
    this.bottomUp = bottomUp;
    this.icicle = icicle;
    this.total = root.value;
    this.host.replaceChildren();
    const height = (levels(root) + 1) * CELL;
    // The scroll bar is there before the width is measured, or not at all.
    this.host.style.overflowY = height > 0.72 * window.innerHeight - 2 ? "scroll" : "hidden";
    this.chart = flamegraph()
      .width(this.host.clientWidth)
      .height(height)
      .cellHeight(CELL)
      .minFrameSize(NARROWEST)
      .transitionDuration(0)
      .inverted(icicle)
      .sort((a, b) => b.data.value - a.data.value)
      .tooltip(this.#tooltip())
      .getName((d) => format.shortName(d.data.name))
      .setColorMapper((d) => this.#color(d))
      .setSearchMatch((d) => this.matches !== null && this.matches(d.data.name))
      .setSearchHandler((found, samples) => this.events.onSearch(samples, this.total))
      .onClick((d) => this.#zoomed(d));
    select(this.host).datum(root).call(this.chart);
    this.top = select(this.host).datum();
    this.current = this.top;
    this.zoomedTo = this.top;
    if (!icicle) this.host.scrollTop = this.host.scrollHeight;
    if (this.matches) this.chart.search("on");
    this.chart.transitionDuration(this.#zoomDuration());
  }

  // Only zooming moves.
  #zoomDuration() {
    return window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200;
  }

  // matches: name => bool, or null.
  search(matches) {
    this.matches = matches;
    this.chart.transitionDuration(0);
    if (matches) this.chart.search("on"); // the term is not looked at: setSearchMatch decides
    else this.chart.clear();
    // Frames that do not match change color too, when a search begins or ends.
    this.chart.update();
    this.chart.transitionDuration(this.#zoomDuration());
  }

  zoom(id) {
    const node = this.chart.findById(id);
    this.chart.transitionDuration(0);
    if (node) this.chart.zoomTo(node);
    this.chart.transitionDuration(this.#zoomDuration());
  }

  reset() {
    this.chart.resetZoom();
  }

  #zoomed(d) {
    this.zoomedTo = d;
    this.current = d;
    this.events.onZoom(d.id);
    if (document.activeElement === this.host) this.#mark(d);
  }

  #color(d) {
    if (d.highlight) return this.palette.highlight();
    return this.palette.fill(d.data.image, d.data.name, this.matches !== null);
  }

  describe(d) {
    const { name, image, value, self, calls, cost } = d.data;
    const parts = [name];
    if (image) parts.push(image);
    parts.push(this.bottomUp && d.depth > 0 ? `${format.unit(this.data)} that end this way` : "total");
    parts.push(`${format.percent(value, this.total)}, ${format.count(value)} ${format.unit(this.data)}`);
    if (!this.bottomUp) parts.push(`self ${format.percent(self, this.total)}`);
    if (calls > 0) parts.push(`${format.count(calls)} calls${cost ? ` of ${format.call(cost, this.data).mean}` : ""}`);
    return parts.join(" · ");
  }

  #tooltip() {
    const tip = () => {};
    tip.show = (event, d) => {
      this.#fillTip(d);
      this.tip.hidden = false;
      const { offsetWidth: width, offsetHeight: height } = this.tip;
      const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
      const below = event.clientY + 16;
      const top = below + height > window.innerHeight ? event.clientY - height - 12 : below;
      this.tip.style.left = `${Math.max(8, left)}px`;
      this.tip.style.top = `${Math.max(8, top)}px`;
      return tip;
    };
    tip.hide = () => {
      this.tip.hidden = true;
      return tip;
    };
    tip.destroy = () => {};
    return tip;
  }

  #fillTip(d) {
    const { name, image, value, self, calls, cost } = d.data;
    const row = (label, samples) => [
      label,
      format.percent(samples, this.total),
      `${format.count(samples)} ${format.unit(this.data)}`,
      format.cost(samples, this.data),
    ];
    const rows = this.bottomUp
      ? [row(d.depth > 1 ? "Through here" : "Self", value)]
      : [row("Total", value), row("Self", self)];
    if (calls > 0) {
      const { mean, interval } = cost ? format.call(cost, this.data) : { mean: "", interval: "" };
      rows.push(["Calls", format.count(calls), mean && `${mean} each`, interval && `(95%: ${interval})`]);
    }
    const title = document.createElement("strong");
    title.textContent = name;
    const where = document.createElement("span");
    where.className = "tip-image";
    where.textContent = image;
    const table = document.createElement("table");
    for (const cells of rows) {
      const line = table.insertRow();
      for (const cell of cells) line.insertCell().textContent = cell;
    }
    this.tip.replaceChildren(title, ...(image ? [where] : []), table);
  }

  #mark(node) {
    let marked = null;
    select(this.host)
      .selectAll("g")
      .classed("current", function (d) {
        if (node !== null && d === node) marked = this;
        return node !== null && d === node;
      });
    if (marked === null) return;
    const box = marked.getBoundingClientRect();
    const view = this.host.getBoundingClientRect();
    if (box.top < view.top) this.host.scrollTop -= view.top - box.top + CELL;
    if (box.bottom > view.bottom) this.host.scrollTop += box.bottom - view.bottom + CELL;
    this.events.onFrame(this.describe(node));
  }

  // Wide enough to be drawn at this zoom?
  #visible(d) {
    return ((d.x1 - d.x0) * this.host.clientWidth) / (this.top.x1 - this.top.x0) > NARROWEST;
  }

  #neighbor(step) {
    const row = (this.current.parent?.children || []).filter((d) => this.#visible(d));
    row.sort((a, b) => a.x0 - b.x0);
    return row[row.indexOf(this.current) + step];
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const child = () =>
      (this.current.children || [])
        .filter((d) => this.#visible(d))
        .reduce((widest, d) => (widest && widest.value >= d.value ? widest : d), undefined);
    const inward = this.icicle ? "ArrowDown" : "ArrowUp";
    const outward = this.icicle ? "ArrowUp" : "ArrowDown";
    const moves = {
      [inward]: child,
      [outward]: () => this.current.parent,
      ArrowLeft: () => this.#neighbor(-1),
      ArrowRight: () => this.#neighbor(1),
      Home: () => this.zoomedTo,
    };
    if (moves[event.key]) {
      event.preventDefault();
      const next = moves[event.key]();
      if (next) this.current = next;
      this.#mark(this.current);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.chart.zoomTo(this.current);
    } else if (event.key === "Escape") {
      this.reset();
    }
  }
}
