// How many processors were used when, as bars. A part of the time is chosen by dragging or with the keyboard.

const HEIGHT = 96;
const AXIS = 18;
const TOP = 14;
const DRAG = 3; // pixels: less is a click
const FONT = "11px system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
const HOUR = 3600e3;
const TICKS = [60e3, 300e3, 900e3, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR, 48 * HOUR, 168 * HOUR];
const TICK_WIDTH = 90; // pixels, at least

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export class LoadPlot {
  // data: with a load and ranges; onRange({ from, to }): chosen, in milliseconds
  constructor(host, tip, data, onRange) {
    Object.assign(this, { host, tip, data, onRange, dragged: null, pressed: null, cursor: null });
    this.load = data.load;
    this.most = Math.max(...this.load.cpus.map((cpus) => cpus ?? 0), 0);
    this.canvas = document.createElement("canvas");
    host.replaceChildren(this.canvas);
    host.setAttribute("aria-label", "Processors in use. Arrow keys move, with Shift they choose, Enter shows what is chosen.");
    host.addEventListener("pointerdown", (event) => this.#begin(event));
    host.addEventListener("pointermove", (event) => this.#move(event));
    host.addEventListener("pointerup", () => this.#end());
    host.addEventListener("pointercancel", () => this.#stop());
    host.addEventListener("pointerleave", () => (this.tip.hidden = true));
    host.addEventListener("keydown", (event) => this.#key(event));
    for (const kind of ["focus", "blur"]) host.addEventListener(kind, () => this.paint());
    this.resize();
  }

  get #to() {
    return this.load.from + this.load.step * this.load.cpus.length;
  }

  #x(ms) {
    const { from } = this.load;
    return ((ms - from) / (this.#to - from)) * this.width;
  }

  // The step at an event.
  #step(event) {
    const x = event.clientX - this.host.getBoundingClientRect().left;
    const { length } = this.load.cpus;
    return Math.min(length - 1, Math.max(0, Math.floor((x / this.width) * length)));
  }

  #range(first, last) {
    const { from, step } = this.load;
    return { from: from + step * Math.min(first, last), to: from + step * (Math.max(first, last) + 1) };
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.host.clientWidth;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(HEIGHT * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${HEIGHT}px`;
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint();
  }

  paint() {
    const style = getComputedStyle(this.host);
    const color = (name) => style.getPropertyValue(`--${name}`);
    const { context, width } = this;
    const { before, range } = this.data;
    context.clearRect(0, 0, width, HEIGHT);
    this.#bars(color);
    this.#axis(color);
    if (before) this.#mark(before, color("phase"), "before");
    if (range) this.#mark(this.dragged || range, color("accent"), before ? "after" : "");
    if (this.cursor !== null && document.activeElement === this.host) {
      const at = this.#range(this.cursor, this.cursor);
      context.strokeStyle = color("ink");
      context.strokeRect(this.#x(at.from), TOP, Math.max(2, this.#x(at.to) - this.#x(at.from)), HEIGHT - AXIS - TOP);
    }
  }

  #bars(color) {
    const { context, load, most } = this;
    const bottom = HEIGHT - AXIS;
    load.cpus.forEach((cpus, i) => {
      const at = this.#range(i, i);
      const [left, right] = [this.#x(at.from), this.#x(at.to)];
      const height = most > 0 ? ((cpus ?? 0) / most) * (bottom - TOP) : 0;
      context.fillStyle = color("busy");
      context.fillRect(left, bottom - height, Math.max(1, right - left - (right - left > 4 ? 1 : 0)), height);
      context.fillStyle = color("line"); // nobody looked
      if (cpus === null) context.fillRect(left, bottom - 2, right - left, 2);
    });
    context.font = FONT;
    context.fillStyle = color("soft");
    context.textBaseline = "top";
    context.textAlign = "left";
    context.fillText(`${Number(most.toPrecision(2))} CPUs`, 4, 1);
  }

  // Round local times.
  #axis(color) {
    const { context, load, width } = this;
    const length = this.#to - load.from;
    const tick = TICKS.find((ms) => (width * ms) / length >= TICK_WIDTH) ?? TICKS.at(-1);
    const zone = new Date(load.from).getTimezoneOffset() * 60e3;
    context.fillStyle = color("soft");
    context.textBaseline = "middle";
    for (let ms = Math.ceil((load.from - zone) / tick) * tick + zone; ms < this.#to; ms += tick) {
      const x = this.#x(ms);
      const midnight = (ms - zone) % (24 * HOUR) === 0;
      const text = midnight ? day.format(ms) : clock.format(ms);
      context.fillRect(x, HEIGHT - AXIS, 1, 4);
      if (x + context.measureText(text).width + 6 < width) context.fillText(text, x + 3, HEIGHT - AXIS / 2 + 1);
    }
  }

  #mark({ from, to }, color, name) {
    const { context } = this;
    const left = Math.max(0, this.#x(from));
    const right = Math.max(left + 2, Math.min(this.width, this.#x(to)));
    context.fillStyle = color;
    context.globalAlpha = 0.16;
    context.fillRect(left, TOP, right - left, HEIGHT - AXIS - TOP);
    context.globalAlpha = 1;
    context.fillRect(left, HEIGHT - AXIS - 3, right - left, 3);
    context.textBaseline = "top";
    context.textAlign = left > this.width / 2 ? "right" : "left";
    if (name) context.fillText(name, left > this.width / 2 ? right : left, 1);
    context.textAlign = "left";
  }

  // ---- choosing

  #begin(event) {
    if (event.button !== 0) return;
    this.host.setPointerCapture(event.pointerId);
    this.pressed = { x: event.clientX, step: this.#step(event) };
  }

  #move(event) {
    const step = this.#step(event);
    this.#tell(event, step);
    if (!this.pressed || (!this.dragged && Math.abs(event.clientX - this.pressed.x) < DRAG)) return;
    this.dragged = this.#range(this.pressed.step, step);
    this.paint();
  }

  #end() {
    const { pressed, dragged } = this;
    this.#stop();
    if (dragged) this.onRange(dragged);
    else if (pressed) {
      this.cursor = pressed.step;
      this.paint();
    }
  }

  #stop() {
    this.pressed = this.dragged = null;
  }

  #tell(event, step) {
    const { tip } = this;
    const cpus = this.load.cpus[step];
    const title = document.createElement("strong");
    const text = document.createElement("div");
    const at = this.#range(step, step);
    title.textContent = whole.format(at.from);
    text.textContent = cpus === null ? "not sampled" : `${Number(cpus.toPrecision(3))} processors in use`;
    tip.replaceChildren(title, text);
    tip.hidden = false;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8)}px`;
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.load.cpus.length - 1;
    const now = this.cursor ?? last;
    const moves = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last };
    if (event.key in moves) {
      event.preventDefault();
      if (event.shiftKey) this.anchor ??= now;
      else this.anchor = null;
      this.cursor = Math.min(last, Math.max(0, moves[event.key]));
      this.dragged = this.anchor === null ? null : this.#range(this.anchor, this.cursor);
      this.paint();
    } else if (event.key === "Enter" && this.cursor !== null) {
      event.preventDefault();
      this.onRange(this.dragged || this.#range(this.cursor, this.cursor));
    } else if (event.key === "Escape") {
      this.cursor = this.anchor = this.dragged = null;
      this.paint();
    }
  }
}
