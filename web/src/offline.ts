// Answers about a timeline in an exported file: computed from the lists of all its slices, as the server computes them from its index.

import type {
  TimelineAbout, TimelineAt, TimelineCritical, TimelineDoing, TimelineRow, TimelineRows, TimelineSlices, TimelineTotals, TimelineWait, TimelineWaits,
  TimelineWhole,
} from "./types";

/** Slices of a row that are listed one by one, at most. */
const MOST_SLICES = 3000;
/** Doings of a location that are listed. */
const MOST_DOINGS = 12;
const MOST_TOTALS = 50;

type Embedded = Map<string, unknown>;

/** What a file has of the timeline of a run. */
export function wholeOf(embedded: Embedded | undefined, run: string): TimelineWhole | undefined {
  return embedded?.get(`runs/${run}/timeline/whole`) as TimelineWhole | undefined;
}

/** Answers a question about a timeline, if the file has the part of it that it is about. */
export function fromWhole(embedded: Embedded, question: string): unknown {
  const found = /^runs\/(\d+)\/timeline\/(\w+)\?(.*)$/.exec(question);
  if (!found) return undefined;
  const [, run, what, query] = found as unknown as [string, string, string, string];
  const whole = wholeOf(embedded, run);
  const about = embedded.get(`runs/${run}/timeline`) as TimelineAbout | undefined;
  if (!whole || about?.state !== "ready") return undefined;
  const parameters = new URLSearchParams(query);
  const number = (name: string, otherwise: number) => Number(parameters.get(name) ?? otherwise);
  const [from, to] = [number("from", 0), number("to", about.length)];
  if (parameters.has("only") || (whole.until < to && to <= about.length && what !== "rows" && what !== "at")) return undefined;
  const file = new Whole(whole, about);
  if (what === "at") return number("time", 0) < whole.until ? file.at(number("location", 0), number("time", 0)) : undefined;
  if (what === "critical") return file.critical(from, to);
  const rows = rowsOf(embedded, run, parameters, about.locations);
  if (!rows) return undefined;
  if (what === "rows") return { rows: rows.map((it) => file.row(it)), of: 0 } satisfies TimelineRows;
  if (what === "tile") return file.tile(rows, from, to, number("columns", 1024));
  if (what === "slices") return file.slices(rows, from, to);
  if (what === "totals") return file.totals(rows, from, to);
  if (what === "waits") return file.waits(rows, from, to, number("most", 2000), parameters.get("call"), parameters.get("pattern"));
  return undefined;
}

/** A row of the question: its key and its locations, as begins and ends of stretches. */
interface Asked {
  key: string;
  parts: number[];
}

function rowsOf(embedded: Embedded, run: string, parameters: URLSearchParams, locations: number): Asked[] | undefined {
  const text = parameters.get("rows");
  if (text === null) {
    const [first, end, band] = [Number(parameters.get("first") ?? 0), Math.min(locations, Number(parameters.get("end") ?? locations)), Math.max(1, Number(parameters.get("band") ?? 1))];
    const list: Asked[] = [];
    for (let at = first; at < end; at += band) {
      const last = Math.min(at + band, end);
      list.push({ key: last - at === 1 ? String(at) : `${at}-${last}`, parts: [at, last] });
    }
    return list;
  }
  const known = (embedded.get(`runs/${run}/timeline/rows?sort=alike`) as TimelineRows | undefined)?.rows ?? [];
  const list: Asked[] = [];
  for (const key of text.split(".")) {
    const row = known.find((it) => it.key === key);
    if (row) {
      list.push({ key, parts: row.parts.length > 0 ? row.parts : [row.first, row.end] });
      continue;
    }
    const parts = key.split("+").flatMap((it) => {
      const [first, end] = it.split("-").map(Number);
      return [first as number, end ?? (first as number) + 1];
    });
    if (parts.some((it) => !Number.isInteger(it) || it < 0 || it > locations)) return undefined;
    list.push({ key, parts });
  }
  return list;
}

function each(row: Asked, visit: (location: number) => void): void {
  for (let n = 0; n + 1 < row.parts.length; n += 2) {
    for (let it = row.parts[n] as number; it < (row.parts[n + 1] as number); it++) visit(it);
  }
}

class Whole {
  constructor(private readonly all: TimelineWhole, private readonly about: TimelineAbout) {}

