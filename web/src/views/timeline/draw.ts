// Draws the parts of the timeline: shares, slices, waits, arrows, the critical path.

import { amountRgb, CLASS_COLOURS } from "../../colours";
import { isDark } from "../../state";
import type { Models } from "../../runs";
import type { TimelineAbout, TimelineCritical, TimelineRow, TimelineSlices, TimelineWait } from "../../types";
import { callName, type Drawn, LABELS, LOW, type Span, STRIP, TOP } from "./common";

/** Steps of the ruler: 1, 2 or 5 with zeros. */
export function ticks(span: Span, most: number): { at: number; text: string }[] {
  const least = (span.to - span.from) / Math.max(1, most);
  let step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, least))));
  for (const factor of [2, 2.5, 2]) if (step < least) step *= factor;
  step = Math.max(1, Math.round(step));
  const [unit, name] = span.to >= 1e9 && step >= 1e5 ? [1e9, "s"] : span.to >= 1e6 && step >= 100 ? [1e6, "ms"] : span.to >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const digits = Math.max(0, Math.ceil(Math.log10(unit) - Math.log10(step) - 1e-9));
  const list = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step) list.push({ at, text: `${(at / unit).toFixed(digits)} ${name}` });
  return list;
}

type Rgba = [number, number, number];

function rgb(hex: string): Rgba {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Draws shares as a picture with a pixel for each column: classes on top of each other, waits hatched and at the bottom; or the share of
 * waiting as a colour. */
export function image(tile: Drawn, classes: string[], heights: number[], whole: number, heat: boolean): OffscreenCanvas | undefined {
  const canvas = new OffscreenCanvas(Math.max(1, tile.columns), Math.max(1, whole));
  const context = canvas.getContext("2d");
  if (!context) return undefined;
  const picture = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(picture.data.buffer);
  const pack = ([r, g, b]: Rgba) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  const colours = classes.map((name) => pack(rgb(CLASS_COLOURS[name] ?? "#888888")));
  const wait = classes.indexOf("wait");
  const light = pack(rgb(CLASS_COLOURS["wait"] ?? "#888888").map((it) => Math.round(it + (255 - it) * 0.45)) as Rgba);
  const count = classes.length;
  const amounts = Array.from({ length: 256 }, (_, share) => pack(amountRgb(share / 255) as Rgba));
  let top = 0;
  heights.forEach((height, row) => {
    if (heat) {
      const inside = Math.max(1, height - (height > 4 ? 1 : 0));
      for (let column = 0; column < tile.columns; column++) {
        const cell = (row * tile.columns + column) * count;
        let sum = 0;
        for (let n = 0; n < count; n++) sum += tile.bytes[cell + n] ?? 0;
        if (sum < 8) continue;
        const pixel = amounts[Math.min(255, Math.round((255 * (tile.bytes[cell + wait] ?? 0)) / sum))] as number;
        for (let y = 0; y < inside; y++) pixels[(top + y) * tile.columns + column] = pixel;
      }
      top += height;
      return;
    }
    const inside = Math.max(1, height - (height > 8 ? 2 : height > 4 ? 1 : 0));
    for (let column = 0; column < tile.columns; column++) {
      const cell = (row * tile.columns + column) * count;
      let sum = 0;
      let y = inside;
      for (let n = 0; n < count; n++) {
        // Waits first, from the bottom up.
        const which = n === 0 ? wait : n <= wait ? n - 1 : n;
        const part = tile.bytes[cell + which] ?? 0;
        if (part === 0) continue;
        sum += part;
        const until = Math.max(0, inside - Math.round((Math.min(sum, 255) * inside) / 255));
        for (; y > until; y--) {
          const line = top + y - 1;
          const hatched = which === wait && (((column + line) % 6) + 6) % 6 < 2;
          pixels[line * tile.columns + column] = hatched ? light : (colours[which] as number);
        }
      }
    }
    top += height;
  });
  context.putImageData(picture, 0, 0);
  return canvas;
}

/** A text that fits, without its middle if it is too long. */
export function fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let keep = text.length - 1;
  while (keep > 4 && context.measureText(`${text.slice(0, keep / 2)}…${text.slice(-keep / 2)}`).width > width) keep -= 1;
  return `${text.slice(0, keep / 2)}…${text.slice(-keep / 2)}`;
}

