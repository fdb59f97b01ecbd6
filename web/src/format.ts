// Numbers as people read them: the same texts as `dwell report` (crates/dwell-report/src/format.rs).

export function grouped(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function number(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) {
    return (value < 0 ? "-" : "") + grouped(Math.abs(value));
  }
  return value.toFixed(4);
}

export function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size >= 1) return `${value.toFixed(3)} s`;
  if (size >= 1e-3) return `${(value * 1e3).toFixed(3)} ms`;
  if (size >= 1e-6) return `${(value * 1e6).toFixed(1)} us`;
  return `${(value * 1e9).toFixed(0)} ns`;
}

export function bytes(value: number): string {
  const size = Math.abs(value);
  if (size < 1e4) return `${number(value)} B`;
  if (size < 1e7) return `${(value / 1e3).toFixed(1)} kB`;
  if (size < 1e10) return `${(value / 1e6).toFixed(1)} MB`;
  return `${(value / 1e9).toFixed(1)} GB`;
}

/** A value in its unit, as Cube names units. */
export function amount(value: number, unit: string): string {
  if (unit === "sec" || unit === "s") return seconds(value);
  if (unit === "bytes" || unit === "byte") return bytes(value);
  return number(value);
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : "new";
}

/** A difference, with its sign. */
export function signed(text: string, value: number): string {
  return value > 0 ? `+${text}` : text;
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
