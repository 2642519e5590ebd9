// Sampled values: what stands beside an instruction, and the list of places worth specializing.

import * as format from "./format.js";

const SHOWN_AT_FIRST = 25;
const TOP = 3;
const PICTURED = 1000;

// "19 of 19", or of more than can be pictured a share.
function invariance(hotlist) {
  const { kept, same } = hotlist;
  return kept < PICTURED ? `${same} of ${kept}` : format.percent(hotlist.invariance, 1);
}

// A hotlist in one line: "result ×120, 97.0% invariant: 10 97.0%, 7 3.00%"; without shares where they say nothing.
function line(hotlist) {
  const value = (shown) =>
    hotlist.spread || hotlist.values.length === 1 ? shown.text : `${shown.text} ${format.percent(shown.share, 1)}`;
  const one = hotlist.values.length === 1;
  const said = hotlist.spread ? "no value kept twice" : `${invariance(hotlist)} ${one ? "the same" : "invariant"}`;
  const item = document.createElement("div");
  const kind = document.createElement("b");
  const top = hotlist.values.slice(0, TOP).map(value).join(", ");
  const more = hotlist.values.length > TOP ? `, and ${hotlist.values.length - TOP} more` : "";
  kind.textContent = hotlist.site ? `${hotlist.kind} from ${hotlist.site}` : hotlist.kind;
  item.append(
    kind,
    ` \u00d7${format.count(hotlist.observed)}, ${said}: ${top}${more}`,
  );
  item.title = [
    `kept with probability ${hotlist.p.toPrecision(3)}`,
    ...hotlist.values.map(value),
  ].join("\n");
  return item;
}

// The cell beside an instruction; `hotlists` may be undefined.
export function fillValues(cell, hotlists) {
  cell.className = "values";
  cell.append(...(hotlists || []).map(line));
}

export class SemiTable {
  constructor({ section, table, more }) {
    Object.assign(this, { section, table, more });
    more.addEventListener("click", () => this.fill(this.places.length));
  }

  show(places) {
    this.places = places || [];
    this.section.hidden = this.places.length === 0;
    this.fill(SHOWN_AT_FIRST);
  }

  fill(limit) {
    const hidden = Math.max(0, this.places.length - limit);
    this.table.tBodies[0].replaceChildren(...this.places.slice(0, limit).map((place) => this.#row(place)));
    this.more.hidden = hidden === 0;
    this.more.textContent = `Show ${format.count(hidden)} more`;
  }

  #row(place) {
    const row = document.createElement("tr");
    const gain = row.insertCell();
    const bar = document.createElement("i");
    bar.style.width = `${100 * place.gain}%`;
    gain.append(bar, format.percent(place.gain, 1));
    row.insertCell().textContent = format.percent(place.time, 1);
    row.insertCell().textContent = invariance(place);
    row.insertCell().textContent = format.count(place.observed);
    for (const cell of row.cells) cell.className = "number";
    const where = row.insertCell();
    const code = document.createElement("code");
    const name = place.function ? format.shortName(place.function) : "";
    code.textContent = `${place.image}+${place.offset}`;
    where.className = "place";
    where.append(name ? `${name} ` : "", code, place.asm ? ` ${place.asm}` : "", place.used_at ? `; ${place.use} at ${place.used_at}` : "", place.at ? ` ${place.at}` : "");
    fillValues(row.insertCell(), [place]);
    return row;
  }
}
