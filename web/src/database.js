// Above the page of `penumbra serve`: which time and which service of the database the report is of, and what it is
// compared with. Each choice is an address of its own, so that it can be kept, sent and gone back from.

import { onSchemeChange } from "./color.js";
import * as format from "./format.js";
import { LoadPlot } from "./load.js";

const SHOWN = 12; // services, at first
const LASTS = { "15m": "Last 15 minutes", "1h": "Last hour", "6h": "Last 6 hours", "24h": "Last day", "7d": "Last week", "30d": "Last 30 days" };
const LAST = "1h";
// What it can be compared with: how much earlier that was, in milliseconds.
const EARLIER = { before: (length) => length, day: () => 86400e3, week: () => 7 * 86400e3 };
const KEPT = ["view", "shape", "search"]; // of the hash

const moment = (ms) => `@${ms / 1000}`;
const rangeText = ({ from, to }) => `${moment(from)}..${moment(to)}`;

// As <input type="datetime-local"> has it: local time, to the second.
function localText(ms) {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60e3);
  return local.toISOString().slice(0, 19);
}

function cpuTime(seconds) {
  if (seconds >= 7200) return `${(seconds / 3600).toFixed(1)} h`;
  return format.duration(seconds * 1e9);
}

function option(value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = text;
  return made;
}

export class DatabasePanel {
  constructor(section, tip, data) {
    this.section = section;
    this.data = data;
    this.form = section.querySelector("form");
    this.fields = this.form.elements;
    this.hidden = true; // services after the first
    section.hidden = false;
    this.#dropToken();
    this.#times();
    this.#facts();
    this.#services();
    if (data.load)
      this.plot = new LoadPlot(section.querySelector(".plot"), tip, data, (range) => this.#dragged(range));
    else section.querySelector(".plot").hidden = true;
    this.#listen();
  }

  // It is in a cookie by now, and need not be where addresses are kept and sent.
  #dropToken() {
    const query = new URLSearchParams(location.search);
    if (!query.has("token")) return;
    query.delete("token");
    const text = query.toString();
    history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  }

  // ---- addresses

