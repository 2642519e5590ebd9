// From a report of the page (src/report/page_tree.h) to the two trees that the page draws. Pure: no document.
//
// The report's tree is in arrays; nodes that are drawn are made of them when one first looks at their parent. So a page
// opens as fast with half a million nodes as with those that are wide enough to be seen, and none is left out.
//
// Every loop over a tree keeps its own stack, so that the depth of a program's stack never becomes the
// depth of ours.

// A browser draws each level, and nobody looks at more.
const DEEPEST = 500;
const DEEPER = { name: "[deeper frames]", image: "", key: -1 };

// The tree in arrays, one element a node, parents before children, a subtree in one piece.
//   key: index into frames; self: samples; leftOut: those of nodes below it that are not there; total: with all below;
//   parent: -1 for the root; end: behind the subtree; calls: edges counted; cost: by node, cost_per_call
//   simulated: null, or columns of what nodes have with all below: instructions, and cycles by cause
//   shares: null, or what each thread has of each node: { node, thread, self, leftOut }
export function unpack({ frames, nodes }) {
  const { unique, number } = uniqueFrames(frames);
  const count = nodes.frame.length;
  const flat = {
    frames: unique,
    key: new Int32Array(nodes.frame),
    parent: new Int32Array(count),
    end: new Int32Array(count),
    self: new Float64Array(nodes.self),
    leftOut: new Float64Array(count),
    total: new Float64Array(count),
    calls: new Float64Array(count),
    cost: new Map(),
    shares: nodes.threads ? unpackShares(nodes.threads) : null,
    simulated: nodes.simulated || null,
  };
  const path = [];
  for (let i = 0; i < count; i++) {
    const depth = nodes.depth[i];
    flat.key[i] = number[flat.key[i]];
    flat.parent[i] = depth > 0 ? path[depth - 1] : -1;
    path[depth] = i;
  }
  for (let i = 0, node = 0; i < nodes.left_out.length; i += 2) {
    node += nodes.left_out[i];
    flat.leftOut[node] = nodes.left_out[i + 1];
  }
  for (const [node, calls, ...cost] of nodes.calls) {
    flat.calls[node] = calls;
    if (cost.length > 0) flat.cost.set(node, unpackCost(cost));
  }
  for (let i = count - 1; i >= 0; i--) {
    flat.end[i] = Math.max(flat.end[i], i + 1);
    if (i > 0) flat.end[flat.parent[i]] = Math.max(flat.end[flat.parent[i]], flat.end[i]);
  }
  addUp(flat);
  return flat;
}

// What has the same name in the same image is one frame. number: of each of the given ones.
function uniqueFrames(frames) {
  const numbers = new Map();
  const unique = [];
  const number = frames.map(([name, image]) => {
    const text = `${image}\0${name}`;
    if (!numbers.has(text)) numbers.set(text, unique.push({ name, image, key: unique.length }) - 1);
    return numbers.get(text);
  });
  return { unique, number };
}

function unpackShares(list) {
  const count = list.length / 4;
  const shares = {
    node: new Int32Array(count),
    thread: new Int32Array(count),
    self: new Float64Array(count),
    leftOut: new Float64Array(count),
  };
  for (let i = 0, node = 0; i < count; i++) {
    node += list[4 * i];
    shares.node[i] = node;
    shares.thread[i] = list[4 * i + 1];
    shares.self[i] = list[4 * i + 2];
    shares.leftOut[i] = list[4 * i + 3];
  }
  return shares;
}

function unpackCost([samples, low, high, ...all]) {
  return { samples, interval: [low, high], ...(all.length > 0 ? { all_calls: all } : {}) };
}

function addUp(flat) {
  const { self, leftOut, total, parent } = flat;
  for (let i = 0; i < total.length; i++) total[i] = self[i] + leftOut[i];
  for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
}

// By index of the thread: what all nodes have of it.
export function samplesByThread({ shares }) {
  const samples = new Map();
  shares?.thread.forEach((thread, i) =>
    samples.set(thread, (samples.get(thread) || 0) + shares.self[i] + shares.leftOut[i]),
  );
  return samples;
}

// The same tree with other weights. Calls and causes are not known of a part.
export function withWeights(flat, self, leftOut) {
  const [total, calls] = [0, 0].map(() => new Float64Array(self.length));
  const part = { ...flat, self, leftOut, total, calls, cost: new Map(), simulated: null };
  addUp(part);
  return part;
}

// With what one thread has of it.
export function ofThread(flat, thread) {
  const self = new Float64Array(flat.key.length);
  const leftOut = new Float64Array(flat.key.length);
  flat.shares?.thread.forEach((owner, i) => {
    if (owner !== thread) return;
    self[flat.shares.node[i]] += flat.shares.self[i];
    leftOut[flat.shares.node[i]] += flat.shares.leftOut[i];
  });
  return withWeights(flat, self, leftOut);
}

// Functions as the report lists them: a total counts each path once. Nodes are in the order of a walk from the root.
export function functionsOf(flat) {
  const functions = flat.frames.map((frame) => ({ ...frame, self: 0, total: 0, calls: 0, cost_per_call: null }));
  const onPath = flat.frames.map(() => 0);
  const path = [];
  for (let i = 1; i < flat.key.length; i++) {
    while (path.length > 0 && path.at(-1) !== flat.parent[i]) onPath[flat.key[path.pop()]]--;
    const key = flat.key[i];
    functions[key].self += flat.self[i];
    if (onPath[key]++ === 0) functions[key].total += flat.total[i];
    path.push(i);
  }
  return functions.filter((f) => f.total > 0);
}

