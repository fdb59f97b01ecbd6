// Below the rows of the timeline: phases of the program, and a counter. Phases are stripes over the rows as well.

import { percent, short } from "../../format";
import type { TimelineCounter, TimelinePhases, TimelineRow, TimelineSampleList, TimelineSamples } from "../../types";
import { isSingle, LABELS, time, TOP } from "./common";
import { fitting } from "./draw";

/** Heights of the strips. */
export const PHASES = 22;
export const COUNTER = 78;

export interface Colours {
  text: string;
  dim: string;
  line: string;
  accent: string;
  panel: string;
  isDark: boolean;
}

/** A counter that is shown, and its values. */
export interface ShownCounter {
  counter: TimelineCounter;
  samples: TimelineSamples;
}

/** The row whose phases and values are shown below: that of the selection, otherwise the first that has some. */
export function shownRow(rows: number[], wanted: number | undefined): number | undefined {
  return wanted !== undefined && rows.includes(wanted) ? wanted : rows[0];
}

/** Whether an instance is drawn darker: numbers of neighbours differ by one. */
function isOdd(value: string, place: number): boolean {
  const number = Number(value);
  return (Number.isInteger(number) ? number : place) % 2 !== 0;
}

/** Stripes over the rows: every other instance is shaded, and each has a line where it begins. */
export function drawStripes(
  context: CanvasRenderingContext2D,
  phases: TimelinePhases,
  rows: TimelineRow[],
  at: { x: (time: number) => number; height: number; isDark: boolean },
): void {
  const isAny = rows.some(isSingle);
  phases.from.forEach((from, n) => {
    const [left, right] = [at.x(from), at.x(phases.to[n] as number)];
    // Where no row is a single process, those of the first one stand for all.
    const [first, count] = isAny ? [phases.row[n] as number, 1] : [0, rows.length];
    const [top, height] = [TOP + first * at.height, count * at.height];
    if (isOdd(phases.value[n] ?? "", n)) {
      context.fillStyle = at.isDark ? "rgba(255,255,255,0.17)" : "rgba(0,0,0,0.15)";
      context.fillRect(left, top, Math.max(1, right - left), height);
    }
    context.fillStyle = at.isDark ? "rgba(255,255,255,0.75)" : "rgba(0,0,0,0.6)";
    context.fillRect(Math.round(left) - 0.5, top, 1, height);
  });
}

/** The instances of one row, with their numbers. */
export function drawPhases(
  context: CanvasRenderingContext2D,
  phases: TimelinePhases,
  row: number | undefined,
  at: { x: (time: number) => number; top: number; width: number },
  colours: Colours,
): void {
  const [top, height] = [at.top + 4, PHASES - 6];
  context.textAlign = "right";
  context.fillStyle = colours.dim;
  context.fillText(fitting(context, phases.name, LABELS - 16), LABELS - 8, top + height / 2);
  context.save();
  context.beginPath();
  context.rect(LABELS, top - 1, at.width, height + 2);
  context.clip();
  phases.from.forEach((from, n) => {
    if (phases.row[n] !== row) return;
    const [left, right] = [at.x(from), at.x(phases.to[n] as number)];
    context.fillStyle = colours.accent;
    context.globalAlpha = isOdd(phases.value[n] ?? "", n) ? 0.34 : 0.16;
    context.fillRect(left, top, Math.max(1, right - left), height);
    context.globalAlpha = 1;
    const [from_, to] = [Math.max(left, LABELS), Math.min(right, LABELS + at.width)];
    const text = [`${phases.name} ${phases.value[n]}`, phases.value[n] ?? ""].find((it) => context.measureText(it).width < to - from_ - 4);
    if (text) {
      context.fillStyle = colours.text;
      context.textAlign = "center";
      context.fillText(text, (from_ + to) / 2, top + height / 2 + 0.5);
    }
  });
  context.restore();
}

/** The instance of a row at a time. */
export function phaseAt(phases: TimelinePhases, row: number | undefined, at: number): { from: number; to: number; text: string } | undefined {
  const n = phases.from.findIndex((from, n) => phases.row[n] === row && from <= at && at < (phases.to[n] as number));
  if (n < 0) return undefined;
  const [from, to] = [phases.from[n] as number, phases.to[n] as number];
  return { from, to, text: `${phases.name} ${phases.value[n]}: ${time(to - from)}\nfrom ${time(from)}` };
}

