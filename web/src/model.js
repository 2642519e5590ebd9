// From the JSON of `penumbra report --json` to the two trees that the page draws. Pure: no document.
//
// Every loop over a tree keeps its own stack, so that the depth of a program's stack never becomes the
// depth of ours.

// Frames below a share of everything are left out of the drawn tree: the first of these shares that
// leaves no more than MOST_NODES. At 0.05%, a frame is under a pixel wide before one zooms.
const SHARES = [0, 0.0001, 0.0005];
const MOST_NODES = 20000;

// Builds with topDown or bottomUp: { root, hidden, share }.
export function draw(build, flat, name) {
  for (const share of SHARES) {
    const most = share === SHARES.at(-1) ? Infinity : MOST_NODES;
    const result = build(flat, name, share, most);
    if (result !== null) return { ...result, share };
  }
  return null; // not reached: the last one has no limit
}

// The tree in arrays, one element a node, parents before children.
//   key: index into frames; total, self: samples; parent: -1 for the root; calls: edges counted;
//   cost: null, or cost_per_call; threads: null, or [thread, self, below what is left out] each
export function flatten(tree) {
  const frames = [];
  const numbers = new Map();
  const flat = { frames, key: [], parent: [], self: [], total: [], calls: [], cost: [], threads: [] };
  const stack = [[tree, -1]];
  while (stack.length > 0) {
    const [node, parent] = stack.pop();
    const index = flat.key.length;
    flat.key.push(frameNumber(frames, numbers, node));
    flat.parent.push(parent);
    flat.self.push(node.self || 0);
    flat.total.push(node.total || 0);
    flat.calls.push(node.calls || 0);
    flat.cost.push(node.cost_per_call || null);
    flat.threads.push(node.threads || null);
    for (const child of node.children || []) stack.push([child, index]);
  }
  return flat;
}

function frameNumber(frames, numbers, node) {
  const name = String(node.name ?? "[unknown]");
  const image = String(node.image ?? "");
  const text = `${image}\0${name}`;
  let number = numbers.get(text);
  if (number === undefined) {
    number = frames.push({ name, image }) - 1;
    numbers.set(text, number);
  }
  return number;
}

// By index of the thread: what all nodes have of it.
export function samplesByThread(flat) {
  const samples = new Map();
  for (const threads of flat.threads)
    for (const [at, self, below] of threads || []) samples.set(at, (samples.get(at) || 0) + self + (below || 0));
  return samples;
}

// The same tree with what one thread has of it. Calls are not known by thread.
export function ofThread(flat, thread) {
  const none = flat.key.map(() => 0);
  const own = { ...flat, self: [...none], total: [...none], calls: none, cost: flat.key.map(() => null) };
  flat.threads.forEach((threads, i) => {
    for (const [at, self, below] of threads || [])
      if (at === thread) {
        own.self[i] += self;
        own.total[i] += self + (below || 0);
      }
  });
  for (let i = flat.key.length - 1; i > 0; i--) own.total[flat.parent[i]] += own.total[i];
  return own;
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

// Splits members (anything with a node) by the frame that each stands for.
function groupByFrame(flat, members, nodeOf) {
  const groups = new Map();
  for (const member of members) {
    const key = flat.key[nodeOf(member)];
    const group = groups.get(key);
    if (group) group.push(member);
    else groups.set(key, [member]);
  }
  return groups;
}

// A drawn node. rest: the frames below it that are left out, and what they have together.
function drawn(frame, value, self) {
  const rest = { count: 0, value: 0 };
  return { name: frame.name, image: frame.image, value, self, calls: 0, cost: null, children: [], rest };
}

function leaveOut(parent, value) {
  parent.rest.count++;
  parent.rest.value += value;
}

// Calls of one function, from several places of its caller, and what one of them costs.
function addCalls(node, flat, group) {
  const calls = sum(group, (i) => flat.calls[i]);
  if (calls === 0) return;
  node.calls = calls;
  if (group.length === 1) node.cost = flat.cost[group[0]];
  else if (group.some((i) => flat.cost[i] !== null)) node.cost = { samples: node.value / calls };
}

function sum(members, of) {
  let total = 0;
  for (const member of members) total += of(member);
  return total;
}

// Callers above callees. Calls to one function from several places of its caller become one frame.
export function topDown(flat, name, share, most) {
  const children = flat.key.map(() => null);
  for (let i = 1; i < flat.key.length; i++) (children[flat.parent[i]] ??= []).push(i);
  const limit = flat.total[0] * share;
  const root = drawn({ name, image: "" }, flat.total[0], flat.self[0]);
  let hidden = 0;
  let nodes = 0;
  const stack = [[root, [0]]];
  while (stack.length > 0) {
    const [parent, callers] = stack.pop();
    const below = callers.flatMap((i) => children[i] || []);
    for (const [key, group] of groupByFrame(flat, below, (i) => i)) {
      const total = sum(group, (i) => flat.total[i]);
      if (total < limit || total === 0) {
        hidden++;
        leaveOut(parent, total);
        continue;
      }
      if (++nodes > most) return null;
      const child = drawn(flat.frames[key], total, sum(group, (i) => flat.self[i]));
      addCalls(child, flat, group);
      parent.children.push(child);
      stack.push([child, group]);
    }
  }
  return { root, hidden };
}

// Functions where samples ended, with their callers below them.
export function bottomUp(flat, name, share, most) {
  let all = [];
  for (let i = 1; i < flat.key.length; i++)
    if (flat.self[i] > 0) all.push({ at: i, weight: flat.self[i] });
  const weightOf = (member) => member.weight;
  const total = sum(all, weightOf);
  const limit = total * share;
  const root = drawn({ name, image: "" }, total, 0);
  let hidden = 0;
  let nodes = 0;
  const stack = [[root, all]];
  all = null;
  while (stack.length > 0) {
    const [parent, members] = stack.pop();
    for (const [key, group] of groupByFrame(flat, members, (member) => member.at)) {
      const weight = sum(group, weightOf);
      if (weight < limit) {
        hidden++;
        leaveOut(parent, weight);
        continue;
      }
      if (++nodes > most) return null;
      const child = drawn(flat.frames[key], weight, parent === root ? weight : 0);
      parent.children.push(child);
      const callers = [];
      for (const member of group) {
        const at = flat.parent[member.at];
        if (at > 0) callers.push({ at, weight: member.weight });
      }
      if (callers.length > 0) stack.push([child, callers]);
    }
  }
  return { root, hidden };
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
