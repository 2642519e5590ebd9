// Two ways to draw when samples fell: threads as lanes, and the sub-second heat map (a column a second, or another round
// length; down it, the parts of the second). Both say which time is where, and what a step of the keyboard is.

import * as format from "./format.js";

const ROW = 20;
const PHASE = 15;
const TICKS = 13;
const AXIS = 18;
const LANES = 10;
const PHASES = 6;
const FONT = "11px system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
const STEPS = 200; // of the keyboard, from one end to the other

const ROUND_NS = [1, 2, 5].flatMap((digit) => [...Array(10).keys()].map((power) => digit * 10 ** (power + 3)));
const LONG_NS = [30e9, 60e9, 300e9, 600e9, 3600e9, 6 * 3600e9, 86400e9];
const LENGTHS = [...ROUND_NS, ...LONG_NS].filter((ns) => ns <= 10e9 || LONG_NS.includes(ns)).sort((a, b) => a - b);

// The least round length that is `least` or more, and of which `ns` has at most so many.
function roundLength(ns, most, least = 0) {
  const fits = (length) => ns / length <= most && length >= least;
  return LENGTHS.find(fits) ?? Math.ceil(Math.max(ns / most, least) / 86400e9) * 86400e9;
}

// As much of the text as there is room for.
function drawText(context, text, x, y, room) {
  let length = text.length;
  const shown = () => (length === text.length ? text : `${text.slice(0, length)}…`);
  while (length > 0 && context.measureText(shown()).width > room) length--;
  if (length > 0) context.fillText(shown(), x, y);
}

// The axis below: round times, as many as there is room for.
function drawAxis(context, colors, { from, to, left, width, y }) {
  const length = roundLength(to - from, Math.max(2, width / 90));
  context.fillStyle = colors.soft;
  context.textBaseline = "middle";
  for (let ns = Math.ceil(from / length) * length; ns <= to; ns += length) {
    const x = left + ((ns - from) / (to - from)) * width;
    const text = format.seconds(ns);
    context.fillRect(x, y, 1, 4);
    if (x + context.measureText(text).width + 6 < left + width) context.fillText(text, x + 3, y + AXIS / 2 + 1);
  }
}

function drawTick(context, colors, kind, x, y) {
  context.fillStyle = kind === "killed" ? colors["warn-line"] : colors.ink;
  context.beginPath();
  if (kind === "fork") {
    context.moveTo(x, y);
    context.lineTo(x + 4, y + 9);
    context.lineTo(x - 4, y + 9);
  } else if (kind === "exec") {
    context.moveTo(x, y);
    context.lineTo(x + 4, y + 4.5);
    context.lineTo(x, y + 9);
    context.lineTo(x - 4, y + 4.5);
  } else {
    context.rect(x - 1, y, 2, 9);
  }
  context.fill();
}

// Threads, one a row, and above them the phases and what processes did.
export class Lanes {
  // full: the weight that a thread has in a nanosecond in which it runs; 0: not known, as of events
  constructor(times, full) {
    const running = times.data.trigger === "cpu"; // else it may be waiting
    Object.assign(this, { times, full, words: running ? ["busy", "processors"] : ["of the time", "threads"] });
    this.lanes = times.lanes(LANES);
    if (this.lanes.length > 1) this.lanes.unshift({ name: "all threads", course: times.all(), many: true });
    this.phases = times.phases().slice(0, PHASES);
    this.marks = times.marks();
    this.top = this.phases.length * PHASE + (this.marks.length > 0 ? TICKS : 0);
    this.bottom = this.top + this.lanes.length * ROW;
    this.height = this.bottom + AXIS;
    this.unit = times.width; // of the time, that the cursor is at
    this.keys = "Left and Right move, with Shift they choose a part of the time";
  }

  resize(width) {
    this.left = width < 560 ? 84 : 150;
    this.width = Math.max(1, width - this.left);
  }

  steps() {
    const step = Math.max(this.times.width, (this.times.to - this.times.from) / STEPS);
    return { ArrowLeft: -step, ArrowRight: step };
  }

