// A color for each image, varied a little by name.

// Hue, saturation and lightness, for light pages and dark ones. They differ in lightness, too, so that eyes that miss
// red, green or blue tell them apart (Machado, Oliveira and Fernandes 2009), and text on them is read.
const COLORS = [
  { light: [208, 65, 72], dark: [218, 60, 25] },
  { light: [49, 68, 58], dark: [38, 60, 31] },
  { light: [157, 68, 62], dark: [174, 53, 22] },
  { light: [331, 39, 61], dark: [312, 48, 20] },
  { light: [188, 68, 88], dark: [214, 60, 42] },
  { light: [6, 60, 62], dark: [5, 42, 42] },
  { light: [65, 68, 76], dark: [46, 47, 20] },
  { light: [252, 68, 71], dark: [258, 59, 43] },
];
const VARIED = 2.5; // of lightness, up and down

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h >>> 0) / 4294967296;
}

export function onSchemeChange(then) {
  dark.addEventListener("change", then);
}

// From none (0) to most (1): lighter to darker, on dark pages the other way round.
export function heat(share) {
  const strength = Math.sqrt(share); // what is rare is seen, too
  return dark.matches
    ? `hsl(${(215 - 165 * strength).toFixed(0)} 65% ${(20 + 58 * strength).toFixed(1)}%)`
    : `hsl(215 62% ${(90 - 64 * strength).toFixed(1)}%)`;
}

export class Palette {
  constructor() {
    this.colors = new Map();
  }

  // Those that have a color keep it; the others get one while there are any.
  add(images) {
    for (const image of images)
      if (image !== "" && !this.colors.has(image) && this.colors.size < COLORS.length)
        this.colors.set(image, COLORS[this.colors.size]);
  }

  // Gray for no image, and for one that is past the list of colors.
  #of(image) {
    const gray = { light: [0, 0, image ? 78 : 86], dark: [0, 0, image ? 32 : 24] };
    return (this.colors.get(image) ?? gray)[dark.matches ? "dark" : "light"];
  }

  fill(image, name, dimmed) {
    const [hue, saturation, lightness] = this.#of(image);
    const varied = lightness + (hash(name) - 0.5) * 2 * VARIED;
    if (!dimmed) return `hsl(${hue} ${saturation}% ${varied.toFixed(1)}%)`;
    return `hsl(${hue} ${saturation / 5}% ${(dark.matches ? varied - 4 : varied + 6).toFixed(1)}%)`;
  }

  // The middle of an image's colors.
  swatch(image) {
    const [hue, saturation, lightness] = this.#of(image);
    return `hsl(${hue} ${saturation}% ${lightness}%)`;
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
