// What the parts of the timeline share: spans, rows, names, and shares of rows as they arrive.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { hurry, isFile, question, want } from "../../data";
import { seconds, site } from "../../format";
import { type Models, of } from "../../runs";
import type { TimelineInstance, TimelineRow } from "../../types";

/** Rows on a screen; more processes are bands. */
export const MOST_ROWS = 64;
/** Arrows without a finding, and with one. */
export const FEW_ARROWS = 60;
export const MOST_ARROWS = 2000;
/** Width of the names, height of the strip of the whole run and of the ruler. */
export const LABELS = 150;
export const STRIP = 46;
export const RULER = 24;
export const TOP = STRIP + RULER;
/** Rows lower than this have no room for classes on top of each other: their colour is the share of waiting. */
export const LOW = 12;

/** Whether the rows of the timeline are that low. */
export const isHeat = signal(false);

/** Columns in an exported file, which cannot know the window. */
export const FILE_COLUMNS = 1024;

export interface Span {
  from: number;
  to: number;
}

/** A span of the address. */
export function parseSpan(text: string | undefined, length: number): Span | undefined {
  const found = /^(\d+)-(\d+)$/.exec(text ?? "");
  if (!found) return undefined;
  const [from, to] = [Number(found[1]), Math.min(Number(found[2]), length)];
  return from < to ? { from, to } : undefined;
}

/** A span around a call, half as long again on each side: the same as that of the terminal and of exported files. */
export function around(instance: TimelineInstance, length: number): Span {
  const more = Math.floor((instance.call_to - instance.call_from) / 2) + 1;
  return { from: Math.max(0, instance.call_from - more), to: Math.min(length, instance.call_to + more) };
}

/** Rows of the address: first location and the one after the last. */
export function parseRows(text: string | undefined, all: number): [number, number] {
  const found = /^(\d+)-(\d+)$/.exec(text ?? "");
  if (!found) return [0, all];
  const first = Math.min(Number(found[1]), Math.max(0, all - 1));
  return [first, Math.max(first + 1, Math.min(Number(found[2]), all))];
}

/** A tile with what it shows. */
export interface Drawn {
  what: string;
  span: Span;
  rows: TimelineRow[];
  columns: number;
  bytes: Uint8Array;
}

/** Shares of the rows: at once, then exactly unless `isCoarse`. The last are shown until others arrive. `only` lists the calls that count. */
export function useTile(
  run: string,
  rows: TimelineRow[] | undefined,
  span: Span,
  columns: number,
  { only, isCoarse = false }: { only?: string; isCoarse?: boolean } = {},
): { tile: Drawn | undefined; isSharp: boolean; isFailed: boolean } {
  const [tile, setTile] = useState<{ drawn: Drawn; sharp: boolean } | undefined>();
  const [failed, setFailed] = useState<string | undefined>();
  const before = useRef(0);
  const query = rows && rows.length > 0 && columns > 0 ? rowParameters(rows) : undefined;
  const what = query ? question("", { ...query, ...span, columns, only }) : "";
  useLayoutEffect(() => {
    if (!query || !rows) return;
    let wanted = true;
    let exact = false;
    const done = hurry();
    const releases: (() => void)[] = [];
    const get = (sharp: boolean) => {
      const asked = want<Uint8Array>(of(run, "timeline/tile"), { ...query, ...span, columns, sharp, only });
      releases.push(asked.release);
      return asked.answer.then(
        (bytes) => {
          // What is exact may come first, and stays.
          if (!wanted || (exact && !sharp)) return;
          exact = sharp;
          if (sharp || isCoarse) done();
          setTile({ drawn: { what, span, rows, columns, bytes }, sharp });
        },
        () => {
          done();
          if (wanted) setFailed(what);
        },
      );
    };
    // Some calls are told from others by single slices only.
    if (!isFile() && only === undefined) void get(false);
    if (isCoarse) {
      return () => {
        wanted = false;
        done();
        releases.forEach((it) => it());
      };
    }
    // Whoever zooms on quickly is not waited for.
    const now = performance.now();
    const timer = setTimeout(() => void get(true), isFile() || now - before.current > 300 ? 0 : 60);
    before.current = now;
    return () => {
      wanted = false;
      clearTimeout(timer);
      done();
      releases.forEach((it) => it());
    };
  }, [what, run]);
  const isFailed = failed === what;
  const isLast = tile?.drawn.what === what && (tile.sharp || isCoarse);
  return { tile: tile?.drawn, isSharp: isFailed || isLast, isFailed };
}