  // The time at a place: the columns there.
  at(x) {
    const { from, to, width, columns } = this.times;
    const edge = (pixel) => Math.floor(((pixel - this.left) / this.width) * ((to - from) / width));
    const column = Math.min(Math.max(edge(x), 0), columns - 1);
    const end = Math.max(column + 1, Math.min(edge(x + 1), columns));
    return { from: from + column * width, to: Math.min(to, from + end * width) };
  }

  #x(ns) {
    const { from, to } = this.times;
    return this.left + ((ns - from) / (to - from)) * this.width;
  }

  // Where a part of the time is.
  areas(from, to) {
    return [{ x: this.#x(from), y: 0, width: this.#x(to) - this.#x(from), height: this.bottom }];
  }

  // What a place is about, besides its time.
  describe(x, y, { from, to }) {
    const lane = this.lanes[Math.floor((y - this.top) / ROW)];
    const near = this.marks.filter(({ ns }) => Math.abs(this.#x(ns) - x) <= 4);
    const texts = near.slice(0, 4).map(({ ns, text }) => `${format.seconds(ns)}: ${text}`);
    if (near.length > 4) texts.push(`and ${near.length - 4} more`);
    if (!lane) return texts;
    return [`${lane.name}: ${this.#busy(lane, from, to)}`, ...texts];
  }

  #between(lane, from, to) {
    return lane.course.between(this.times.columnOf(from), this.times.columnOf(to));
  }

  #busy(lane, from, to) {
    const weight = this.#between(lane, from, to);
    if (this.full === 0) return `${format.rounded(weight)} samples`;
    const share = weight / (this.full * (to - from));
    const [one, many] = this.words;
    return lane.many ? `${share.toFixed(2)} ${many}` : `${format.percent(Math.min(1, share), 1)} ${one}`;
  }

  draw(context, colors) {
    context.font = FONT;
    context.textBaseline = "middle";
    this.phases.forEach((phase, i) => this.#drawPhase(context, colors, phase, i * PHASE));
    this.lanes.forEach((lane, i) => this.#drawLane(context, colors, lane, this.top + i * ROW));
    let before = -Infinity;
    for (const { ns, kind } of this.marks) {
      if (this.#x(ns) - before < 2) continue;
      before = this.#x(ns);
      drawTick(context, colors, kind, before, this.phases.length * PHASE + 2);
    }
    const { from, to } = this.times;
    drawAxis(context, colors, { from, to, left: this.left, width: this.width, y: this.bottom });
  }

  #drawPhase(context, colors, { name, runs }, y) {
    context.fillStyle = colors.soft;
    drawText(context, name, 4, y + PHASE / 2, this.left - 10);
    context.fillStyle = colors.phase;
    for (const [first, last] of runs) {
      const x = this.#x(this.times.from + first * this.times.width);
      const end = Math.min(this.#x(this.times.from + (last + 1) * this.times.width), this.left + this.width);
      context.fillRect(x, y + 4, Math.max(1, end - x), PHASE - 8);
    }
  }

  #drawLane(context, colors, lane, y) {
    const { from, to } = this.times;
    const each = (to - from) / this.width;
    const weightAt = (_, i) => this.#between(lane, from + i * each, from + (i + 1) * each);
    const weights = Array.from({ length: Math.ceil(this.width) }, weightAt);
    const greatest = weights.reduce((most, weight) => Math.max(most, weight), 0);
    const full = this.full > 0 && !lane.many ? this.full * each : greatest;
    context.fillStyle = colors.ink;
    drawText(context, lane.name, 4, y + ROW / 2, this.left - 10);
    context.fillStyle = colors.line;
    context.fillRect(this.left, y + ROW - 1, this.width, 1);
    context.fillStyle = colors.busy;
    weights.forEach((weight, i) => {
      if (weight <= 0 || full <= 0) return;
      const height = Math.max(1, Math.min(1, weight / full) * (ROW - 3));
      context.fillRect(this.left + i, y + ROW - 1 - height, 1, height);
    });
  }
}

const CELL = 9; // pixels: no cell is lower
const TALL = 180;
const MOST_COLUMNS = 120;
const ROWS = 10;
const MOST_ROWS = 20;

// All threads' samples, or one's: each cell is a part of a second, darker the more samples it has.
export class HeatMap {
  constructor(times, thread) {
    const duration = times.to - times.from;
    Object.assign(this, { times, course: thread === null ? times.all() : times.of(thread) });
    const finest = Math.max(times.width, times.bin);
    this.length = roundLength(duration, MOST_COLUMNS, ROWS * finest);
    this.rows = Math.min(MOST_ROWS, Math.floor(this.length / finest));
    this.cell = this.unit = this.length / this.rows;
    this.start = Math.floor(times.from / this.length) * this.length;
    this.columns = Math.ceil((times.to - this.start) / this.length);
    this.rowHeight = Math.max(CELL, Math.floor(TALL / this.rows / 2));
    this.bottom = this.rows * this.rowHeight;
    this.height = this.bottom + AXIS;
    this.keys = "arrow keys move, with Shift they choose a part of the time";
    this.most = 0;
    for (let i = 0; i < this.columns * this.rows; i++) this.most = Math.max(this.most, this.#weight(i));
  }

  resize(width) {
    this.left = width < 560 ? 60 : 84;
    this.width = Math.max(1, width - this.left);
    this.across = this.width / this.columns;
  }

  steps() {
    return { ArrowLeft: -this.length, ArrowRight: this.length, ArrowUp: this.cell, ArrowDown: -this.cell };
  }

  // Cells are in the order of time: up a column, then on to the next.
  #weight(index) {
    const from = this.start + index * this.cell;
    return this.course.between(this.times.columnOf(from), this.times.columnOf(from + this.cell));
  }

  at(x, y) {
    const column = Math.min(Math.max(Math.floor((x - this.left) / this.across), 0), this.columns - 1);
    const row = Math.min(Math.max(this.rows - 1 - Math.floor(y / this.rowHeight), 0), this.rows - 1);
    const from = this.start + (column * this.rows + row) * this.cell;
    const { from: first, to: last } = this.times;
    return { from: Math.min(Math.max(from, first), last), to: Math.max(first, Math.min(last, from + this.cell)) };
  }

  #area(index) {
    const column = Math.floor(index / this.rows);
    const row = index % this.rows;
    const [x, y] = [this.left + column * this.across, (this.rows - 1 - row) * this.rowHeight];
    return { x, y, width: this.across, height: this.rowHeight };
  }

  areas(from, to) {
    const first = Math.max(0, Math.floor((from - this.start) / this.cell + 1e-6));
    const last = Math.min(this.columns * this.rows, Math.ceil((to - this.start) / this.cell - 1e-6));
    return Array.from({ length: Math.max(0, last - first) }, (_, i) => this.#area(first + i));
  }

  describe(x, y, { from, to }) {
    return [`${format.rounded(this.course.between(this.times.columnOf(from), this.times.columnOf(to)))} samples`];
  }

  draw(context, colors) {
    context.font = FONT;
    for (let i = 0; i < this.columns * this.rows; i++) {
      const weight = this.#weight(i);
      if (weight <= 0) continue;
      const { x, y, width, height } = this.#area(i);
      context.fillStyle = colors.heat(weight / this.most);
      context.fillRect(x, y, Math.max(1, width - 0.6), height - 0.6);
    }
    context.fillStyle = colors.soft;
    context.textBaseline = "top";
    drawText(context, `+${format.duration(this.length)}`, 4, 2, this.left - 8);
    context.textBaseline = "bottom";
    drawText(context, "+0", 4, this.bottom - 2, this.left - 8);
    const end = this.start + this.columns * this.length;
    drawAxis(context, colors, { from: this.start, to: end, left: this.left, width: this.width, y: this.bottom });
  }
}
