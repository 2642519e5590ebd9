// The page: reads the embedded profile, keeps the state that the address's hash shows
// (#metric=NAME&view=bottom-up&shape=flame&search=...&zoom=PATH&frame=PATH&thread=N&time=2.5..4&when=heat), and connects
// the parts. What one clicks can be undone with the browser's Back.

import { Annotated } from "./annotate.js";
import { Palette, onSchemeChange } from "./color.js";
import { byCause, Cycles } from "./cycles.js";
import { DatabasePanel, showError } from "./database.js";
import { DiffPage } from "./diff.js";
import * as format from "./format.js";
import { CopyButton, Graph } from "./graph.js";
import { bottomUp, found, functionsOf, imagesBySelf, matcher, ofThread, samplesByThread, topDown, unpack } from "./model.js";
import { PathTable } from "./paths.js";
import { FunctionTable } from "./table.js";
import { formatRange, parseRange, Timeline } from "./timeline.js";
import { SemiTable } from "./values.js";

const element = (id) => document.getElementById(id);
const WORTH_A_WARNING = 0.01;
const LEGEND_ENTRIES = 8;
const TYPING_PAUSE = 150; // milliseconds until what was typed is searched for

function readState() {
  const hash = new URLSearchParams(location.hash.slice(1));
  return {
    metric: hash.get("metric") || "",
    view: hash.get("view") === "bottom-up" ? "bottom-up" : "top-down",
    shape: hash.get("shape") === "flame" ? "flame" : "icicle",
    search: hash.get("search") || "",
    zoom: hash.get("zoom") || "",
    frame: hash.get("frame") || "",
    thread: hash.has("thread") ? Number(hash.get("thread")) : null,
    time: parseRange(hash.get("time") || "") ? hash.get("time") : "",
    when: hash.get("when") === "heat" ? "heat" : "threads",
  };
}

