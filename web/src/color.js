// A hue for each image, a lightness for each name.

const HUES = [210, 28, 145, 275, 185, 340, 55, 245, 95, 310];

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h >>> 0) / 4294967296;
}

export function onSchemeChange(then) {
  dark.addEventListener("change", then);
}

export class Palette {
  constructor() {
    this.hues = new Map();
  }

  // Those that have a hue keep it; the others get one while there are any.
  add(images) {
    for (const image of images)
      if (image !== "" && !this.hues.has(image) && this.hues.size < HUES.length)
        this.hues.set(image, HUES[this.hues.size]);
  }

  // Gray for no image; a paler color by its name for one that is past the list of hues.
  fill(image, name, dimmed) {
    const vary = hash(name) * 10;
    const hue = (this.hues.get(image) ?? hash(image) * 360) + (hash(`${name}/`) - 0.5) * 24;
    const strong = dark.matches ? 42 : 62;
    const saturation = !image ? 0 : dimmed ? 14 : this.hues.has(image) ? strong : strong / 2;
    const lightness = dark.matches ? 34 + vary - (dimmed ? 8 : 0) : 72 + vary + (dimmed ? 6 : 0);
    return `hsl(${hue.toFixed(0)} ${saturation}% ${lightness.toFixed(1)}%)`;
  }

  highlight() {
    return dark.matches ? "hsl(48 95% 45%)" : "hsl(48 100% 58%)";
  }
}

// What changed: red for more, blue for less, which color-blind eyes tell apart; the stronger, the greater the change.
// Gray: not more than chance.
const MORE = [14, 88];
const LESS = [212, 82];

export class DiffPalette {
  fill(image, name, dimmed, { row }) {
    return this.#of(row.total, dimmed);
  }

  #of(change, dimmed) {
    const { before, difference, significant } = change;
    if (!significant) return dark.matches ? `hsl(0 0% ${dimmed ? 22 : 30}%)` : `hsl(0 0% ${dimmed ? 93 : 86}%)`;
    const [hue, saturation] = difference > 0 ? MORE : LESS;
    const half = 0.5; // a change by so much of what was is as strong as any
    const strength = before > 0 ? Math.min(1, Math.abs(difference / before) / half) : 1;
    const lightness = dark.matches ? 26 + 16 * strength : 87 - 22 * strength;
    return `hsl(${hue} ${dimmed ? saturation / 3 : saturation}% ${lightness.toFixed(1)}%)`;
  }

  highlight() {
    return new Palette().highlight();
  }

  legend() {
    const of = (before, after) => this.#of({ before, difference: after - before, significant: true }, false);
    return [
      ["+ appeared, or half as much again", of(0, 1)],
      ["a little more", of(20, 21)],
      ["not more than chance", this.#of({ significant: false }, false)],
      ["a little less", of(20, 19)],
      ["\u2212 gone, or half as much", of(1, 0)],
    ];
  }
}