  // changes: to what is chosen; undefined: not any more.
  #query(time, changes = {}) {
    const query = new URLSearchParams(time);
    for (const [name, value] of Object.entries({ ...this.data.chosen, ...changes })) if (value !== undefined) query.set(name, value);
    return query;
  }

  // The time as it is given now: a relative one stays one.
  #time() {
    const query = new URLSearchParams(location.search);
    return [...query].filter(([name]) => ["last", "from", "to", "before", "after"].includes(name));
  }

  #go(query) {
    const hash = new URLSearchParams(location.hash.slice(1));
    for (const name of [...hash.keys()]) if (!KEPT.includes(name)) hash.delete(name);
    const text = hash.toString();
    location.assign(`/?${query}${text ? `#${text}` : ""}`);
  }

  #choose(changes) {
    this.#go(this.#query(this.#time(), changes));
  }

  #goRange(range, before = null) {
    if (!(range.to > range.from) || (before && !(before.to > before.from))) return;
    const time = before
      ? { before: rangeText(before), after: rangeText(range) }
      : { from: moment(range.from), to: moment(range.to) };
    this.#go(this.#query(time));
  }

  // ---- time

  #times() {
    const { data, fields } = this;
    const query = new URLSearchParams(location.search);
    const absolute = ["from", "to", "after"].some((name) => query.get(name));
    const last = absolute ? "" : query.get("last") || LAST;
    fields.last.append(...Object.entries(LASTS).map(([value, text]) => option(value, text)));
    if (last && !(last in LASTS)) fields.last.append(option(last, `Last ${last}`));
    fields.last.value = last;
    if (data.range) this.#fill(fields.from, fields.to, data.range);
    if (data.before) this.#fill(fields.before_from, fields.before_to, data.before);
    fields.compare.value = this.#compared();
    this.#showBefore();
    const download = this.section.querySelector("#download");
    download.hidden = !data.range || Boolean(data.before);
    download.href = `/api/profile.pnb?${this.#query(this.#time())}`;
  }

  #fill(from, to, range) {
    from.value = localText(range.from);
    to.value = localText(range.to);
  }

  #compared() {
    const { range, before } = this.data;
    if (!before) return "";
    const close = (a, b) => Math.abs(a - b) < 2000;
    const found = Object.entries(EARLIER).find(([, by]) => {
      const shift = by(range.to - range.from);
      return close(before.from + shift, range.from) && close(before.to + shift, range.to);
    });
    return found ? found[0] : "other";
  }

  #showBefore() {
    const { fields, section } = this;
    section.querySelector("#before").hidden = fields.compare.value === "";
    section.querySelector("#drag").hidden = fields.compare.value === "";
  }

  #read(from, to) {
    const ends = [from, to].map((field) => new Date(field.value).getTime());
    return { from: ends[0], to: ends[1] };
  }

  // What a field says, exactly where it was not changed.
  #ranges() {
    const { data, fields } = this;
    const of = (from, to, known) => {
      const range = this.#read(from, to);
      const same = (a, b) => Math.floor(a / 1000) === Math.floor(b / 1000);
      return known && same(range.from, known.from) && same(range.to, known.to) ? known : range;
    };
    return {
      range: of(fields.from, fields.to, data.range),
      before: fields.compare.value === "" ? null : of(fields.before_from, fields.before_to, data.before),
    };
  }

  #compare() {
    const { fields, data } = this;
    const { range } = this.#ranges();
    const by = EARLIER[fields.compare.value];
    this.#showBefore();
    if (fields.compare.value === "") {
      if (data.before) this.#goRange(range);
      return;
    }
    const shift = (by || EARLIER.before)(range.to - range.from);
    const before = { from: range.from - shift, to: range.to - shift };
    this.#fill(fields.before_from, fields.before_to, before);
    if (by) this.#goRange(range, before);
  }

  #move(direction) {
    const { range, before } = this.#ranges();
    const by = direction * (range.to - range.from);
    const moved = ({ from, to }) => ({ from: from + by, to: to + by });
    this.#goRange(moved(range), before && moved(before));
  }

  #dragged(dragged) {
    const { range, before } = this.#ranges();
    if (this.dragsBefore && before) this.#goRange(range, dragged);
    else this.#goRange(dragged, before);
  }

  // ---- what it is of

  #facts() {
    const { data } = this;
    if (!data.intervals) return;
    const parts = [`${format.count(data.intervals)} interval${data.intervals === 1 ? "" : "s"}`, `${cpuTime(data.sampled_s)} sampled`];
    if (data.unclean) parts.push(`the daemon ended ${format.count(data.unclean)} times without notice`);
    if (data.missed_s) parts.push(`${cpuTime(data.missed_s)} could not be written`);
    if (data.lost) parts.push(`${format.count(data.lost)} samples lost`);
    parts.push(`the daemon used ${cpuTime(data.cost_s)} of CPU time`);
    this.section.querySelector("#of").textContent = parts.join(" · ");
  }

  #chip(text, share, title, pressed, onPick) {
    const button = document.createElement("button");
    const bar = document.createElement("i");
    button.type = "button";
    button.title = title;
    button.setAttribute("aria-pressed", String(pressed));
    bar.style.width = `${100 * share}%`;
    button.append(bar, text);
    button.addEventListener("click", onPick);
    return button;
  }

  // Rows by one of their fields, most first.
  #by(name, rows) {
    const sums = new Map();
    for (const row of rows) sums.set(row[name], (sums.get(row[name]) || 0) + row.seconds);
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  // Chips of what one field can be; the chosen one is always there.
  #chips(name, rows, all, without) {
    const { chosen } = this.data;
    const list = this.#by(name, rows);
    const shown = list.filter(([value], i) => i < SHOWN || !this.hidden || value === chosen[name]);
    const chips = shown.map(([value, seconds]) =>
      this.#chip(`${value} ${format.percent(seconds, all)}`, all > 0 ? seconds / all : 0,
        `${value}: ${cpuTime(seconds)} of CPU time`, value === chosen[name],
        () => this.#choose({ ...without, [name]: value === chosen[name] ? undefined : value })));
    return { chips, left: list.length - shown.length };
  }

  #services() {
    const { chosen, services = [], services_left: leftOut = 0 } = this.data;
    const all = services.reduce((sum, row) => sum + row.seconds, 0);
    const { chips, left } = this.#chips("service", services, all, { program: undefined });
    const list = this.section.querySelector("#services");
    list.replaceChildren(...chips);
    if (left > 0) {
      const more = document.createElement("button");
      more.type = "button";
      more.textContent = `${format.count(left)} more`;
      more.addEventListener("click", () => {
        this.hidden = false;
        this.#services();
      });
      list.append(more);
    }
    if (leftOut > 0) list.append(`and ${format.count(leftOut)} programs that used less`);
    const of = services.filter((row) => row.service === chosen.service);
    const programs = this.#chips("program", of, all, {});
    this.section.querySelector("#programs").replaceChildren(...(of.length > 1 || chosen.program ? programs.chips : []));
    this.#others(services);
  }

  // What else narrows the answer: hosts, if there are several, what only an address chooses, and what is not there.
  #others(services) {
    const { chosen } = this.data;
    const hosts = this.#by("host", services);
    const chips = hosts.length > 1 || chosen.host ? this.#chips("host", services, Infinity, {}).chips : [];
    for (const name of ["service", "program", "binary", "function"])
      if (chosen[name] !== undefined && !services.some((row) => row[name] === chosen[name]))
        chips.push(this.#chip(`${name}: ${chosen[name]} ×`, 0, "Take all", true, () => this.#choose({ [name]: undefined })));
    this.section.querySelector("#others").replaceChildren(...chips);
  }

  // ---- events

  #listen() {
    const { fields, form, section } = this;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { range, before } = this.#ranges();
      this.#goRange(range, before);
    });
    fields.last.addEventListener("change", () => {
      if (fields.last.value) this.#go(this.#query({ last: fields.last.value }));
    });
    fields.compare.addEventListener("change", () => this.#compare());
    for (const button of section.querySelectorAll("[data-move]"))
      button.addEventListener("click", () => this.#move(Number(button.dataset.move)));
    for (const button of section.querySelectorAll("[data-drag]"))
      button.addEventListener("click", () => {
        this.dragsBefore = button.dataset.drag === "before";
        for (const other of section.querySelectorAll("[data-drag]"))
          other.setAttribute("aria-pressed", String(other === button));
      });
    window.addEventListener("resize", () => this.plot?.resize());
    onSchemeChange(() => this.plot?.paint());
  }
}

// There is no report: only why.
export function showError(text) {
  for (const section of document.querySelectorAll("main > section:not(#database)")) section.hidden = true;
  const why = element("why");
  why.hidden = false;
  why.textContent = text;
}

function element(id) {
  return document.getElementById(id);
}
