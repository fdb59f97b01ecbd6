// Numbers as people read them. The terminal has the same texts (crates/dwell-model/src/units.rs): tests of both sides read
// tests/data/units.tsv.

/** A number with this many digits behind the point. Halfway between two, it is the even one, as in the terminal. */
function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  // Halfway means an odd number of halves of the last digit, which is exact in binary. `toFixed` rounds these up.
  const halfway = Math.abs((value * 2 ** (digits + 1)) % 2) === 1;
  if (!halfway || Number(text.slice(-1)) % 2 === 0) return text;
  return (value - Math.sign(value) * 0.25 * 10 ** -digits).toFixed(digits);
}

export function grouped(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A number with this many digits behind the point, and those before it in groups of three. */
function groupedFixed(value: number, digits: number): string {
  const [whole, rest] = fixed(Math.abs(value), digits).split(".");
  const text = whole!.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${value < 0 ? "-" : ""}${text}${rest === undefined ? "" : `.${rest}`}`;
}

export function number(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) {
    return (value < 0 ? "-" : "") + grouped(Math.abs(value));
  }
  return threeDigits(value);
}

/** A number with three significant digits, but no more than four digits behind the point. */
function threeDigits(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.09995 ? 3 : 4;
  return groupedFixed(value, digits);
}

export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size >= 6e3) return `${threeDigits(value / 3600)} h`;
  if (size >= 600) return `${threeDigits(value / 60)} min`;
  if (size >= 0.9995) return `${threeDigits(value)} s`;
  if (size >= 0.9995e-3) return `${threeDigits(value / 1e-3)} ms`;
  if (size >= 0.9995e-6) return `${threeDigits(value / 1e-6)} µs`;
  return `${fixed(value / 1e-9, 0)} ns`;
}

export function bytes(value: number): string {
  const size = Math.abs(value);
  if (size < 10 * 2 ** 10) return `${number(value)} B`;
  if (size < 10 * 2 ** 20) return `${fixed(value / 2 ** 10, 1)} KiB`;
  if (size < 10 * 2 ** 30) return `${fixed(value / 2 ** 20, 1)} MiB`;
  if (size < 10 * 2 ** 40) return `${fixed(value / 2 ** 30, 1)} GiB`;
  return `${groupedFixed(value / 2 ** 40, 1)} TiB`;
}

/** A value in its unit, as Cube names units. */
export function amount(value: number, unit: string): string {
  if (unit === "sec" || unit === "s") return seconds(value);
  if (unit === "bytes" || unit === "byte") return bytes(value);
  if (unit === "bytes/s") return `${bytes(Math.round(value))}/s`;
  return number(value);
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${fixed(100 * share, 1)} %` : "new";
}

/** A time between two bounds, or one time if both read the same. */
export function bounds(least: number, most: number): string {
  const [low, high] = [seconds(least), seconds(most)];
  const [[number, unit], [other, unitOfHigh]] = [low.split(" "), high.split(" ")];
  const isShort = least === 0 || unit === unitOfHigh;
  return isShort && number === other ? high : `${isShort ? number : low} to ${high}`;
}

/** A share between two bounds, or one if both read the same. A share above 0 never reads as 0. */
export function percents(least: number, most: number): string {
  const [low, high] = [percent(least), percent(most)];
  if (low !== high) return `${low.replace(" %", "")} to ${high}`;
  return low === "0.0 %" && most > 0 ? "below 0.1 %" : low;
}

/** A difference, with its sign. */
export function signed(text: string, value: number): string {
  return value > 0 ? `+${text}` : text;
}

/** An amount in a few letters, for places where there is no room: three digits tell enough there. */
export function short(value: number, unit: string): string {
  const text = amount(value, unit);
  const [, digits, rest] = /^(-?[\d,.]+)(.*)$/.exec(text) ?? [];
  if (digits === undefined || rest === undefined) return text;
  const size = Number(digits.replaceAll(",", ""));
  if (!Number.isFinite(size) || !digits.includes(".")) return text;
  return `${size.toFixed(Math.abs(size) >= 100 ? 0 : Math.abs(size) >= 10 ? 1 : 2)}${rest}`;
}

/** Marks of an axis from 0 to a value, about as many as wanted: one unit, and no more digits than they need. */
export function marks(most: number, wanted: number): { at: number; text: string }[] {
  if (!(most > 0)) return [];
  const least = most / wanted;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((it) => it * power >= least * (1 - 1e-9)) ?? 10);
  const [unit, name] = most >= 6000 ? [3600, "h"] : most >= 600 ? [60, "min"] : most >= 0.1 ? [1, "s"] : most >= 1e-4 ? [1e-3, "ms"] : most >= 1e-7 ? [1e-6, "µs"] : [1e-9, "ns"];
  const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, at) => ({ at: at * step, text: at === 0 ? "0" : `${((at * step) / unit).toFixed(digits)} ${name}` }));
}

/** A change in the unit of what changed; equal values have none. */
export function change(delta: number, unit: string): string {
  return delta === 0 ? "=" : signed(amount(delta, unit), delta);
}

export function share(value: number, total: number): number {
  return total === 0 ? 0 : value / total;
}

/** A title without what the one above it says already. */
export function below(title: string, above: string | undefined): string {
  return above && title.startsWith(`${above} `) ? title.slice(above.length + 1) : title;
}

/** Where a call is: file and line, or the caller where the file is not known. */
export function site(call: { file: string | null; line: number | null } | undefined): string {
  if (!call?.file) return "";
  if (call.line) return `${fileName(call.file)}:${call.line}`;
  // Of an address the end tells more than the module.
  const address = /\+0x[0-9a-f]+$/.exec(call.file);
  return address ? `…${address[0]}` : fileName(call.file);
}

/** The end of a path of files. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Names without what all of them begin with, if something is left of each: `0`, `1` for `PE 0`, `PE 1`. */
export function withoutCommon(names: string[]): { common: string; rest: string[] } {
  const first = names[0] ?? "";
  let length = first.length;
  for (const name of names) while (length > 0 && !name.startsWith(first.slice(0, length))) length -= 1;
  // Digits belong together.
  while (length > 0 && /\d/.test(first[length - 1] ?? "")) length -= 1;
  if (names.length < 2 || names.some((name) => name.length === length)) return { common: "", rest: names };
  const common = first.slice(0, length);
  return { common: common.trim(), rest: names.map((name) => name.slice(length).replaceAll(common, "")) };
}
