// The page: reads the embedded profile, keeps the state that the address's hash shows
// (#view=bottom-up&shape=flame&search=...&zoom=ID), and connects the parts.

import { Annotated } from "./annotate.js";
import { Palette, onSchemeChange } from "./color.js";
import * as format from "./format.js";
import { Graph } from "./graph.js";
import { bottomUp, draw, flatten, imagesBySelf, matcher, topDown } from "./model.js";
import { PathTable } from "./paths.js";
import { FunctionTable } from "./table.js";
import { SemiTable } from "./values.js";

const element = (id) => document.getElementById(id);
const WORTH_A_WARNING = 0.01;
const LEGEND_ENTRIES = 8;

function readState() {
  const hash = new URLSearchParams(location.hash.slice(1));
  return {
    view: hash.get("view") === "bottom-up" ? "bottom-up" : "top-down",
    shape: hash.get("shape") === "flame" ? "flame" : "icicle",
    search: hash.get("search") || "",
    zoom: Number(hash.get("zoom")) || 0,
  };
}

function writeState(state) {
  const hash = new URLSearchParams();
  if (state.view !== "top-down") hash.set("view", state.view);
  if (state.shape !== "icicle") hash.set("shape", state.shape);
  if (state.search) hash.set("search", state.search);
  if (state.zoom) hash.set("zoom", state.zoom);
  const text = hash.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
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
  return data.carrier === "exact";
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
  const weight = data.samples || 0;
  const samples = data.taken ?? weight;
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
    addFact("Samples", format.count(samples));
    if (weight !== samples)
      addFact("Weight", format.count(weight), "A sample that came late stands for several periods");
    if (data.period) addFact("Observed", format.cost(weight, data), "Weight times period");
  }
  if (data.duration_ns) addFact("Duration", format.duration(data.duration_ns));
  if (!exact) {
    addFact("Dropped", `${format.count(dropped)} (${format.percent(dropped, weight + dropped)})`, why);
    addFact(
      "Incomplete stacks",
      `${format.count(truncated)} (${format.percent(truncated, weight)})`,
      "Under the frame [truncated]",
    );
  }
  if (data.coverage) showCoverage(data.coverage);
  if (dropped > WORTH_A_WARNING * (weight + dropped))
    addWarning(
      `${format.percent(dropped, weight + dropped)} of the samples were dropped` +
        `${why ? ` (${why})` : ""}: the numbers below leave them out.`,
    );
  if (truncated > WORTH_A_WARNING * weight)
    addWarning(
      `${format.percent(truncated, weight)} of the stacks are incomplete: they are under ` +
        `the frame [truncated], not under the function that they came from.`,
    );
  showGaps(data, samples);
  for (const list of [data.notes, data.warnings])
    for (const line of Array.isArray(list) ? list : (list || "").split("\n"))
      if (line !== "") addWarning(line, "remark");
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
  const shown = named.slice(0, LEGEND_ENTRIES).map((image) => entry(image, palette.fill(image, "", false)));
  if (named.length > LEGEND_ENTRIES) {
    const more = document.createElement("li");
    more.textContent = `and ${named.length - LEGEND_ENTRIES} more`;
    shown.push(more);
  }
  element("legend").replaceChildren(...shown);
}

class Page {
  constructor(data) {
    this.data = data;
    this.flat = flatten(data.tree || { name: "all", children: [] });
    const images = imagesBySelf(this.flat);
    this.palette = new Palette(images.filter((image) => image !== ""));
    this.all = this.flat.total[0];
    this.state = readState();
    this.graph = new Graph({
      host: element("graph"),
      tip: element("tip"),
      palette: this.palette,
      data,
      events: {
        onZoom: (id) => this.change({ zoom: id }, false),
        onSearch: (samples, all) => this.showFound(samples, all),
        onFrame: (text) => (element("detail").textContent = text),
      },
    });
    this.table = new FunctionTable({
      table: element("functions"),
      more: element("more"),
      functions: [...(data.functions || [])],
      data,
      all: this.all,
      palette: this.palette,
      onPick: (name) => this.pick(name),
    });
    showHeader(data);
    const annotated = new Annotated(element("annotated"), data.annotated);
    new PathTable({
      section: element("paths"),
      table: element("path-table"),
      more: element("more-paths"),
      paths: data.paths,
      onPick: (path) => annotated.draw(path),
    });
    new SemiTable({
      section: element("semi"),
      table: element("semi-table"),
      more: element("more-semi"),
      places: data.semi_invariant,
    });
    showLegend(this.palette, images);
    onSchemeChange(() => {
      showLegend(this.palette, images);
      this.draw();
    });
    this.listen();
    this.draw();
  }

  listen() {
    for (const name of ["view", "shape"])
      for (const button of document.querySelectorAll(`[data-${name}]`))
        button.addEventListener("click", () => this.change({ [name]: button.dataset[name], zoom: 0 }));
    element("search").addEventListener("input", (event) => {
      this.state.search = event.target.value;
      writeState(this.state);
      this.search();
    });
    element("reset").addEventListener("click", () => {
      this.graph.reset();
      this.change({ search: "", zoom: 0 });
    });
    window.addEventListener("hashchange", () => {
      this.state = readState();
      this.draw();
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
      this.resizing = setTimeout(() => this.draw(), 100);
    });
  }

  change(changes, redraw = true) {
    Object.assign(this.state, changes);
    writeState(this.state);
    if (redraw) this.draw();
  }

  pick(name) {
    const search = `=${name}`;
    this.change({ search: this.state.search === search ? "" : search });
    element("graph").scrollIntoView({ block: "nearest" });
  }

  draw() {
    const { view, shape, zoom, search } = this.state;
    const build = view === "bottom-up" ? bottomUp : topDown;
    const { root, hidden, share } = draw(build, this.flat, "all samples");
    for (const button of document.querySelectorAll("[data-view]"))
      button.setAttribute("aria-pressed", String(button.dataset.view === view));
    for (const button of document.querySelectorAll("[data-shape]"))
      button.setAttribute("aria-pressed", String(button.dataset.shape === shape));
    element("search").value = search;
    element("empty").hidden = root.value > 0;
    element("graph").hidden = root.value === 0;
    this.graph.draw(root, { icicle: shape === "icicle", bottomUp: view === "bottom-up" });
    element("hidden").textContent =
      hidden > 0 && share > 0
        ? `Not drawn: frames under ${100 * share}% (${format.count(hidden)}).`
        : "";
    if (search) this.search();
    else this.clearFound();
    if (zoom) this.graph.zoom(zoom);
  }

  search() {
    const matches = matcher(this.state.search);
    this.graph.search(matches);
    this.table.mark(matches);
    if (!matches) this.clearFound();
  }

  clearFound() {
    this.graph.matches = null;
    this.table.mark(null);
    element("found").textContent = "";
  }

  showFound(samples, all) {
    element("found").textContent = `${format.percent(samples, all)} matched, ${format.count(samples)} ${format.unit(this.data)}`;
  }
}

new Page(JSON.parse(element("profile").textContent));