  /** Visits the slices of a location that overlap a span, in the order of time. */
  private visit(location: number, from: number, to: number, what: (slice: number, begin: number, end: number) => void): void {
    const { ends, to: until, starts } = this.all;
    const [begin, end] = [location > 0 ? (ends[location - 1] as number) : 0, ends[location] ?? 0];
    let [low, high] = [begin, end];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((until[middle] as number) <= from) low = middle + 1;
      else high = middle;
    }
    let start = low === begin ? (starts[location] ?? 0) : (until[low - 1] as number);
    for (let slice = low; slice < end && start < to; slice++) {
      what(slice, start, until[slice] as number);
      start = until[slice] as number;
    }
  }

  private wait(location: number, slice: number, from: number, to: number): TimelineWait | null {
    const kind = this.all.wait[slice] as number;
    if (kind < 0) return null;
    const call = this.all.call[slice] as number;
    return { location, from, to, call: call < 0 ? null : call, title: this.about.waits[kind] ?? "", culprit: this.all.culprit[slice] as number };
  }

  row({ key, parts }: Asked): TimelineRow {
    const [first, end] = [parts[0] as number, parts.at(-1) as number];
    let count = 0;
    for (let n = 0; n + 1 < parts.length; n += 2) count += (parts[n + 1] as number) - (parts[n] as number);
    const names = [this.all.names[first] ?? "", this.all.names[end - 1] ?? ""];
    return {
      key, first, end, count, parts: parts.length > 2 ? parts : [], node: null, nodes: 0, differ: null, open: null,
      name: count === 1 ? (names[0] as string) : names.join("–"), seconds: 0, wait: 0, blame: 0, waited_for: false,
    };
  }

  /** Shares of classes in columns, as parts of 255. */
  tile(rows: Asked[], from: number, to: number, columns: number): Uint8Array {
    const classes = this.about.classes.length;
    const bytes = new Uint8Array(rows.length * columns * classes);
    const wide = (to - from) / columns;
    rows.forEach((row, number) => {
      const sums = new Float64Array(columns * classes);
      let count = 0;
      each(row, (location) => {
        count += 1;
        this.visit(location, from, to, (slice, begin, end) => {
          const [left, right] = [(Math.max(begin, from) - from) / wide, (Math.min(end, to) - from) / wide];
          const kind = this.all.class[slice] as number;
          for (let column = Math.floor(left); column < Math.min(columns, right); column++) {
            const at = column * classes + kind;
            sums[at] = (sums[at] as number) + Math.min(column + 1, right) - Math.max(column, left);
          }
        });
      });
      sums.forEach((sum, at) => (bytes[number * columns * classes + at] = Math.round((255 * sum) / Math.max(1, count))));
    });
    return bytes;
  }

  slices(rows: Asked[], from: number, to: number): TimelineSlices {
    const list: TimelineSlices = { row: [], from: [], to: [], call: [], class: [], wait: [], culprit: [] };
    rows.forEach(({ parts }, row) => {
      if (parts.length !== 2 || (parts[1] as number) - (parts[0] as number) !== 1) return;
      const found: [number, number, number][] = [];
      this.visit(parts[0] as number, from, to, (...it) => found.push(it));
      if (found.length > MOST_SLICES) return;
      for (const [slice, begin, end] of found) {
        list.row.push(row);
        list.from.push(begin);
        list.to.push(end);
        for (const name of ["call", "class", "wait", "culprit"] as const) list[name].push(this.all[name][slice] as number);
      }
    });
    return list;
  }

  waits(rows: Asked[], from: number, to: number, most: number, call: string | null, pattern: string | null): TimelineWaits {
    const kind = pattern === null ? -1 : this.all.patterns.indexOf(pattern);
    const list: TimelineWait[] = [];
    const seen = new Set<number>();
    for (const row of rows) {
      each(row, (location) => {
        if (seen.has(location)) return;
        seen.add(location);
        this.visit(location, from, to, (slice, begin, end) => {
          if (call !== null && (this.all.call[slice] !== Number(call) || this.all.wait[slice] !== kind)) return;
          const wait = this.wait(location, slice, begin, end);
          if (wait) list.push(wait);
        });
      });
    }
    list.sort((a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from || a.location - b.location);
    return { waits: list.slice(0, most) };
  }

  /** Times by call path and class, the longest first. */
  private sums(locations: Iterable<number>, from: number, to: number): { call: number | null; class: number; count: number; seconds: number }[] {
    const sums = new Map<string, { call: number | null; class: number; count: number; seconds: number }>();
    for (const location of locations) {
      this.visit(location, from, to, (slice, begin, end) => {
        const [call, kind] = [this.all.call[slice] as number, this.all.class[slice] as number];
        const sum = sums.get(`${call} ${kind}`) ?? { call: call < 0 ? null : call, class: kind, count: 0, seconds: 0 };
        sum.count += 1;
        sum.seconds += (Math.min(end, to) - Math.max(begin, from)) / 1e9;
        sums.set(`${call} ${kind}`, sum);
      });
    }
    return [...sums.values()].sort((a, b) => b.seconds - a.seconds);
  }

  totals(rows: Asked[], from: number, to: number): TimelineTotals {
    const all = new Set<number>();
    rows.forEach((row) => each(row, (it) => all.add(it)));
    return { too_many: false, totals: this.sums(all, from, to).slice(0, MOST_TOTALS) };
  }

  at(location: number, time: number): TimelineAt {
    const at: TimelineAt = {
      location, name: this.all.names[location] ?? "", from: time, to: time, call: null, class: "none", wait: null, meaning: null, culprit_name: null, meanwhile: [],
      computing: [], operations: [], operations_count: 0,
    };
    this.visit(location, time, time + 1, (slice, begin, end) => {
      if (time < begin || time >= end) return;
      const call = this.all.call[slice] as number;
      Object.assign(at, { from: begin, to: end, call: call < 0 ? null : call, class: this.about.classes[this.all.class[slice] as number] ?? "", wait: this.wait(location, slice, begin, end) });
      if (!at.wait) return;
      at.meaning = this.all.meanings[this.all.wait[slice] as number] ?? "";
      at.culprit_name = this.all.names[at.wait.culprit] ?? "";
      const doing = this.sums([at.wait.culprit], begin, end).slice(0, MOST_DOINGS);
      at.meanwhile = doing.map((it): TimelineDoing => ({ ...it, class: this.about.classes[it.class] ?? "" }));
    });
    return at;
  }

  critical(from: number, to: number): TimelineCritical {
    const list: TimelineCritical = { location: [], from: [], to: [], omitted: 0, columns: 0, dense_location: [], dense_column: [], dense_share: [] };
    this.all.critical_location.forEach((location, n) => {
      const [begin, end] = [this.all.critical_from[n] as number, this.all.critical_to[n] as number];
      if (end <= from || begin >= to) return;
      list.location.push(location);
      list.from.push(begin);
      list.to.push(end);
    });
    return list;
  }
}