// Splits nodes by the frame that each stands for.
function groupByFrame(flat, nodes) {
  const groups = new Map();
  for (const node of nodes) {
    const key = flat.key[node];
    const group = groups.get(key);
    if (group) group.push(node);
    else groups.set(key, [node]);
  }
  return groups;
}

// A node to draw. nodes: those of the tree that it stands for; of a path to callers, null. expand() makes those below it, once.
export class DrawnNode {
  #expand;
  #children = null;

  constructor({ name, image, key }, value, self, expand) {
    Object.assign(this, { name, image, key, value, self, calls: 0, cost: null, nodes: null });
    this.#expand = expand;
  }

  // The greatest first.
  get children() {
    this.#children ??= this.#expand().sort((a, b) => b.value - a.value);
    return this.#children;
  }
}

const nothing = () => [];

// Calls of one function, from several places of its caller, and what one of them costs.
function addCalls(node, flat, group) {
  const calls = sum(group, (i) => flat.calls[i]);
  if (calls === 0) return;
  node.calls = calls;
  if (group.length === 1) node.cost = flat.cost.get(group[0]) || null;
  else if (group.some((i) => flat.cost.has(i))) node.cost = { samples: node.value / calls };
}

function sum(members, of) {
  let total = 0;
  for (const member of members) total += of(member);
  return total;
}

function childrenOf(flat, parents) {
  const children = [];
  for (const parent of parents)
    for (let i = parent + 1; i < flat.end[parent]; i = flat.end[i]) if (flat.total[i] > 0) children.push(i);
  return children;
}

// Callers above callees. Calls to one function from several places of its caller become one frame.
export function topDown(flat, name) {
  const below = (callers, depth) => {
    const callees = childrenOf(flat, callers);
    if (depth === DEEPEST && callees.length > 0)
      return [new DrawnNode(DEEPER, sum(callees, (i) => flat.total[i]), 0, nothing)];
    return [...groupByFrame(flat, callees)].map(([key, group]) => {
      const [total, self] = [flat.total, flat.self].map((weights) => sum(group, (i) => weights[i]));
      const node = new DrawnNode(flat.frames[key], total, self, () => below(group, depth + 1));
      addCalls(node, flat, group);
      node.nodes = group;
      return node;
    });
  };
  return new DrawnNode({ name, image: "", key: 0 }, flat.total[0], flat.self[0], () => below([0], 0));
}

// Samples on their way to the root: ends are the nodes that they ended in, at where they are. Those at one frame are a
// group: { ends, at, weight }.
function groupsAt(flat, { ends, at }) {
  const groups = new Map();
  for (let i = 0; i < ends.length; i++) {
    const key = flat.key[at[i]];
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { ends: [], at: [], weight: 0 }));
    group.ends.push(ends[i]);
    group.at.push(at[i]);
    group.weight += flat.self[ends[i]];
  }
  return groups;
}

// One step nearer to the root, without those that are there.
function callersOf(flat, { ends, at }) {
  const callers = { ends: [], at: [] };
  for (let i = 0; i < ends.length; i++) {
    const parent = flat.parent[at[i]];
    if (parent <= 0) continue;
    callers.ends.push(ends[i]);
    callers.at.push(parent);
  }
  return callers;
}

// Functions where samples ended, with their callers below them.
export function bottomUp(flat, name) {
  const ends = [];
  let total = 0;
  for (let i = 1; i < flat.key.length; i++) {
    if (flat.self[i] === 0) continue;
    ends.push(i);
    total += flat.self[i];
  }
  const below = (members, depth) => {
    if (depth === DEEPEST && members.ends.length > 0)
      return [new DrawnNode(DEEPER, sum(members.ends, (i) => flat.self[i]), 0, nothing)];
    return [...groupsAt(flat, members)].map(([key, group]) => {
      const { weight } = group;
      return new DrawnNode(flat.frames[key], weight, depth === 0 ? weight : 0, () => below(callersOf(flat, group), depth + 1));
    });
  };
  return new DrawnNode({ name, image: "", key: 0 }, total, 0, () => below({ ends, at: ends }, 0));
}

// The samples with a frame on their stack that matches, whatever is drawn of it. ended: as in bottomUp, only those that are
// known to have ended in a node that is there.
export function found(flat, matches, ended) {
  const matched = flat.frames.map(({ name }) => matches(name));
  let samples = 0;
  for (let i = 1; i < flat.key.length; i++) {
    if (!matched[flat.key[i]]) continue;
    const end = flat.end[i];
    if (!ended) samples += flat.total[i];
    else for (let k = i; k < end; k++) samples += flat.self[k];
    i = end - 1;
  }
  return samples;
}

// What a search field's text means: "=name" is that name exactly, else a regular expression without
// regard to case; if it is not one, plain text. Null for nothing.
export function matcher(text) {
  if (text === "") return null;
  if (text.startsWith("=")) return (name) => name === text.slice(1);
  try {
    const expression = new RegExp(text, "i");
    return (name) => expression.test(name);
  } catch {
    const lower = text.toLowerCase();
    return (name) => name.toLowerCase().includes(lower);
  }
}

// Images by the samples that ended in them, most first.
export function imagesBySelf(flat) {
  const costs = new Map();
  for (let i = 1; i < flat.key.length; i++) {
    const { image } = flat.frames[flat.key[i]];
    costs.set(image, (costs.get(image) || 0) + flat.self[i]);
  }
  return [...costs].sort((a, b) => b[1] - a[1]).map(([image]) => image);
}