/** The whole run in one line: the share of waiting as a curve, and what of it is shown below. */
export function drawStrip(
  context: CanvasRenderingContext2D,
  tile: Drawn | undefined,
  about: TimelineAbout,
  at: { left: number; width: number },
  colours: { text: string; dim: string; line: string; accent: string },
  span: Span,
  all: Span,
  /** The span of the strip, which is the same for two runs. */
  axis: Span,
  title: string | undefined,
): void {
  const x = (time: number) => at.left + ((time - axis.from) / (axis.to - axis.from)) * at.width;
  const [top, height] = [4, STRIP - 12];
  context.fillStyle = title ? colours.text : colours.dim;
  context.textAlign = "right";
  context.fillText(fitting(context, title ?? "waiting, whole run", at.left - 16), at.left - 8, top + height / 2);
  context.strokeStyle = colours.line;
  context.strokeRect(at.left + 0.5, top + 0.5, at.width - 1, height);
  if (tile) {
    const wait = about.classes.indexOf("wait");
    context.fillStyle = CLASS_COLOURS["wait"] as string;
    context.globalAlpha = 0.75;
    context.beginPath();
    context.moveTo(x(all.from), top + height);
    for (let column = 0; column < tile.columns; column++) {
      const part = (tile.bytes[column * about.classes.length + wait] ?? 0) / 255;
      const edge = (which: number) => x(all.from + (which / tile.columns) * (all.to - all.from));
      context.lineTo(edge(column), top + height - part * height);
      context.lineTo(edge(column + 1), top + height - part * height);
    }
    context.lineTo(x(all.to), top + height);
    context.fill();
    context.globalAlpha = 1;
  }
  if (about.opens > 0) {
    context.fillStyle = colours.line;
    context.globalAlpha = 0.45;
    context.fillRect(x(0), top, x(about.opens) - x(0), height);
    context.globalAlpha = 1;
    context.fillStyle = colours.dim;
    context.textAlign = "center";
    if (x(about.opens) - x(0) > 60) context.fillText("start-up", (x(0) + x(about.opens)) / 2, top + height / 2);
  }
  if (span.from > all.from || span.to < all.to) {
    const [from, to] = [x(span.from), Math.max(x(span.to), x(span.from) + 3)];
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.16;
    context.fillRect(from, top, to - from, height);
    context.globalAlpha = 1;
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(from, top, to - from, height);
    context.lineWidth = 1;
  }
}

interface Drawing {
  x: (at: number) => number;
  height: number;
}

/** Edges and names of what is wide enough. */
export function drawSlices(
  context: CanvasRenderingContext2D,
  slices: TimelineSlices | undefined,
  rows: number,
  with_: Drawing & { models: Models; about: TimelineAbout; dimmed: boolean; only: Set<number> | undefined },
): void {
  if (!slices || rows === 0) return;
  const { x, height } = with_;
  context.textAlign = "left";
  for (let n = 0; n < slices.row.length; n++) {
    const [from, to] = [x(slices.from[n] as number), x(slices.to[n] as number)];
    if (with_.only && !with_.only.has(slices.call[n] as number)) continue;
    if (to - from < 3) continue;
    const top = TOP + (slices.row[n] as number) * height;
    context.fillStyle = "rgba(0,0,0,0.28)";
    context.fillRect(from, top, 1, Math.max(1, height - 2));
    const isWait = (slices.wait[n] as number) >= 0;
    const isBright = with_.about.classes[slices.class[n] as number] === (isDark() ? "runtime" : "compute");
    const [left, right] = [Math.max(from, LABELS), to];
    if (height >= 14 && right - left > 46 && !isWait && !with_.dimmed) {
      const name = callName(with_.models, slices.call[n]);
      const shown = fittingEnd(context, name, right - left - 8);
      if (shown) {
        context.fillStyle = isBright ? "rgba(0,0,0,0.78)" : "#ffffff";
        context.fillText(shown, left + 4, top + height / 2);
      }
    }
  }
}