// undo: Back leads to what is shown now.
function writeState(state, undo) {
  const hash = new URLSearchParams();
  if (state.metric) hash.set("metric", state.metric);
  if (state.view !== "top-down") hash.set("view", state.view);
  if (state.shape !== "icicle") hash.set("shape", state.shape);
  if (state.search) hash.set("search", state.search);
  if (state.zoom) hash.set("zoom", state.zoom);
  if (state.frame) hash.set("frame", state.frame);
  if (state.thread !== null) hash.set("thread", state.thread);
  if (state.time) hash.set("time", state.time);
  if (state.when !== "threads") hash.set("when", state.when);
  const text = hash.toString();
  if (text === location.hash.slice(1)) return;
  const address = text ? `#${text}` : location.pathname + location.search;
  if (undo) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function addFact(label, value, title = "") {
  const item = document.createElement("div");
  const name = document.createElement("dt");
  const text = document.createElement("dd");
  name.textContent = label;
  text.textContent = value;
  item.title = title;
  item.append(name, text);
  element("facts").append(item);
}

function addWarning(text, kind = "warning") {
  const item = document.createElement("p");
  item.className = kind;
  item.textContent = text;
  element("warnings").append(item);
}

// One line, that of the first warning, until it is opened.
function closeWarnings() {
  const box = element("warnings");
  const items = [...box.querySelectorAll("p")];
  box.hidden = items.length === 0;
  if (items.length === 0) return;
  const summary = box.querySelector("summary");
  const first = items.find((item) => item.className === "warning") || items[0];
  summary.className = first.className;
  summary.textContent = items.length === 1 ? first.textContent : `${items.length} notes: ${first.textContent}`;
  summary.title = items.map((item) => item.textContent).join("\n");
  if (items.length === 1) first.hidden = true;
}

// Shadows observe copies of the program: samples are what they are made at, and stand for no time.
function showShadows(shadows) {
  addFact("Shadows", format.count(shadows.started), "Copies of the process that were observed");
  addFact("Observed", `${format.count(shadows.instructions)} instructions`, "In all shadows");
  const [low, high] = shadows.coverage_bounds || [];
  const bounds = low === undefined ? "" : `Between ${format.percent(low, 1)} and ${format.percent(high, 1)}`;
  if (typeof shadows.coverage === "number") addFact("Of the program", format.percent(shadows.coverage, 1), bounds);
}

function sumOf(counts) {
  return Object.values(counts || {}).reduce((sum, n) => sum + n, 0);
}

function reasons(counts) {
  return Object.entries(counts || {})
    .filter(([, n]) => n > 0)
    .map(([reason, n]) => `${reason}: ${format.count(n)}`)
    .join(", ");
}

// What ran under the engine; true if that was the whole run, so that nothing was sampled.
function showEngine(data) {
  if (!data.carrier) return false;
  addFact("Engine", `${data.carrier}, ${data.tool}`, "Carrier and tool");
  if (typeof data.instructions === "number") addFact("Instructions", format.count(data.instructions));
  addFact(
    "Slowdown",
    data.slowdown ? `${data.slowdown.toFixed(2)} times` : "not known",
    "CPU time relative to the native run (record --baseline)",
  );
  if (sumOf(data.stopped) > 0) addWarning(`The engine stopped: ${reasons(data.stopped)}.`, "remark");
  return data.exact;
}

function showCoverage(coverage) {
  const share = format.percent(coverage.percent, 100);
  const all = format.duration(coverage.cpu_ns);
  addFact("Covered", share, `Of ${all}, the CPU time that the kernel accounts to the program and to what it waited for`);
  if (!coverage.lacking) return;
  const parts = [];
  if (coverage.early_ns > coverage.cpu_ns / 50)
    parts.push(
      `${format.duration(coverage.early_ns)} were used before sampling could begin: exec, the loader, Penumbra's own beginning`,
    );
  if (coverage.beyond_ns > coverage.cpu_ns / 50)
    parts.push(
      `${format.duration(coverage.beyond_ns)} are in no thread's account: the ends of processes, and programs that are not recorded`,
    );
  addWarning(`Samples stand for ${share} of the CPU time, ${all}${parts.length ? `: ${parts.join("; ")}` : ""}.`);
}

// Stacks that may be wrong, and what is in none.
function showGaps(data, samples) {
  const guessed = data.guessed || 0;
  if (guessed > WORTH_A_WARNING * samples)
    addWarning(
      `${format.percent(guessed, samples)} of the stacks have a guessed frame (code without unwind information): ` +
        `callers beyond it may be wrong.`,
    );
  const left = (data.processes || []).map((process) => process.sandbox).filter((sandbox) => sandbox);
  const threads = left.reduce((sum, sandbox) => sum + sandbox.threads, 0);
  const processes = left.reduce((sum, sandbox) => sum + sandbox.processes, 0);
  if (threads || processes)
    addWarning(
      `Made in a sandbox (seccomp, no_new_privs), and not in this profile: threads: ${format.count(threads)}, ` +
        `processes: ${format.count(processes)}.`,
    );
}

function showHeader(data) {
  element("facts").replaceChildren();
  for (const item of element("warnings").querySelectorAll("p")) item.remove();
  const weight = data.samples || 0;
  const samples = data.taken ?? weight;
  // Drops and stacks are those of the trigger: of the heap, of all that was allocated.
  const sampled = data.metrics?.[0]?.weight ?? weight;
  const dropped = typeof data.dropped === "number" ? data.dropped : sumOf(data.dropped);
  const truncated = typeof data.truncated === "number" ? data.truncated : sumOf(data.truncated);
  const why = typeof data.dropped === "object" ? reasons(data.dropped) : "";
  element("command").textContent = data.command || "";
  element("command").title = data.command || "";
  const exact = showEngine(data);
  const unit = data.unit === "nanoseconds" ? "" : ` ${data.unit || "events"}`;
  const period = data.unit === "nanoseconds" ? format.duration(data.period) : format.count(data.period || 0);
  if (!exact) {
    addFact("Trigger", data.trigger || "?", "What a sample is taken of");
    if (data.period) addFact("Period", `${period}${unit}`, "What one sample stands for, on average");
  }
  if (data.shadows) showShadows(data.shadows);
  else if (!exact) {
    addFact("Samples", format.count(samples));
    if (weight !== samples)
      addFact("Weight", format.count(weight), "A sample that came late stands for several periods");
    if (data.period) addFact("Observed", format.cost(weight, data), "Weight times period");
  }
  if (data.duration_ns) addFact("Duration", format.duration(data.duration_ns));
  if (!exact && !data.shadows) {
    addFact("Dropped", `${format.count(dropped)} (${format.percent(dropped, sampled + dropped)})`, why);
    addFact(
      "Incomplete stacks",
      `${format.count(truncated)} (${format.percent(truncated, sampled)})`,
      "Under the frame [truncated]",
    );
  }
  if (data.coverage) showCoverage(data.coverage);
  if (dropped > WORTH_A_WARNING * (sampled + dropped))
    addWarning(
      `${format.percent(dropped, sampled + dropped)} of the samples were dropped` +
        `${why ? ` (${why})` : ""}: the numbers below leave them out.`,
    );
  if (truncated > WORTH_A_WARNING * sampled)
    addWarning(
      `${format.percent(truncated, sampled)} of the stacks are incomplete: they are under ` +
        `the frame [truncated], not under the function that they came from.`,
    );
  showGaps(data, samples);
  for (const list of [data.notes, data.warnings])
    for (const line of Array.isArray(list) ? list : (list || "").split("\n"))
      if (line !== "") addWarning(line, "remark");
  closeWarnings();
}

// The threads by what was sampled in them; hidden if that is not known, or there is one.
function showThreads(data, flat, select) {
  const samples = samplesByThread(flat);
  const sampled = (data.threads || [])
    .map((thread, at) => ({ ...thread, at, samples: samples.get(at) || 0 }))
    .filter((thread) => thread.samples > 0);
  select.hidden = sampled.length < 2;
  select.length = 1; // all threads
  if (select.hidden) return;
  const all = sampled.reduce((sum, thread) => sum + thread.samples, 0);
  for (const thread of sampled.sort((a, b) => b.samples - a.samples)) {
    const option = document.createElement("option");
    option.value = thread.at;
    option.textContent = `${thread.name || "thread"} ${thread.tid}: ${format.percent(thread.samples, all)}`;
    select.append(option);
  }
}

// What the whole amounts to, by each metric; hidden if there is one.
function showMetrics(reports) {
  const select = element("metric");
  element("metrics").hidden = reports.length < 2;
  for (const data of reports) {
    const option = document.createElement("option");
    option.value = data.metric;
    option.textContent = `${data.metric}: ${format.cost(data.samples || 0, data) || format.count(data.samples)}`;
    select.append(option);
  }
}

function showLegend(palette, images) {
  const named = images.filter((image) => image !== "");
  const entry = (label, color) => {
    const item = document.createElement("li");
    const swatch = document.createElement("i");
    swatch.style.background = color;
    item.append(swatch, label);
    return item;
  };
  const shown = named.slice(0, LEGEND_ENTRIES).map((image) => entry(image, palette.swatch(image)));
  if (named.length > LEGEND_ENTRIES) {
    const more = document.createElement("li");
    more.textContent = `and ${named.length - LEGEND_ENTRIES} more`;
    shown.push(more);
  }
  element("legend").replaceChildren(...shown);
}

class Page {
  // reports: one a metric; the first is shown at first.
  constructor(reports) {
    this.reports = reports;
    this.trees = new Map(); // of the reports that have been shown
    this.palette = new Palette();
    this.state = readState();
    this.graph = new Graph({
      host: element("graph"),
      tip: element("tip"),
      palette: this.palette,
      events: {
        onZoom: (path) => this.change({ zoom: path, frame: "" }),
        onFrame: (text, frame) => this.showFrame(text, frame),
        onChoose: (path) => this.keep({ frame: path }),
      },
    });
    element("graph").frames = () => this.graph.frames();
    this.copy = new CopyButton(element("copy"), this.graph);
    this.timeline = new Timeline({
      section: element("when"),
      tip: element("tip"),
      events: { onRange: (range) => this.change({ time: range ? formatRange(range) : "" }) },
    });
    this.table = new FunctionTable({
      table: element("functions"),
      more: element("more"),
      palette: this.palette,
      onPick: (name) => this.pick(name),
    });
    this.cycles = new Cycles(element("cycles"));
    this.annotated = new Annotated(element("annotated"));
    this.paths = new PathTable({
      section: element("paths"),
      table: element("path-table"),
      more: element("more-paths"),
      onPick: (path) => this.annotated.draw(path),
    });
    this.semi = new SemiTable({
      section: element("semi"),
      table: element("semi-table"),
      more: element("more-semi"),
    });
    showMetrics(reports);
    onSchemeChange(() => {
      showLegend(this.palette, this.images);
      this.graph.resize();
    });
    this.listen();
    this.show();
  }

  // By another metric: all but the graph and the functions, which show() draws.
  turn(data) {
    if (!this.trees.has(data)) this.trees.set(data, unpack(data));
    this.data = this.graph.data = this.table.data = data;
    this.whole = this.trees.get(data);
    this.images = imagesBySelf(this.whole);
    this.palette.add(this.images);
    showHeader(data);
    this.timeline.turn(data);
    showThreads(data, this.whole, element("thread"));
    showLegend(this.palette, this.images);
    this.annotated.show(data.annotated, data.simulated?.causes);
    this.paths.show(data.paths);
    this.semi.show(data.semi_invariant);
  }

  listen() {
    element("metric").addEventListener("change", (event) => {
      const metric = event.target.value === this.reports[0].metric ? "" : event.target.value;
      this.change({ metric, zoom: "", frame: "" });
    });
    for (const name of ["view", "shape"])
      for (const button of document.querySelectorAll(`[data-${name}]`))
        button.addEventListener("click", () => this.change({ [name]: button.dataset[name], zoom: "", frame: "" }));
    for (const button of document.querySelectorAll("[data-when]"))
      button.addEventListener("click", () => this.change({ when: button.dataset.when }));
    element("whole").addEventListener("click", () => this.change({ time: "" }));
    element("search").addEventListener("input", (event) => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.change({ search: event.target.value }, false), TYPING_PAUSE);
    });
    element("reset").addEventListener("click", () =>
      this.change({ search: "", zoom: "", frame: "", thread: null, time: "" }),
    );
    element("thread").addEventListener("change", (event) =>
      this.change({ thread: event.target.value === "" ? null : Number(event.target.value), zoom: "", frame: "" }),
    );
    window.addEventListener("popstate", () => {
      this.state = readState();
      this.show();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input")) return;
      event.preventDefault();
      element("search").focus();
    });
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return; // a phone's keyboard
      width = window.innerWidth;
      clearTimeout(this.resizing);
      this.resizing = setTimeout(() => {
        this.graph.resize();
        this.timeline.resize();
      }, 100);
    });
  }

  // undo: Back leads to what is shown now.
  change(changes, undo = true) {
    clearTimeout(this.typing);
    Object.assign(this.state, changes);
    writeState(this.state, undo);
    this.show();
  }

  // The address only: what it says is shown already.
  keep(changes) {
    Object.assign(this.state, changes);
    writeState(this.state, false);
  }

  pick(name) {
    const search = `=${name}`;
    this.change({ search: this.state.search === search ? "" : search });
    element("graph").scrollIntoView({ block: "nearest" });
  }

  // Brings the page to the state: what is as it should be is left alone.
  show() {
    const { metric, view, shape, search, time, when } = this.state;
    const data = this.reports.find((report) => report.metric === metric) || this.reports[0];
    if (data !== this.data) this.turn(data);
    if (![...element("thread").options].some((option) => option.value === String(this.state.thread))) this.state.thread = null;
    const { thread } = this.state;
    this.timeline.show(when, thread, this.range());
    const drawn = `${this.reports.indexOf(data)} ${view} ${shape} ${thread} ${time}`;
    if (this.drawn !== drawn) this.draw();
    else this.graph.zoom(this.state.zoom, this.state.frame);
    this.drawn = drawn;
    for (const [name, value] of Object.entries({ view, shape, when }))
      for (const button of document.querySelectorAll(`[data-${name}]`))
        button.setAttribute("aria-pressed", String(button.dataset[name] === value));
    element("whole").hidden = time === "";
    element("of-all").hidden =
      (thread === null && time === "") || ["paths", "semi", "annotated"].every((id) => element(id).hidden);
    if (document.activeElement !== element("search") || search !== element("search").value) element("search").value = search;
    element("metric").value = data.metric;
    element("thread").value = thread === null ? "" : String(thread);
    const searched = `${this.reports.indexOf(data)} ${search}`;
    if (this.searched !== searched) this.search();
    this.searched = searched;
  }

  // The part of the time that is shown; null: all of it, or it is not known when samples fell.
  range() {
    return this.timeline.times ? parseRange(this.state.time) : null;
  }

  // The tree of what is shown.
  part() {
    const { thread } = this.state;
    const range = this.range();
    if (range) return this.timeline.times.part(this.whole, range.from, range.to, thread);
    return thread === null ? this.whole : ofThread(this.whole, thread);
  }

  draw() {
    const { view, shape, zoom, frame, thread, time } = this.state;
    const flat = this.part();
    const build = view === "bottom-up" ? bottomUp : topDown;
    const root = build(flat, `all ${format.unit(this.data)}`);
    const listed = `${this.reports.indexOf(this.data)} ${thread} ${time}`;
    if (this.listed !== listed) {
      const known = flat === this.whole && this.data.functions;
      this.table.show(known || functionsOf(flat), flat.total[0]);
      this.cycles.show(this.data, flat);
    }
    this.listed = listed;
    // Where nothing but triggers of shadows was sampled there is no graph, and what they observed is below.
    const placed = !this.data.shadows || flat.key.some((key, i) => flat.self[i] > 0 && flat.frames[key].image !== "");
    element("empty").hidden = root.value > 0 && placed;
    element("empty").textContent = root.value > 0
      ? "Shadows are not of calling contexts: what they observed is below."
      : flat === this.whole
        ? "There are no samples in this profile."
        : "There are no samples in this part of the time.";
    element("graph").hidden = root.value === 0 || !placed;
    this.graph.draw(root, { icicle: shape === "icicle", bottomUp: view === "bottom-up", zoom, frame });
    this.flat = flat;
    this.showFound();
  }

  search() {
    const matches = matcher(this.state.search);
    this.graph.search(matches);
    this.table.mark(matches);
    this.showFound();
  }

  showFrame(text, frame) {
    element("detail").textContent = text;
    this.copy.show();
    this.cycles.choose(frame);
  }

  showFound() {
    const matches = matcher(this.state.search);
    const samples = matches ? found(this.flat, matches, this.state.view === "bottom-up") : 0;
    element("found").textContent = matches
      ? `${format.percent(samples, this.graph.total)} matched, ${format.count(samples)} ${format.unit(this.data)}`
      : "";
  }
}

const embedded = JSON.parse(element("profile").textContent);
if (embedded.database) new DatabasePanel(element("database"), element("tip"), embedded.database);
const profile = embedded.database ? embedded.report || embedded.diff : embedded;
if (!profile) showError(embedded.error);
else if (profile.contexts) new DiffPage(profile);
else new Page([profile].flat().flatMap(byCause));
