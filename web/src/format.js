// Numbers as people read them.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en-US");

export function count(n) {
  return whole.format(n);
}

// What need not be whole, as samples that are spread over time.
export function rounded(n) {
  return precise.format(Number(n.toPrecision(3)));
}

// A time since the recording began.
export function seconds(ns) {
  return `${Number((ns / 1e9).toFixed(ns < 10e9 ? 3 : 2))} s`;
}

export function percent(part, all) {
  if (!(all > 0)) return "–";
  const share = (100 * part) / all;
  return `${share.toFixed(share > 0 && share < 0.1 ? 3 : share < 10 ? 2 : 1)}%`;
}

export function duration(ns) {
  const units = [
    [60e9, "min"],
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
  ];
  // A unit begins where rounding would show a thousand of the smaller one.
  for (const [size, unit] of units)
    if (ns >= (unit === "min" ? 10 : 0.9995) * size) {
      const value = ns / size;
      return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
    }
  return `${Math.round(ns)} ns`;
}

// As the text reports show them.
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = n;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit > 0 && value < 100 ? value.toFixed(2) : value.toFixed(0)} ${units[unit]}`;
}

// A long C++ or Rust name without its template arguments: "std::map<…>::find(int)". Rust's
// "<Type as Trait>::method" stays as it is: what is in these brackets is its name.
export function shortName(name) {
  if (name.length < 40 || name.startsWith("<")) return name;
  let short = "";
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    const opens = c === "<" && !/operator *<?$/.test(name.slice(Math.max(0, i - 10), i));
    const closes = c === ">" && depth > 0 && name[i - 1] !== "-";
    if (opens && depth++ === 0) short += "<…>";
    else if (depth === 0) short += c;
    if (closes) depth--;
  }
  return depth === 0 ? short : name;
}

// What the numbers of the tree are.
export function unit(data) {
  return data.exact ? data.trigger : "samples";
}

// What `samples` samples stand for: a time, bytes, or a number of events.
export function cost(samples, data) {
  const period = data.period || 0;
  if (!period || data.exact) return "";
  if (data.unit === "nanoseconds") return duration(samples * period);
  if (data.unit === "bytes") return bytes(samples * period);
  return `${count(samples * period)} ${data.trigger || "events"}`;
}

// How many calls there were: "2", "100 to 106", or of cheap ones, of which others were not met, "77 seen".
export function calls(seen, costPerCall, data) {
  if (data.exact) return count(seen);
  const [low, high] = costPerCall?.all_calls || [];
  if (low === undefined) return `${count(seen)} seen`;
  return high > low ? `${count(low)} to ${count(high)}` : count(seen);
}

// Below this many times what a sample stands for an activation is about as short as that: others were not met at
// all.
const CHEAP = 2;

// What one call costs, by the mean number of samples of one; "< 1 ms" (what a sample stands for) of many cheap
// ones. Of exact calls: itself and those below it.
// costPerCall: as in the JSON, without an interval for calls from several places taken together.
export function call(costPerCall, data) {
  const inUnits = (samples) =>
    data.unit === "nanoseconds" ? cost(samples, data) : `${rounded(samples)} ${unit(data)}`;
  if (data.exact) return { mean: inUnits(costPerCall.samples), interval: "" };
  const weight = Math.max(1, data.samples_all / data.effective_samples || 1);
  if (costPerCall.samples < CHEAP * weight) return { mean: `< ${inUnits(weight)}`, interval: "" };
  const [low, high] = costPerCall.interval || [];
  return {
    mean: inUnits(costPerCall.samples),
    interval: low === undefined ? "" : `${low < CHEAP * weight ? `< ${inUnits(weight)}` : inUnits(low)} to ${inUnits(high)}`,
  };
}
