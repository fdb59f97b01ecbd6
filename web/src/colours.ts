// Fixed meanings everywhere: Tol's vibrant colours for classes, one scale for amounts, and a diverging one for
// differences.

import { isDark } from "./state";

export const CLASS_COLOURS: Record<string, string> = {
  /** Computing is the quietest of all, near the colour of the page. */
  get compute() {
    return isDark() ? "#434d58" : "#bbbbbb";
  },
  put: "#0077bb",
  get: "#33bbee",
  atomic: "#6644aa",
  message: "#77aa33",
  collective: "#009988",
  lock: "#ee7733",
  io: "#ee3377",
  get runtime() {
    return isDark() ? "#7b8a99" : "#5f6b78";
  },
  wait: "#cc3311",
};

export const CLASS_NAMES: Record<string, string> = {
  compute: "Computing",
  put: "Put",
  get: "Get",
  atomic: "Atomic",
  message: "Messages",
  collective: "Collective",
  lock: "Locks, flags, fences",
  io: "Files",
  runtime: "Runtime, other",
  wait: "Waiting",
};

/** Words of the glossary that explain the classes. */
export const CLASS_TERMS: Record<string, string> = {
  compute: "computing",
  put: "put",
  get: "get",
  atomic: "atomic",
  message: "message",
  collective: "collective",
  lock: "lock",
  runtime: "runtime",
  wait: "wait",
};

type Rgb = readonly [number, number, number];

/** Amounts: nothing is the quietest, near the colour of the page, and the most is the loudest. */
const AMOUNTS: Record<"light" | "dark", readonly Rgb[]> = {
  light: [
    [238, 241, 244],
    [253, 231, 180],
    [251, 196, 120],
    [240, 149, 86],
    [217, 101, 72],
    [178, 60, 68],
    [128, 30, 66],
    [74, 14, 54],
  ],
  dark: [
    [34, 42, 51],
    [67, 40, 70],
    [113, 42, 82],
    [161, 52, 78],
    [203, 80, 64],
    [233, 122, 60],
    [248, 176, 82],
    [253, 231, 150],
  ],
};

/** Differences: no change is the quietest, less is blue and more is red. */
const DIVERGING: Record<"light" | "dark", readonly Rgb[]> = {
  light: [
    [0, 82, 147],
    [84, 140, 190],
    [169, 199, 222],
    [238, 241, 244],
    [243, 190, 160],
    [221, 119, 82],
    [168, 38, 20],
  ],
  dark: [
    [120, 190, 240],
    [70, 130, 180],
    [44, 82, 116],
    [34, 42, 51],
    [116, 56, 44],
    [196, 96, 70],
    [255, 160, 130],
  ],
};

function stops(of: Record<"light" | "dark", readonly Rgb[]>): readonly Rgb[] {
  return isDark() ? of.dark : of.light;
}

function scale(stops: readonly Rgb[], at: number): Rgb {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.floor(place);
  const a = stops[low] as Rgb;
  const b = stops[Math.min(low + 1, stops.length - 1)] as Rgb;
  const mix = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * (place - low));
  return [mix(0), mix(1), mix(2)];
}

function css([r, g, b]: Rgb): string {
  return `rgb(${r},${g},${b})`;
}

/** The colour of an amount between 0 and 1. */
export function amountColour(share: number): string {
  return css(scale(stops(AMOUNTS), share));
}

export function amountRgb(share: number): Rgb {
  return scale(stops(AMOUNTS), share);
}

/** The colour of a difference between -1 and 1: blue is less, red is more. */
export function differenceColour(share: number): string {
  return css(scale(stops(DIVERGING), (share + 1) / 2));
}

export function differenceRgb(share: number): Rgb {
  return scale(stops(DIVERGING), (share + 1) / 2);
}

/** The colour of text on another colour: the one of black and white that can be read. */
export function textOn([r, g, b]: readonly [number, number, number]): string {
  const linear = (part: number) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000" : "#fff";
}
