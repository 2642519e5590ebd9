// When samples fell (src/report/page_times.h): by thread and column of time, and what the tree has in a part of the
// time. Pure: no document.

import { withWeights } from "./model.js";

const NOISE = 1e-9; // of weights that were added and taken away again

// first, last: columns; node: -1 for what is not told apart
function unpackMoments(list) {
  const count = list.length / 4;
  const moments = {
    count,
    first: new Int32Array(count),
    last: new Int32Array(count),
    node: new Int32Array(count),
    weight: new Float64Array(count),
  };
  for (let i = 0, column = 0; i < count; i++) {
    column += list[4 * i];
    moments.last[i] = column;
    moments.first[i] = column - list[4 * i + 1];
    moments.node[i] = list[4 * i + 2] - 1;
    moments.weight[i] = list[4 * i + 3];
  }
  return moments;
}

// Of weights by column, what lies before any column's edge; between edges, a part of the column's.
class Course {
  constructor(columns) {
    this.steps = new Float64Array(columns + 1);
  }

  add({ count, first, last, weight }) {
    for (let i = 0; i < count; i++) {
      const each = weight[i] / (last[i] - first[i] + 1);
      this.steps[first[i]] += each;
      this.steps[last[i] + 1] -= each;
    }
  }

  // After the last add.
  settle() {
    const { steps } = this;
    this.before = new Float64Array(steps.length);
    for (let i = 0, now = 0; i + 1 < steps.length; i++) {
      now += steps[i];
      this.before[i + 1] = this.before[i] + (now > NOISE ? now : 0);
    }
    return this;
  }

  #until(column) {
    const most = this.before.length - 1;
    const at = Math.min(Math.max(column, 0), most);
    const whole = Math.min(Math.floor(at), most - 1);
    return this.before[whole] + (at - whole) * (this.before[whole + 1] - this.before[whole]);
  }

  // The weight between two columns.
  between(from, to) {
    return this.#until(to) - this.#until(from);
  }
}

export class Times {
  // data: a report with "times"
  constructor(data) {
    const { from_ns: from, width_ns: width, bin_ns: bin, columns, threads } = data.times;
    Object.assign(this, { data, from, width, bin, columns });
    this.to = from + Math.min(columns * width, data.duration_ns || Infinity);
    this.threads = threads.map(({ thread, moments }) => ({ thread, moments: unpackMoments(moments) }));
  }

  columnOf(ns) {
    return (ns - this.from) / this.width;
  }

  #course(threads) {
    const course = new Course(this.columns);
    for (const { moments } of threads) course.add(moments);
    return course.settle();
  }

  all() {
    return this.#course(this.threads);
  }

  of(thread) {
    return this.#course(this.threads.filter((one) => one.thread === thread));
  }

  // The threads that have samples, whichever phases they were in, greatest first: { name, course }. Those past `most` are
  // the last one, together.
  lanes(most) {
    const groups = new Map();
    for (const one of this.threads) {
      const { name, tid, pid } = this.data.threads[one.thread];
      const key = `${pid} ${tid}`;
      if (!groups.has(key)) groups.set(key, { name: `${name || "thread"} ${tid}`, threads: [], sum: 0 });
      const group = groups.get(key);
      group.threads.push(one);
      group.sum += one.moments.weight.reduce((sum, weight) => sum + weight, 0);
    }
    const sorted = [...groups.values()].sort((a, b) => b.sum - a.sum);
    const shown = sorted.length <= most ? sorted : sorted.slice(0, most - 1);
    const lanes = shown.map(({ name, threads }) => ({ name, course: this.#course(threads) }));
    if (shown.length === sorted.length) return lanes;
    const others = sorted.slice(shown.length);
    const course = this.#course(others.flatMap(({ threads }) => threads));
    return [...lanes, { name: `${others.length} others`, course, many: true }];
  }

  // The phases that samples fell in: { name, runs: [[first, last column], ...] }.
  phases() {
    return (this.data.phases || []).flatMap((phase, index) => {
      const threads = this.threads.filter(({ thread }) => this.data.threads[thread].phase === index + 1);
      return threads.length > 0 ? [{ name: phase.path || phase.name, runs: this.#runs(threads) }] : [];
    });
  }

  #runs(threads) {
    const course = this.#course(threads);
    const runs = [];
    for (let i = 0; i < this.columns; i++) {
      if (course.between(i, i + 1) === 0) continue;
      if (runs.length > 0 && runs.at(-1)[1] === i - 1) runs.at(-1)[1] = i;
      else runs.push([i, i]);
    }
    return runs;
  }

  // Processes that began, ended or executed another program: { ns, kind, text }, by time.
  marks() {
    return (this.data.times.marks || []).filter(({ ns }) => ns >= this.from && ns <= this.to);
  }

  // The tree with what it has between two times; thread: null, or only that one's.
  part(flat, fromNs, toNs, thread) {
    const range = [this.columnOf(fromNs), toNs >= this.to ? this.columns : this.columnOf(toNs)];
    const self = new Float64Array(flat.key.length);
    const leftOut = new Float64Array(flat.key.length);
    const work = { inside: new Float64Array(flat.key.length), listed: new Float64Array(flat.key.length) };
    const threads = this.threads.filter((one) => thread === null || one.thread === thread);
    for (const one of threads) addPart(sharesOf(flat, one.thread), one.moments, range, work, self, leftOut);
    return withWeights(flat, self, leftOut);
  }
}

// A thread's nodes, and what it has of each: of a single thread, all.
function sharesOf(flat, thread) {
  const { shares } = flat;
  if (!shares) return { indexes: flat.self.keys(), node: (i) => i, self: flat.self, leftOut: flat.leftOut };
  if (!flat.byThread) {
    flat.byThread = new Map();
    shares.thread.forEach((owner, i) => {
      if (!flat.byThread.has(owner)) flat.byThread.set(owner, []);
      flat.byThread.get(owner).push(i);
    });
  }
  const { node, self, leftOut } = shares;
  return { indexes: flat.byThread.get(thread) || [], node: (i) => node[i], self, leftOut };
}

// Adds what a thread has in the range. Weight of nodes that are not told apart is divided as what moments do not have of
// the nodes; weight that is of a node, or of one below it that is left out, as these two are in the thread.
function addPart(shares, moments, [from, to], { inside, listed }, self, leftOut) {
  let rest = 0;
  for (let i = 0; i < moments.count; i++) {
    const first = moments.first[i];
    const end = moments.last[i] + 1;
    const part = (moments.weight[i] * Math.max(0, Math.min(end, to) - Math.max(first, from))) / (end - first);
    const node = moments.node[i];
    if (node < 0) rest += part;
    else {
      inside[node] += part;
      listed[node] += moments.weight[i];
    }
  }
  const indexes = [...shares.indexes];
  const unlisted = (i) => Math.max(0, shares.self[i] + shares.leftOut[i] - listed[shares.node(i)]);
  const all = indexes.reduce((sum, i) => sum + unlisted(i), 0);
  for (const i of indexes) {
    const node = shares.node(i);
    const has = shares.self[i] + shares.leftOut[i];
    if (has === 0) continue;
    const weight = inside[node] + (all > 0 ? (rest * unlisted(i)) / all : 0);
    self[node] += (weight * shares.self[i]) / has;
    leftOut[node] += (weight * shares.leftOut[i]) / has;
  }
  for (let i = 0; i < moments.count; i++) if (moments.node[i] >= 0) inside[moments.node[i]] = listed[moments.node[i]] = 0;
}