/** Least and greatest value of a counter. What is never negative begins at 0. */
function range(samples: TimelineSamples): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  for (const list of samples.lists) {
    for (const value of list.value) [least, most] = [Math.min(least, value), Math.max(most, value)];
  }
  if (least > most) return [0, 1];
  if (least > 0) least = 0;
  return least === most ? [least, least + 1] : [least, most];
}

/** Values with their unit. Nanoseconds in a second are a share: of time on a core, for instance. */
export function quantity(value: number, unit: string): string {
  if (unit === "ns/s") return percent(value / 1e9);
  const of_time = unit.endsWith("/s") ? unit.slice(0, -2) : unit;
  const text = Math.abs(value) >= 1e5 && !KNOWN.includes(of_time) ? value.toExponential(2) : short(value, of_time);
  const rest = unit === of_time ? "" : "/s";
  return KNOWN.includes(of_time) ? text + rest : `${text}${unit && unit !== "1" ? ` ${unit}` : ""}`;
}

/** Units that are part of the text of a value. */
const KNOWN = ["sec", "s", "bytes", "byte"];

/** A line for each row that has values: that of the selected row is strong. */
export function drawCounter(
  context: CanvasRenderingContext2D,
  shown: ShownCounter,
  row: number | undefined,
  at: { x: (time: number) => number; top: number; width: number },
  colours: Colours,
): void {
  const { samples, counter } = shown;
  const [top, height] = [at.top + 8, COUNTER - 16];
  const [least, most] = range(samples);
  const y = (value: number) => top + height - ((value - least) / (most - least)) * height;
  context.strokeStyle = colours.line;
  context.strokeRect(LABELS + 0.5, top + 0.5, at.width - 1, height);
  context.textAlign = "right";
  context.fillStyle = colours.text;
  context.fillText(fitting(context, counter.name, LABELS - 16), LABELS - 8, top + height / 2);
  context.fillStyle = colours.dim;
  context.fillText(fitting(context, quantity(most, samples.unit), LABELS - 16), LABELS - 8, top + 5);
  context.fillText(fitting(context, quantity(least, samples.unit), LABELS - 16), LABELS - 8, top + height - 4);
  context.save();
  context.beginPath();
  context.rect(LABELS, top - 2, at.width, height + 4);
  context.clip();
  const order = [...samples.lists].sort((a, b) => Number(a.row === row) - Number(b.row === row));
  for (const list of order) {
    const isShown = list.row === row;
    context.strokeStyle = context.fillStyle = isShown ? colours.accent : colours.dim;
    context.globalAlpha = isShown ? 1 : 0.55;
    context.lineWidth = isShown ? 2 : 1;
    context.beginPath();
    list.value.forEach((value, n) => {
      const [from, to] = [at.x(list.from[n] as number), at.x(list.to[n] as number)];
      // Rates hold for a time, values of a moment are joined.
      if (n === 0 || (counter.accumulates && list.from[n] !== list.to[n - 1])) context.moveTo(from, y(value));
      else context.lineTo(from, y(value));
      context.lineTo(to, y(value));
    });
    context.stroke();
    if (!counter.accumulates && list.value.length < 200) {
      list.value.forEach((value, n) => context.fillRect(at.x(list.from[n] as number) - 1.5, y(value) - 1.5, 3, 3));
    }
  }
  context.restore();
  if (samples.lists.every((it) => it.value.length === 0)) {
    context.textAlign = "center";
    context.fillText(samples.missing || "no values in this span", LABELS + at.width / 2, top + height / 2);
  }
}

/** The value of a row at a time: the rate that holds then, or the value of the last moment before. */
function valueAt(list: TimelineSampleList, isRate: boolean, at: number): number | undefined {
  let found: number | undefined;
  for (let n = 0; n < list.value.length && (list.from[n] as number) <= at; n++) {
    if (!isRate || at < (list.to[n] as number)) found = list.value[n];
  }
  return found;
}

/** What the counter says at a time. */
export function counterAt(shown: ShownCounter, row: number | undefined, at: number): string {
  const { samples, counter } = shown;
  const lists = [...samples.lists].sort((a, b) => Number(b.row === row) - Number(a.row === row)).slice(0, 4);
  const lines = lists.flatMap((list) => {
    const value = valueAt(list, counter.accumulates, at);
    return value === undefined ? [] : [`${list.name}: ${quantity(value, samples.unit)}`];
  });
  return [`${counter.name} at ${time(at)}`, ...lines].join("\n");
}
