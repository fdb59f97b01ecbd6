// Operations between the rows of a timeline, whether anybody waited for them or not: arrows for puts, gets, atomics, messages and locks, and
// lines that join the members of collectives.

import { CLASS_COLOURS } from "../../colours";
import { bytes, grouped, seconds } from "../../format";
import type { TimelineOperations } from "../../types";

/** Where rows are. */
export interface Places {
  x: (at: number) => number;
  /** Top of the first row. */
  top: number;
  height: number;
  rowOf: Map<number, number>;
  name: (location: number) => string;
  /** Colour of the edge of arrows, that of the page behind. */
  edge: string;
}

/** Ends of an arrow: a get brings data from its target. */
function ends(list: TimelineOperations, n: number, at: Places): [number, number, number, number] | undefined {
  const [origin, partner] = [at.rowOf.get(list.origin[n] as number), at.rowOf.get(list.partner[n] as number)];
  if (origin === undefined || partner === undefined || origin === partner) return undefined;
  const isGet = list.kind[n] === "get";
  const [first, last] = isGet ? [partner, origin] : [origin, partner];
  const middle = (row: number) => at.top + row * at.height + Math.max(1, at.height - 2) / 2;
  return [at.x(list.from[n] as number), middle(first), at.x(list.to[n] as number), middle(last)];
}

/** Classes of operations that are not called as they are. */
export const CLASS_OF: Record<string, string> = { update: "atomic" };

/** Kinds that have another name than people use. */
export const KIND_NAMES: Record<string, string> = { update: "atomic update" };

/** More arrows than this would hide what they lie on: they are drawn faintly, and the pointer finds their numbers. */
const FEW = 80;

export function drawOperations(context: CanvasRenderingContext2D, list: TimelineOperations, at: Places): void {
  drawCollectives(context, list, at);
  drawHeld(context, list, at);
  const isCrowded = list.kind.length > FEW;
  context.lineWidth = 1;
  context.textAlign = "left";
  const counted: { text: string; x: number; y: number; colour: string }[] = [];
  for (let n = list.kind.length - 1; n >= 0; n--) {
    const found = ends(list, n, at);
    if (!found) continue;
    const [x1, y1, x2, y2] = found;
    const kind = list.kind[n] as string;
    const colour = CLASS_COLOURS[CLASS_OF[kind] ?? kind] ?? "#888888";
    const count = list.counts[n] as number;
    const width = isCrowded ? 1 : Math.min(3, 1.2 + Math.log2(count) / 4);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    // An edge, so that arrows are seen on waits of any colour.
    if (at.height >= 8 && !isCrowded) {
      context.strokeStyle = at.edge;
      context.globalAlpha = 0.65;
      context.lineWidth = width + 2;
      context.stroke();
    }
    context.strokeStyle = context.fillStyle = colour;
    context.globalAlpha = isCrowded ? 0.45 : 0.95;
    context.lineWidth = width;
    if (kind === "lock") context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
    head(context, x1, y1, x2, y2, at.height);
    // What an atomic returns comes back.
    if (kind === "atomic") head(context, x2, y2, x1, y1, at.height);
    else {
      context.beginPath();
      context.arc(x1, y1, 1.8, 0, 7);
      context.fill();
    }
    if (count > 1 && at.height >= 11 && !isCrowded) counted.push({ text: `×${grouped(count)}`, x: (x1 + x2) / 2 + 4, y: (y1 + y2) / 2, colour });
  }
  // Numbers that would lie on each other cannot be read: the first is enough, and the pointer finds the others.
  const taken: { x: number; y: number; end: number }[] = [];
  context.globalAlpha = 1;
  context.lineWidth = 3;
  for (const it of counted.sort((a, b) => a.x - b.x)) {
    const end = it.x + context.measureText(it.text).width + 3;
    if (taken.some((other) => it.x < other.end && other.x < end && Math.abs(it.y - other.y) < 13)) continue;
    taken.push({ x: it.x, y: it.y, end });
    context.strokeStyle = at.edge;
    context.strokeText(it.text, it.x, it.y);
    context.fillStyle = it.colour;
    context.fillText(it.text, it.x, it.y);
  }
  context.lineWidth = 1;
}

/** Lines of collectives that are closer than this many pixels are left out. */
const CLOSE = 16;