/** The parameters that name rows. */
export function rowParameters(rows: TimelineRow[]): Record<string, string | number> {
  const first = rows[0];
  if (!first) return { rows: "" };
  const band = first.end - first.first;
  const isRange = rows.every((row, at) =>
    row.node === null && row.parts.length === 0 &&
    (at === 0 || row.first === (rows[at - 1] as TimelineRow).end) && (row.end - row.first === band || at + 1 === rows.length));
  if (isRange) return { first: first.first, end: (rows.at(-1) as TimelineRow).end, band };
  return { rows: rows.map((row) => row.key).join(".") };
}

/** Whether a row is one location, of which single things are known. */
export function isSingle(row: TimelineRow): boolean {
  return row.count === 1 && row.node === null;
}

/** The row of each location. A node and its processes may both have one: then that with fewer locations. */
export function rowsOfLocations(rows: TimelineRow[]): Map<number, number> {
  const map = new Map<number, number>();
  const order = rows.map((_, at) => at).sort((a, b) => (rows[a] as TimelineRow).count - (rows[b] as TimelineRow).count || a - b);
  for (const at of order) {
    const row = rows[at] as TimelineRow;
    const parts = row.parts.length > 0 ? row.parts : [row.first, row.end];
    for (let n = 0; n + 1 < parts.length; n += 2) {
      for (let it = parts[n] as number; it < (parts[n + 1] as number); it++) if (!map.has(it)) map.set(it, at);
    }
  }
  return map;
}

/** Arrows of operations that a window has room for; more are bundles. */
export function mostOperations(): number {
  return Math.min(MOST_ARROWS, Math.max(60, 50 * Math.round(innerWidth / 400)));
}

/** The part of a span that lies in a run. */
export function clamped(span: Span, all: Span): Span | undefined {
  const [from, to] = [Math.max(all.from, Math.floor(span.from)), Math.min(all.to, Math.ceil(span.to))];
  return from < to ? { from, to } : undefined;
}

/** The size of bands for so many processes: the pyramid has rows of 16 and of powers of 2. */
export function bandOf(count: number): number {
  let band = 1;
  while (count / band > MOST_ROWS) band *= 2;
  return band;
}

export function parseSelected(text: string | undefined): [[number, number], boolean] {
  const found = /^(\d+)@(\d+)$/.exec(text ?? "");
  return found ? [[Number(found[1]), Number(found[2])], true] : [[0, 0], false];
}

export function callName(models: Models, call: number | null | undefined): string {
  if (call === null || call === undefined || call < 0) return "outside of all regions";
  return models.calls.list[models.calls.from[0][call] ?? -1]?.name ?? "?";
}

export function callSite(models: Models, call: number | null | undefined): string {
  if (call === null || call === undefined || call < 0) return "";
  const it = models.calls.list[models.calls.from[0][call] ?? -1];
  const where = site(it);
  return where ? ` at ${where}` : "";
}

/** Nanoseconds as a time. */
export function time(nanoseconds: number): string {
  return seconds(nanoseconds / 1e9);
}

export function nameOf(rows: TimelineRow[], rowOf: Map<number, number>, location: number): string {
  const row = rows[rowOf.get(location) ?? -1];
  return row && isSingle(row) ? row.name : `location ${location}`;
}
