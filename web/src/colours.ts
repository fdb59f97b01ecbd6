// Fixed meanings everywhere: Tol's vibrant colours for classes, cividis for amounts, a diverging scale for
// differences.

export const CLASS_COLOURS: Record<string, string> = {
  compute: "#bbbbbb",
  put: "#0077bb",
  get: "#33bbee",
  atomic: "#6644aa",
  message: "#77aa33",
  collective: "#009988",
  lock: "#ee7733",
  io: "#ee3377",
  runtime: "#888888",
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

type Rgb = readonly [number, number, number];

const CIVIDIS: readonly Rgb[] = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

const DIVERGING: readonly Rgb[] = [
  [0, 82, 147],
  [84, 140, 190],
  [169, 199, 222],
  [240, 240, 240],
  [243, 190, 160],
  [221, 119, 82],
  [168, 38, 20],
];

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
  return css(scale(CIVIDIS, share));
}

export function amountRgb(share: number): Rgb {
  return scale(CIVIDIS, share);
}

/** The colour of a difference between -1 and 1: blue is less, red is more. */
export function differenceColour(share: number): string {
  return css(scale(DIVERGING, (share + 1) / 2));
}

export function differenceRgb(share: number): Rgb {
  return scale(DIVERGING, (share + 1) / 2);
}