function fittingEnd(context: CanvasRenderingContext2D, text: string, width: number): string {
  let shown = text;
  while (shown.length > 3 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  return shown.length > 3 ? shown : "";
}

/** Marks of long waits. */
const MARKS = 20;

/** Long waits that would not be seen: those that are too narrow, and those of one process in a row of many. */
export function marked(waits: TimelineWait[], rowOf: Map<number, number>, rows: TimelineRow[], x: (at: number) => number): TimelineWait[] {
  const longest = waits[0] ? waits[0].to - waits[0].from : 0;
  const taken = new Set<string>();
  const list: TimelineWait[] = [];
  for (const wait of waits) {
    const row = rowOf.get(wait.location);
    const isNarrow = x(wait.to) - x(wait.from) < 3;
    if (row === undefined || !(isNarrow || (rows[row] as TimelineRow).count > 1) || wait.to - wait.from < longest / 10) continue;
    const place = `${row} ${Math.round(x((wait.from + wait.to) / 2) / 10)}`;
    if (!taken.has(place)) list.push(wait);
    taken.add(place);
    if (list.length === MARKS) break;
  }
  return list;
}

/** The waits of a finding, bright above all else; of others marks, where a long one would not be seen. */
export function drawWaits(
  context: CanvasRenderingContext2D,
  waits: TimelineWait[],
  rowOf: Map<number, number>,
  with_: Drawing & { bright: boolean; rows: TimelineRow[]; edge: string },
): void {
  const { x, height } = with_;
  for (const wait of with_.bright ? waits : marked(waits, rowOf, with_.rows, x)) {
    const row = rowOf.get(wait.location);
    if (row === undefined) continue;
    const [from, to] = [x(wait.from), x(wait.to)];
    const top = TOP + row * height;
    if (with_.bright) {
      // In a band every process has its part of the height.
      const { first, count } = with_.rows[row] as TimelineRow;
      const part = Math.max(2, height - 2) / count;
      context.fillStyle = hatch(context);
      context.fillRect(from, top + Math.min(count - 1, wait.location - first) * part, Math.max(1.5, to - from), Math.max(0.5, part));
    } else {
      const middle = (from + to) / 2;
      context.fillStyle = CLASS_COLOURS["wait"] as string;
      context.strokeStyle = with_.edge;
      if (to - from >= 3) context.fillRect(from, top, to - from, 2);
      context.beginPath();
      context.moveTo(middle - 4, top);
      context.lineTo(middle + 4, top);
      context.lineTo(middle, top + 5.5);
      context.closePath();
      context.stroke();
      context.fill();
    }
  }
}

let pattern: CanvasPattern | undefined;

function hatch(context: CanvasRenderingContext2D): CanvasPattern | string {
  const plain = CLASS_COLOURS["wait"] as string;
  if (pattern) return pattern;
  const tile = new OffscreenCanvas(6, 6);
  const paint = tile.getContext("2d");
  if (!paint) return plain;
  paint.fillStyle = plain;
  paint.fillRect(0, 0, 6, 6);
  paint.strokeStyle = "rgba(255,255,255,0.5)";
  paint.lineWidth = 1.4;
  paint.beginPath();
  for (const at of [-6, 0, 6]) {
    paint.moveTo(at, 6);
    paint.lineTo(at + 6, 0);
  }
  paint.stroke();
  pattern = context.createPattern(tile, "repeat") ?? undefined;
  return pattern ?? plain;
}

/** From the event that ended a wait to the wait. */
export function drawArrows(
  context: CanvasRenderingContext2D,
  waits: TimelineWait[],
  rowOf: Map<number, number>,
  with_: Drawing & { colour: string; span: Span; least: number; width?: number },
): void {
  const { x, height, span } = with_;
  context.strokeStyle = with_.colour;
  context.fillStyle = with_.colour;
  context.globalAlpha = 0.8;
  context.lineWidth = with_.width ?? 1;
  // Arrows that would lie on each other are one, with their number.
  const bundles = new Map<string, number>();
  const key = (wait: TimelineWait) => `${rowOf.get(wait.culprit)} ${rowOf.get(wait.location)} ${Math.round(x(wait.to) / 2)}`;
  for (const wait of waits) bundles.set(key(wait), (bundles.get(key(wait)) ?? 0) + 1);
  context.textAlign = "left";
  for (const wait of waits) {
    const count = bundles.get(key(wait));
    if (count === undefined) continue;
    const [from, to] = [rowOf.get(wait.culprit), rowOf.get(wait.location)];
    if (from === undefined || to === undefined || from === to || wait.to > span.to || x(wait.to) - x(wait.from) < with_.least) continue;
    const at = x(wait.to);
    const [y1, y2] = [TOP + from * height + height / 2, TOP + to * height + (to > from ? 0 : height - 2)];
    const down = to > from ? 1 : -1;
    context.beginPath();
    context.moveTo(at - 3, y1);
    context.lineTo(at, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(at, y2);
    context.lineTo(at - 3.5, y2 - 6 * down);
    context.lineTo(at + 2.5, y2 - 6 * down);
    context.fill();
    context.beginPath();
    context.arc(at - 3, y1, 1.8, 0, 7);
    context.fill();
    bundles.delete(key(wait));
    if (count > 1 && height >= 11) context.fillText(`×${count}`, at + 4, y2 + down * Math.min(7, height / 2));
  }
  context.globalAlpha = 1;
  context.lineWidth = 1;
}

/** Hops of the critical path that are closer than this many pixels are a density. */
const HOP = 4;
/** Width of a column of the density. */
const COLUMN = 2;

/** The critical path at the lower edge of its rows, where no name is: a line, or how much of the time it was there where hops are close. */
export function drawCritical(
  context: CanvasRenderingContext2D,
  path: TimelineCritical,
  rowOf: Map<number, number>,
  with_: Drawing & { colour: string; span: Span; room: number },
): void {
  const { x, height, span, room } = with_;
  const edge = (row: number) => TOP + (row + 1) * height - (height > 8 ? 2 : height > 4 ? 1 : 0);
  context.strokeStyle = context.fillStyle = with_.colour;
  const shares = path.omitted > 0 ? listedShares(path, rowOf) : path.location.length * HOP > room ? addedShares(path, rowOf, with_) : undefined;
  if (shares) {
    const thick = Math.max(1.5, Math.min(4, height / 5));
    const width = path.omitted > 0 ? room / path.columns : COLUMN;
    for (const [row, columns] of shares) {
      columns.forEach((share, column) => {
        if (share < 0.02) return;
        context.globalAlpha = 0.2 + 0.8 * Math.min(1, share);
        context.fillRect(LABELS + column * width, edge(row) - thick, width, thick);
      });
    }
    context.globalAlpha = 1;
    return;
  }
  // What it stays at is seen first, and then where it goes.
  const [stays, hops] = [new Path2D(), new Path2D()];
  let before: number | undefined;
  path.location.forEach((location, n) => {
    const row = rowOf.get(location);
    if (row === undefined) return;
    const [from, to, y] = [x(Math.max(span.from, path.from[n] as number)), x(path.to[n] as number), edge(row) - 1];
    if (before !== undefined && before !== y) {
      hops.moveTo(from, before);
      hops.lineTo(from, y);
    }
    stays.moveTo(from, y);
    stays.lineTo(to, y);
    before = y;
  });
  context.globalAlpha = 0.45;
  context.lineWidth = 1;
  context.stroke(hops);
  context.globalAlpha = 0.9;
  context.lineWidth = height < LOW ? 1.4 : 2.4;
  context.stroke(stays);
  context.lineWidth = 1;
  context.globalAlpha = 1;
}

/** Shares of the path by rows and columns, as the server lists them for locations. */
function listedShares(path: TimelineCritical, rowOf: Map<number, number>): Map<number, Float32Array> {
  const shares = new Map<number, Float32Array>();
  path.dense_location.forEach((location, n) => {
    const row = rowOf.get(location);
    if (row === undefined) return;
    const list = shares.get(row) ?? new Float32Array(path.columns);
    const column = path.dense_column[n] as number;
    list[column] = (list[column] ?? 0) + (path.dense_share[n] as number) / 255;
    shares.set(row, list);
  });
  return shares;
}

/** The same from its steps. */
function addedShares(path: TimelineCritical, rowOf: Map<number, number>, { x, room }: { x: (at: number) => number; room: number }): Map<number, Float32Array> {
  const shares = new Map<number, Float32Array>();
  const columns = Math.ceil(room / COLUMN);
  path.location.forEach((location, n) => {
    const row = rowOf.get(location);
    if (row === undefined) return;
    const list = shares.get(row) ?? new Float32Array(columns);
    const [from, to] = [(x(path.from[n] as number) - LABELS) / COLUMN, (x(path.to[n] as number) - LABELS) / COLUMN];
    for (let column = Math.max(0, Math.floor(from)); column < Math.min(columns, to); column++) {
      list[column] = (list[column] ?? 0) + Math.max(0, Math.min(column + 1, to) - Math.max(column, from));
    }
    shares.set(row, list);
  });
  return shares;
}

/** Lines between nodes. */
export function drawNodes(context: CanvasRenderingContext2D, about: TimelineAbout, rows: TimelineRow[], height: number, line: string, width: number): void {
  if (about.nodes.length < 2 || height < 13) return;
  const begins = new Set(about.nodes.map((node) => node.first));
  context.strokeStyle = line;
  rows.forEach((row, at) => {
    if (at > 0 && begins.has(row.first) && (rows[at - 1] as TimelineRow).end === row.first) {
      context.beginPath();
      context.moveTo(0, TOP + at * height - 0.5);
      context.lineTo(width, TOP + at * height - 0.5);
      context.stroke();
    }
  });
}
