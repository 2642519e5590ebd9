// Above the graph: when samples fell. A part of the time is chosen by dragging or with the keyboard.

import { heat, onSchemeChange } from "./color.js";
import * as format from "./format.js";
import { HeatMap, Lanes } from "./plots.js";
import { Times } from "./times.js";

const DRAG = 3; // pixels: less is a click
const KEYS_PAUSE = 200; // milliseconds until what the keyboard chose is shown
const MARKS = { fork: "▲ process began", exec: "◆ exec", exit: "❙ process ended", killed: "❙ killed" };

// "2.5..4": seconds since the recording began, as penumbra report --time takes them.
export function formatRange({ from, to }) {
  const text = (ns) => String(Number((ns / 1e9).toFixed(6)));
  return `${text(from)}..${text(to)}`;
}

// Null for what is none.
export function parseRange(text) {
  const [from, to, more] = text.split("..").map(Number);
  return more === undefined && from >= 0 && to > from && to < Infinity ? { from: from * 1e9, to: to * 1e9 } : null;
}

export class Timeline {
  // section: with a .plot, a .detail and a .marks. events: onRange(range or null)
  constructor({ section, tip, events }) {
    Object.assign(this, { section, tip, events, times: null, range: null });
    this.host = section.querySelector(".plot");
    this.canvas = document.createElement("canvas");
    this.host.replaceChildren(this.canvas);
    this.host.addEventListener("pointerdown", (event) => this.#begin(event));
    this.host.addEventListener("pointermove", (event) => this.#move(event));
    this.host.addEventListener("pointerup", (event) => this.#end(event));
    this.host.addEventListener("pointercancel", () => this.#cancel());
    this.host.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.host.addEventListener("keydown", (event) => this.#key(event));
    for (const kind of ["focus", "blur"]) this.host.addEventListener(kind, () => this.times && this.paint());
    onSchemeChange(() => this.times && this.paint());
  }

  // Another report; hidden if it does not tell when its samples fell.
  turn(data) {
    this.data = data;
    this.times = data.times?.threads.length > 0 ? new Times(data) : null;
    this.section.hidden = !this.times;
    this.cursor = null;
    this.plots = {};
    if (this.times) this.#describeMarks();
  }

  // mode: "threads" or "heat"; range: of nanoseconds, or null
  show(mode, thread, range) {
    this.range = range;
    if (!this.times) return;
    const key = `${mode} ${mode === "heat" ? thread : ""}`;
    this.plots[key] ??= mode === "heat" ? new HeatMap(this.times, thread) : new Lanes(this.times, this.#full());
    this.plot = this.plots[key];
    this.section.querySelector(".marks").hidden = mode === "heat"; // which has none
    this.host.setAttribute("aria-label", `When samples fell: ${this.plot.keys}, Escape chooses all of it.`);
    this.resize();
  }

  // The weight that a nanosecond of one thread's running has; 0: not known.
  #full() {
    const { unit, period } = this.data;
    return unit === "nanoseconds" && period > 0 ? 1 / period : 0;
  }

  resize() {
    if (!this.times) return;
    const ratio = window.devicePixelRatio || 1;
    const width = this.host.clientWidth;
    const { canvas, plot } = this;
    plot.resize(width);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(plot.height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${plot.height}px`;
    this.context = canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint();
  }

  #colors() {
    const style = getComputedStyle(this.host);
    const of = (name) => style.getPropertyValue(`--${name}`);
    const names = ["ink", "soft", "line", "busy", "phase", "warn-line", "accent", "veil"];
    return { ...Object.fromEntries(names.map((name) => [name, of(name)])), heat };
  }

  paint() {
    const { context, plot } = this;
    const colors = this.#colors();
    const range = this.dragged || this.range;
    context.clearRect(0, 0, plot.left + plot.width, plot.height);
    plot.draw(context, colors);
    if (range) this.#veil(plot.areas(range.from, range.to), colors);
    if (this.cursor !== null && document.activeElement === this.host) {
      const at = plot.areas(this.cursor, this.cursor + plot.unit)[0]; // none at the very end
      context.strokeStyle = colors.accent;
      context.lineWidth = 2;
      if (at) context.strokeRect(at.x, at.y + 1, Math.max(1, at.width - 1), at.height - 2);
    }
    this.#say();
  }

  // All but what is chosen is paler.
  #veil(areas, colors) {
    const { context, plot } = this;
    context.beginPath();
    context.rect(plot.left, 0, plot.width, plot.bottom);
    for (const { x, y, width, height } of areas) context.rect(x, y, Math.max(1, width), height);
    context.fillStyle = colors.veil;
    context.fill("evenodd");
  }

  #say() {
    const { from, to } = this.dragged || this.range || this.times;
    const chosen = this.dragged || this.range;
    const all = this.times.to - this.times.from;
    const detail = this.section.querySelector(".detail");
    const said = chosen
      ? `${format.seconds(from)} to ${format.seconds(to)}, ${format.duration(to - from)} of ${format.duration(all)}`
      : this.cursor === null
        ? "Drag to choose a part of the time."
        : `At ${format.seconds(this.cursor)}`;
    if (detail.textContent !== said) detail.textContent = said;
    detail.title = chosen ? `penumbra report --time ${formatRange(chosen)}` : "";
  }

  // Which marks there are; and what has no time.
  #describeMarks() {
    const kinds = new Map();
    for (const { kind } of this.times.marks()) kinds.set(kind, (kinds.get(kind) || 0) + 1);
    const parts = [...kinds].map(([kind, count]) => `${MARKS[kind]}: ${format.count(count)}`);
    const left = this.data.times.marks_left_out || 0;
    if (left > 0) parts.push(`later marks, not shown: ${format.count(left)}`);
    const { dropped } = this.data;
    const lost = typeof dropped === "object" ? Object.values(dropped).reduce((sum, n) => sum + n, 0) : dropped || 0;
    if (lost > 0) parts.push(`dropped samples, at times not known: ${format.count(lost)}`);
    this.section.querySelector(".marks").textContent = parts.join("   ");
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.x, event.clientY - box.y];
  }

  #begin(event) {
    if (event.button !== 0) return;
    this.host.setPointerCapture(event.pointerId);
    this.pressed = { x: event.clientX, y: event.clientY, at: this.plot.at(...this.#place(event)) };
  }

  #move(event) {
    const place = this.#place(event);
    const at = this.plot.at(...place);
    this.#tell(event, [format.seconds(at.from), ...this.plot.describe(...place, at)]);
    if (!this.pressed) return;
    const { x, y, at: first } = this.pressed;
    if (!this.dragged && Math.hypot(event.clientX - x, event.clientY - y) < DRAG) return;
    this.dragged = { from: Math.min(first.from, at.from), to: Math.max(first.to, at.to) };
    this.paint();
  }

  #end() {
    const { pressed, dragged } = this;
    this.#cancel();
    if (dragged) this.events.onRange(dragged);
    else if (pressed) {
      this.cursor = pressed.at.from;
      this.anchor = null;
      this.events.onRange(null);
      this.paint();
    }
  }

  #cancel() {
    this.pressed = this.dragged = null;
  }

  #tell(event, lines) {
    const [title, ...more] = lines.map((line, i) => {
      const made = document.createElement(i === 0 ? "strong" : "div");
      made.textContent = line;
      return made;
    });
    this.tip.replaceChildren(title, ...more);
    this.tip.hidden = false;
    const left = Math.min(event.clientX + 14, window.innerWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(8, left)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 16, window.innerHeight - this.tip.offsetHeight - 8)}px`;
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { from, to, width } = this.times;
    const steps = this.plot.steps();
    const now = this.cursor ?? this.range?.from ?? from;
    const moves = { Home: from - now, End: to - now, ...steps };
    if (event.key === "Escape") {
      this.anchor = this.cursor = null;
      this.#choose(null);
    } else if (event.key in moves) {
      event.preventDefault();
      if (event.shiftKey) this.anchor ??= now;
      else this.anchor = null;
      const last = event.shiftKey ? to : Math.max(from, to - width);
      this.cursor = Math.min(Math.max(now + moves[event.key], from), last);
      if (this.anchor === null) this.paint();
      else this.#choose({ from: Math.min(this.anchor, this.cursor), to: Math.max(this.anchor, this.cursor) });
    }
  }

  // Shown at once here, and elsewhere when the keys rest.
  #choose(range) {
    this.range = range && range.to > range.from ? range : null;
    this.paint();
    clearTimeout(this.choosing);
    this.choosing = setTimeout(() => this.events.onRange(this.range), KEYS_PAUSE);
  }
}