/** The head of an arrow. */
function head(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number, height: number): void {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 4) return;
  const size = Math.min(7, Math.max(3, height / 3));
  const [dx, dy] = [((x2 - x1) / length) * size, ((y2 - y1) / length) * size];
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - dx - dy * 0.5, y2 - dy + dx * 0.5);
  context.lineTo(x2 - dx + dy * 0.5, y2 - dy - dx * 0.5);
  context.fill();
}

/** A line at the lower edge of the row of a location, as long as it holds an exclusive lock. */
function drawHeld(context: CanvasRenderingContext2D, { held }: TimelineOperations, at: Places): void {
  if (at.height < 6) return;
  const thick = Math.min(3, at.height / 6);
  for (let n = 0; n < held.location.length; n++) {
    const row = at.rowOf.get(held.location[n] as number);
    if (row === undefined) continue;
    const [from, to] = [at.x(held.from[n] as number), at.x(held.to[n] as number)];
    const bottom = at.top + (row + 1) * at.height - 2;
    context.fillStyle = at.edge;
    context.fillRect(from, bottom - thick - 1, Math.max(1, to - from), thick + 1);
    context.fillStyle = CLASS_COLOURS["lock"] as string;
    context.fillRect(from, bottom - thick, Math.max(1, to - from), thick);
  }
}

/** Lines from one member to the next, where they entered and where they left. Of several members in a band, the last to enter. */
function drawCollectives(context: CanvasRenderingContext2D, list: TimelineOperations, at: Places): void {
  // Where they are close to each other, what the rows show between them is worth more.
  const ends = list.collectives.flatMap((it) => it.to.slice(0, 1));
  if (ends.length > 1 && (at.x(Math.max(...ends)) - at.x(Math.min(...ends))) / (ends.length - 1) < CLOSE) return;
  context.strokeStyle = CLASS_COLOURS["collective"] as string;
  for (const collective of list.collectives) {
    const rows = new Map<number, [number, number]>();
    collective.location.forEach((location, n) => {
      const row = at.rowOf.get(location);
      if (row === undefined) return;
      const [from, to] = [collective.from[n] as number, collective.to[n] as number];
      const known = rows.get(row);
      rows.set(row, known ? [Math.max(known[0], from), Math.max(known[1], to)] : [from, to]);
    });
    const members = [...rows].sort((a, b) => a[0] - b[0]);
    if (members.length < 2) continue;
    for (const which of [0, 1] as const) {
      context.globalAlpha = which === 0 ? 0.85 : 0.45;
      context.lineWidth = which === 0 ? 1.4 : 1;
      context.beginPath();
      members.forEach(([row, times], n) => {
        const [px, py] = [at.x(times[which]), at.top + row * at.height];
        if (n === 0) context.moveTo(px, py);
        else context.lineTo(px, py);
        context.lineTo(px, py + Math.max(1, at.height - 2));
      });
      context.stroke();
    }
  }
  context.globalAlpha = 1;
  context.lineWidth = 1;
}

/** What the arrow near a point stands for. */
export function operationAt(list: TimelineOperations, at: Places, px: number, py: number): string | undefined {
  let best: { n: number; far: number } | undefined;
  for (let n = 0; n < list.kind.length; n++) {
    const found = ends(list, n, at);
    if (!found) continue;
    const [x1, y1, x2, y2] = found;
    const [dx, dy] = [x2 - x1, y2 - y1];
    const part = Math.max(0, Math.min(1, ((px - x1) * dx + (py - y1) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
    const far = Math.hypot(px - x1 - part * dx, py - y1 - part * dy);
    if (far <= 4 && far < (best?.far ?? Infinity)) best = { n, far };
  }
  if (!best) return undefined;
  const { n } = best;
  const [origin, partner] = [at.name(list.origin[n] as number), at.name(list.partner[n] as number)];
  const count = list.counts[n] as number;
  const many = count > 1 ? `${grouped(count)} × ` : "";
  const took = seconds(((list.to[n] as number) - (list.from[n] as number)) / 1e9);
  if (list.kind[n] === "lock") return `${many}lock from ${origin} to ${partner}, ${took} after`;
  const what = list.kind[n] === "get" ? `get by ${origin} from ${partner}` : `${KIND_NAMES[list.kind[n] as string] ?? list.kind[n]} from ${origin} to ${partner}`;
  return `${many}${what}: ${bytes(list.bytes[n] as number)}, ${count > 1 ? "at most " : ""}${took}`;
}
