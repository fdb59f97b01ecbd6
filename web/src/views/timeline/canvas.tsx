// The picture of the timeline, with its keys and its mouse.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isFile, useAnswer } from "../../data";
import { CLASS_COLOURS, CLASS_NAMES } from "../../colours";
import { grouped, percent, seconds } from "../../format";
import { colour, findable, type Hit } from "../../canvas";
import { isForControl } from "../../keys";
import { type Models, of } from "../../runs";
import { saveCanvas } from "../../save";
import { go, isDark, painted, said } from "../../state";
import { Tip } from "../../tip";
import type {
  Finding, TimelineAbout, TimelineAt, TimelineCritical, TimelineOperations, TimelinePhases, TimelineRow, TimelineSlices, TimelineWait,
} from "../../types";
import {
  callName, clamped, type Drawn, FILE_COLUMNS, isHeat, isSingle, LABELS, LOW, nameOf, rowParameters, rowsOfLocations, type Span, STRIP, time, TOP, useTile,
} from "./common";
import { type ChosenCalls, pinned, toggle } from "./controls";
import { drawArrows, drawCritical, drawNodes, drawSlices, drawStrip, drawWaits, fitting, image, marked, ticks } from "./draw";
import { drawOperations, operationAt, type Places } from "./operations";
import {
  COUNTER, counterAt, drawCounter, drawPhases, drawStripes, phaseAt, PHASES, type ShownCounter, shownRow,
} from "./strips";

/** Arrows between low rows, where more would hide the rows. */
const FEW_IN_LOW = 12;

interface CanvasProps {
  run: string;
  about: TimelineAbout;
  models: Models;
  rows: TimelineRow[];
  span: Span;
  /** The span that answers are about. While keys or the wheel move the picture, it follows a little later. */
  settled: Span;
  isMoving?: boolean;
  all: Span;
  /** Span of the strip of the whole run, if it is not that of the run. */
  axis?: Span | undefined;
  waits: TimelineWait[];
  finding: Finding | undefined;
  critical: TimelineCritical | undefined;
  operations: TimelineOperations | undefined;
  /** Calls that are shown; all others are dimmed. */
  only: ChosenCalls | undefined;
  phases: TimelinePhases | undefined;
  counter: ShownCounter | undefined;
  /** Whether rows of any height show the share of waiting. */
  heat?: boolean;
  /** The process of the selected wait, and the one that ended it. All others fade. */
  partners?: [number, number] | undefined;
  /** Keys of the rows that are pinned to the top. */
  pins: string[];
  detail: TimelineAt | undefined;
  show: (span: Span, replace?: boolean) => void;
  /** Nothing for the timeline of another run, which follows the keys and the selection of the first. */
  goInstance?: (by: number) => void;
  /** Name of the run, if there are two. */
  title?: string | undefined;
  /** Time of this run minus that of the axis. */
  shift?: number;
}

export function Canvas(props: CanvasProps): JSX.Element {
  const { run, about, models, rows, span, all, waits, finding } = props;
  const axis = props.axis ?? all;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [tip, setTip] = useState<Hit | undefined>();
  const [drag, setDrag] = useState<{ from: number; to: number; strip: boolean } | undefined>();
  const last = useRef(0);
  const pointer = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const ratio = devicePixelRatio || 1;
  const room = Math.max(0, size.width - LABELS);
  const columns = isFile() ? FILE_COLUMNS : Math.min(4096, Math.round(room * ratio));
  const asked = clamped(props.settled, all);
  const { tile, isSharp: isExact } = useTile(run, size.width > 0 && asked ? rows : undefined, asked ?? all, columns);
  // Behind it is the whole run, so that nothing is white where the picture moves to; but nobody waits for that.
  const seen = useRef<TimelineRow[] | undefined>(undefined);
  if (isExact && tile?.rows === rows) seen.current = rows;
  const behind = useTile(run, seen.current === rows ? rows : undefined, all, isFile() ? FILE_COLUMNS : 1024, { isCoarse: !isFile() }).tile;
  const ofCalls = useTile(run, props.only && size.width > 0 && asked ? rows : undefined, asked ?? all, columns, { only: props.only?.text ?? "" });
  const isSharp = (isExact && (!props.only || ofCalls.isSharp)) || !asked;
  const isMain = props.goInstance !== undefined;
  const whole: TimelineRow[] = [{
    key: "", first: 0, end: about.locations, count: about.locations, parts: [], node: null, nodes: 0, differ: null, open: null, name: "", seconds: 0, wait: 0, blame: 0, waited_for: false,
  }];
  // Bins of the pyramid are narrower than the pixels of the strip. Exact sums of the whole run would read all of the index for it.
  const strip = useTile(run, size.width > 0 ? whole : undefined, all, isFile() ? FILE_COLUMNS : 512, { isCoarse: !isFile() }).tile;
  const single = rows.some(isSingle);
  const slices = useAnswer<TimelineSlices>(single && asked ? of(run, "timeline/slices") : undefined, { ...rowParameters(rows), ...asked });
  // Those of the span before have the right times, too.
  const known = useRef<{ rows: TimelineRow[]; value: TimelineSlices } | undefined>(undefined);
  if (slices.value && !slices.stale) known.current = { rows, value: slices.value };
  const listed = single && known.current?.rows === rows ? known.current.value : undefined;
  // What stands below the rows.
  const phasesHeight = props.phases ? PHASES : 0;
  const below = phasesHeight + (props.counter ? COUNTER : 0);
  // Heights of rows in pixels of the screen.
  const height = Math.max(3, Math.min(rows.length <= 4 ? 140 : rows.length <= 8 ? 84 : rows.length <= 16 ? 56 : 40, Math.floor((size.height - TOP - 4 - below) / Math.max(1, rows.length))));
  const x = (at: number) => LABELS + ((at - span.from) / (span.to - span.from)) * room;
  const timeAt = (x: number) => span.from + ((x - LABELS) / Math.max(1, room)) * (span.to - span.from);
  const rowOf = useMemo(() => rowsOfLocations(rows), [rows]);
  const bottom = TOP + rows.length * height;
  const selectedRow = props.detail && rowOf.get(props.detail.location);
  const phaseRow = shownRow([...new Set(props.phases?.row)], selectedRow);
  const counterRow = shownRow(props.counter?.samples.lists.map((it) => it.row) ?? [], selectedRow);
  const byRow = useMemo(() => {
    const lists: number[][] = rows.map(() => []);
    listed?.row.forEach((row, at) => lists[row]?.push(at));
    return lists;
  }, [listed, rows]);
  const sliceAt = (row: number, at: number): number | undefined =>
    listed ? byRow[row]?.find((n) => (listed.from[n] as number) <= at && at < (listed.to[n] as number)) : undefined;

  const places: Places = { x, top: TOP, height, rowOf, name: (location) => nameOf(rows, rowOf, location), edge: colour("--panel") };
  const find = (px: number, py: number): Hit | undefined => {
    const hit = findSlice(px, py) ?? findBelow(px, py);
    const operation = hit && props.operations && operationAt(props.operations, places, px, py);
    return hit && operation ? { ...hit, text: `${hit.text}\n${operation}`, operation } : hit;
  };
  /** What is in the strips below the rows. */
  const findBelow = (px: number, py: number): Hit | undefined => {
    if (px < LABELS || px > size.width || py < bottom) return undefined;
    const at = timeAt(px);
    if (props.phases && py < bottom + PHASES) {
      const phase = phaseAt(props.phases, phaseRow, at);
      return phase && { x: px, y: bottom + PHASES / 2, sharp: isSharp, phase: phase.text, ...phase };
    }
    if (props.counter && py < bottom + below) {
      return { x: px, y: py, sharp: isSharp, counter: true, text: counterAt(props.counter, counterRow, at) };
    }
    return undefined;
  };
  const findSlice = (px: number, py: number): Hit | undefined => {
    const row = Math.floor((py - TOP) / height);
    if (px < LABELS || row < 0 || row >= rows.length || px > size.width) return undefined;
    const about_row = rows[row] as TimelineRow;
    const at = Math.floor(timeAt(px));
    const y = TOP + row * height + height / 2;
    const common = { x: px, y, row, location: about_row.first, time: at, sharp: isSharp };
    const isMark = py < TOP + row * height + 7;
    const mark = isMark && !isSingle(about_row) && marked(waits, rowOf, rows, x).find((it) => rowOf.get(it.location) === row && x(it.from) - 4 <= px && px <= x(it.to) + 4);
    if (mark) {
      const [from, to] = [mark.from, mark.to];
      return { ...common, location: mark.location, time: Math.floor((from + to) / 2), text: `a long wait, ${time(to - from)} in ${callName(models, mark.call)}\nclick for who waits for whom`, from, to, class: "wait", wait: true };
    }
    const n = sliceAt(row, at);
    if (n !== undefined && listed) {
      const name = about.classes[listed.class[n] as number] ?? "";
      const culprit = listed.culprit[n] as number;
      const [from, to] = [listed.from[n] as number, listed.to[n] as number];
      const what = name === "wait" ? `waits ${time(to - from)} in ${callName(models, listed.call[n])}` : `${callName(models, listed.call[n])}, ${time(to - from)}`;
      const who = culprit >= 0 ? `\nfor ${nameOf(rows, rowOf, culprit)}` : "";
      return { ...common, text: `${about_row.name}: ${what}${who}\nfrom ${time(from)}`, from, to, class: name, call: listed.call[n], culprit };
    }
    if (!tile || tile.rows !== rows) return { ...common, text: about_row.name };
    const column = Math.floor(((at - tile.span.from) / (tile.span.to - tile.span.from)) * tile.columns);
    const cell = (row * tile.columns + column) * about.classes.length;
    const parts: Record<string, number> = {};
    about.classes.forEach((name, k) => {
      const part = tile.bytes[cell + k] ?? 0;
      if (part > 0) parts[name] = part / 255;
    });
    const text = Object.entries(parts).sort((a, b) => b[1] - a[1]).slice(0, 4).map(([name, part]) => `${CLASS_NAMES[name]} ${percent(part)}`).join(", ");
    const alike = about_row.differ === null ? "" : `${grouped(about_row.count)} alike, each differs from their mean for ${percent(about_row.differ)} of the time\n`;
    return { ...common, text: `${about_row.name} at ${time(at)}\n${alike}${text || "nothing recorded"}`, parts };
  };
  useEffect(() => (canvas.current ? findable(canvas.current, find) : undefined));

  // Pictures of shares are made once, although whatever arrives afterwards is drawn over them.
  const heights = rows.map(() => Math.round(height * ratio));
  const heat = height < LOW || props.heat === true;
  useLayoutEffect(() => {
    if (isMain) isHeat.value = heat;
  }, [heat]);
  const pictureOf = (of: Drawn | undefined) =>
    useMemo(() => (of && of.rows === rows ? image(of, about.classes, heights, heights.reduce((sum, it) => sum + it, 0), heat) : undefined), [of, rows, heights[0], heat, painted.value]);
  const picture = pictureOf(tile);
  const pictureBehind = pictureOf(behind);
  const pictureOfCalls = pictureOf(ofCalls.isFailed || !props.only ? undefined : ofCalls.tile);

  const paint = painted.value;
  const draw = useRef(() => undefined as void);
  draw.current = () => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || size.width === 0) return;
    element.width = Math.round(size.width * ratio);
    element.height = Math.round(size.height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const [text, dim, line, accent, wait] = ["--text", "--text-dim", "--line", "--accent", "--bad"].map(colour) as [string, string, string, string, string];
    const family = getComputedStyle(element).fontFamily;
    context.font = `12px ${family}`;
    context.textBaseline = "middle";
    drawStrip(context, strip, about, { left: LABELS, width: room }, { text, dim, line, accent }, span, all, axis, props.title);
    context.textAlign = "center";
    const shift = props.shift ?? 0;
    for (const tick of ticks({ from: Math.max(0, span.from - shift), to: span.to - shift }, room / 110)) {
      const at = x(tick.at + shift);
      context.strokeStyle = line;
      context.beginPath();
      context.moveTo(at + 0.5, TOP - 6);
      context.lineTo(at + 0.5, bottom);
      context.stroke();
      context.fillStyle = dim;
      context.fillText(tick.text, Math.max(LABELS + 24, Math.min(size.width - 26, at)), STRIP + 10);
    }
    context.textAlign = "right";
    const isGrouped = rows.some((it) => it.differ !== null);
    rows.forEach((row, at) => {
      // Who is waited for is seen before those who wait.
      if (isGrouped && row.waited_for) {
        context.fillStyle = CLASS_COLOURS["wait"] as string;
        context.fillRect(LABELS - 5, TOP + at * height, 5, height - (height > 8 ? 2 : 1));
        if (height >= 56) {
          context.font = `bold 12px ${family}`;
          context.fillStyle = wait;
          context.fillText(`others wait ${seconds(row.blame)}`, LABELS - 10, TOP + at * height + height / 2 + 24);
        }
      }
      if (height >= 11 || at % Math.ceil(13 / height) === 0) {
        context.fillStyle = text;
        const mark = row.node === null ? "" : row.open === true ? "\u25be " : "\u25b8 ";
        context.font = `${mark ? "bold " : ""}12px ${family}`;
        const isTwo = row.differ !== null && height >= 32;
        context.fillText(mark + fitting(context, row.name, LABELS - (mark ? 28 : 12)), LABELS - 8, TOP + at * height + height / 2 - (isTwo ? 8 : 0));
        if (isTwo) {
          context.font = `11px ${family}`;
          context.fillStyle = dim;
          context.fillText(`${grouped(row.count)} alike, ± ${percent(row.differ ?? 0)}`, LABELS - 8, TOP + at * height + height / 2 + 8);
        }
      }
    });
    context.font = `12px ${family}`;
    context.fillStyle = accent;
    rows.forEach((row, at) => props.pins.includes(row.key) && context.fillRect(2, TOP + at * height + 1, 3, Math.max(1, height - 3)));
    if (!tile || tile.rows !== rows) {
      // Rows that are awaited are not rows without anything.
      context.fillStyle = line;
      context.globalAlpha = 0.5;
      rows.forEach((_, at) => context.fillRect(LABELS, TOP + at * height, room, Math.max(1, height - (height > 8 ? 2 : 1))));
      context.globalAlpha = 1;
      context.fillStyle = dim;
      context.textAlign = "center";
      context.fillText(`Reading ${time(span.to - span.from)} of ${grouped(about.locations)} processes …`, LABELS + room / 2, TOP + Math.max(12, (rows.length * height) / 2));
    }
    if (tile && tile.rows === rows) {
      context.save();
      context.beginPath();
      context.rect(LABELS, TOP, room, rows.length * height);
      context.clip();
      context.imageSmoothingEnabled = false;
      const put = (it: OffscreenCanvas | undefined, of: Span) =>
        it && context.drawImage(it, x(of.from), TOP, x(of.to) - x(of.from), rows.length * height);
      context.globalAlpha = props.only ? 0.16 : finding ? 0.32 : 1;
      if (behind && pictureBehind && !props.only) {
        // Only where the other does not lie, which is translucent where a finding is shown.
        context.save();
        context.beginPath();
        context.rect(LABELS, TOP, x(tile.span.from) - LABELS, rows.length * height);
        context.rect(x(tile.span.to), TOP, LABELS + room - x(tile.span.to), rows.length * height);
        context.clip();
        put(pictureBehind, behind.span);
        context.restore();
      }
      put(picture, tile.span);
      context.globalAlpha = finding ? 0.32 : 1;
      if (ofCalls.tile) put(pictureOfCalls, ofCalls.tile.span);
      context.globalAlpha = 1;
      if (!heat) drawSlices(context, listed, rows.length, { x, height, models, about, dimmed: finding !== undefined, only: props.only?.all });
      if (props.phases) drawStripes(context, props.phases, rows, { x, height, isDark: isDark() });
      drawWaits(context, waits, rowOf, { x, height, bright: finding !== undefined, rows, edge: places.edge });
      if (props.operations) drawOperations(context, props.operations, places);
      if (props.critical) drawCritical(context, props.critical, rowOf, { x, height, span, room, colour: text });
      const chosenWait = props.partners && props.detail?.wait;
      if (props.partners && chosenWait) {
        const kept = new Set(props.partners.map((it) => rowOf.get(it)));
        context.fillStyle = places.edge;
        context.globalAlpha = 0.66;
        rows.forEach((_, at) => !kept.has(at) && context.fillRect(LABELS, TOP + at * height, room, height));
        context.globalAlpha = 1;
        drawArrows(context, [chosenWait], rowOf, { x, height, colour: text, span, least: 0, width: 2 });
      } else {
        drawArrows(context, height < LOW ? waits.slice(0, FEW_IN_LOW) : waits, rowOf, { x, height, colour: text, span, least: finding ? 2 : 8 });
      }
      const chosen = props.detail;
      const row = chosen && rowOf.get(chosen.location);
      if (chosen && row !== undefined) {
        context.strokeStyle = accent;
        context.lineWidth = 2.5;
        context.strokeRect(x(chosen.from), TOP + row * height, Math.max(3, x(chosen.to) - x(chosen.from)), Math.max(3, height - 2));
      }
      context.restore();
    }
    drawNodes(context, about, rows, height, line, size.width);
    const colours = { text, dim, line, accent, panel: colour("--panel"), isDark: isDark() };
    if (props.phases) drawPhases(context, props.phases, phaseRow, { x, top: bottom, width: room }, colours);
    if (props.counter) drawCounter(context, props.counter, counterRow, { x, top: bottom + phasesHeight, width: room }, colours);
    if (props.only && ofCalls.isFailed) {
      context.fillStyle = text;
      context.textAlign = "center";
      context.fillText("More happens here than calls can be told apart in: zoom in.", LABELS + room / 2, TOP + 20);
    }
  };
  // Answers arrive one after the other. Those that arrive before the screen is drawn are drawn together.
  const planned = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    planned.current ??= requestAnimationFrame(() => {
      planned.current = undefined;
      draw.current();
    });
  }, [props.phases, props.counter, props.pins.join("."), ofCalls.tile, ofCalls.isFailed, size, paint, tile, strip, listed, waits, props.critical, props.operations, props.only, props.detail, props.partners?.join(), heat, rows, span.from, span.to, finding]);

  /** Zooms by a factor around a point, or around the middle. Steps that follow quickly are one of the history. */
  const zoom = (factor: number, around_: number | undefined) => {
    const at = around_ ?? (span.from + span.to) / 2;
    quickly({ from: at - (at - span.from) * factor, to: at + (span.to - at) * factor });
  };
  const move = (part: number) => {
    const by = Math.max(-span.from, Math.min(all.to - span.to, part * (span.to - span.from)));
    quickly({ from: span.from + by, to: span.to + by });
  };
  const quickly = (next: Span) => {
    const now = performance.now();
    props.show(next, now - last.current < 700);
    last.current = now;
  };
  const select = (hit: Hit | undefined) => {
    if (!hit) return;
    if (!isMain) return;
    if (hit["phase"] !== undefined) {
      props.show({ from: hit["from"] as number, to: hit["to"] as number });
      return;
    }
    const row = rows[hit["row"] as number];
    if (!row) return;
    if (!isSingle(row) && !hit["wait"]) openRow(row);
    else go({ sel: `${hit["location"] as number}@${hit["time"] as number}` });
  };
  /** Shows what is in a band: the processes of a node, or fewer of them in each row. */
  const openRow = (row: TimelineRow) => {
    if (row.node !== null) toggle(row, rows);
    else if (row.parts.length === 0) go({ rows: `${row.first}-${row.end}`, rowsort: undefined, open: undefined, nodes: undefined });
  };
  const step = (dx: number, dy: number) => {
    const from = tip ?? find(LABELS + room / 2, TOP + height / 2);
    if (!from) return;
    const row = Math.max(0, Math.min(rows.length - 1, (from["row"] as number) + dy));
    let at = from["time"] as number;
    const n = sliceAt(row, at);
    if (dx !== 0 && n !== undefined && listed) at = dx > 0 ? (listed.to[n] as number) : (listed.from[n] as number) - 1;
    else if (dx !== 0) at += (dx * (span.to - span.from)) / 50;
    at = Math.max(span.from, Math.min(span.to - 1, at));
    const hit = find(x(at) + 0.01, TOP + row * height + height / 2);
    const exact = hit && { ...hit, time: Math.floor(at) };
    setTip(exact);
    if (exact) said.value = exact.text;
  };
  const onKey = (event: KeyboardEvent) => {
    if (isForControl(event)) return;
    const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const arrow = arrows[event.code];
    if (event.code === "KeyW") zoom(0.6, pointer.current);
    else if (event.code === "KeyS") zoom(1 / 0.6, pointer.current);
    else if (event.code === "KeyA") move(-0.25);
    else if (event.code === "KeyD") move(0.25);
    else if (event.code === "KeyF") props.show(all);
    else if (event.code === "Period") props.goInstance?.(1);
    else if (event.code === "Comma") props.goInstance?.(-1);
    else if (event.code === "BracketRight" && props.detail?.wait) {
      const { culprit, to } = props.detail.wait;
      go({ sel: `${culprit}@${Math.max(0, to - 1)}` });
    } else if (event.code === "KeyP" && tip && rows[tip["row"] as number]) {
      const row = rows[tip["row"] as number] as TimelineRow;
      go({ pin: pinned(props.pins, row.key) });
      said.value = `${row.name} is ${props.pins.includes(row.key) ? "not pinned" : "pinned"}`;
    } else if (arrow && event.target === canvas.current) step(...arrow);
    else if (event.code === "Enter" && event.target === canvas.current) select(tip);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const handler = useRef(onKey);
  handler.current = onKey;
  useEffect(() => {
    if (!isMain) return;
    const listen = (event: KeyboardEvent) => handler.current(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  const wheel = useRef<(event: WheelEvent) => void>(() => undefined);
  wheel.current = (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const box = canvas.current?.getBoundingClientRect();
    if (event.ctrlKey && box) zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.clientX - box.left));
    else move((event.deltaY || event.deltaX) > 0 ? 0.1 : -0.1);
  };
  useEffect(() => {
    const element = canvas.current;
    const listen = (event: WheelEvent) => wheel.current(event);
    element?.addEventListener("wheel", listen, { passive: false });
    return () => element?.removeEventListener("wheel", listen);
  }, []);
  const place = (event: MouseEvent): [number, number] => {
    const box = canvas.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };
  const inStrip = (px: number) => axis.from + ((px - LABELS) / Math.max(1, room)) * (axis.to - axis.from);
  return (
    <div class="picture timeline-picture" aria-busy={isSharp && !props.isMoving && span.from === props.settled.from && span.to === props.settled.to ? undefined : "true"}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={!isMain ? `Timeline of ${props.title ?? "another run"}` : "Timeline. W and S zoom, A and D move, arrows go from one thing to the next, Enter selects, or opens and folds a node, P pins a row, full stop and comma go through the instances of the finding."}
        onMouseMove={(event) => {
          const [px, py] = place(event);
          pointer.current = px >= LABELS ? timeAt(px) : undefined;
          if (drag) setDrag({ ...drag, to: Math.max(LABELS, px) });
          else setTip(find(px, py));
        }}
        onMouseLeave={() => {
          setTip(undefined);
          setDrag(undefined);
          pointer.current = undefined;
        }}
        onMouseDown={(event) => {
          const [px, py] = place(event);
          if (event.button === 0 && px >= LABELS) setDrag({ from: px, to: px, strip: py < STRIP });
        }}
        onMouseUp={(event) => {
          const [px, py] = place(event);
          const wide = drag && Math.abs(drag.to - drag.from) > 4;
          if (drag && wide) {
            const [a, b] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
            props.show(drag.strip ? { from: inStrip(a), to: inStrip(b) } : { from: timeAt(a), to: timeAt(b) });
          } else if (drag?.strip) {
            const half = (span.to - span.from) / 2;
            const middle = Math.max(half, Math.min(all.to - half, inStrip(px)));
            props.show({ from: middle - half, to: middle + half });
          } else if (px < LABELS && py > TOP) {
            const row = rows[Math.floor((py - TOP) / height)];
            if (isMain && row && !isSingle(row)) openRow(row);
          } else {
            select(find(px, py));
          }
          setDrag(undefined);
        }}
        onBlur={() => setTip(undefined)}
      />
      {tip && !drag && (
        <Tip x={tip.x} y={tip.y} text={tip.text} room={size} />
      )}
      <span class="save">
        <button type="button" class="small" title="Save the picture as PNG" onClick={() => canvas.current && saveCanvas("timeline", canvas.current)}>PNG</button>
      </span>
      {drag && Math.abs(drag.to - drag.from) > 4 && (
        <div class="area" aria-hidden="true" style={{
          left: `${Math.min(drag.from, drag.to)}px`,
          top: `${drag.strip ? 0 : TOP}px`,
          width: `${Math.abs(drag.to - drag.from)}px`,
          height: `${drag.strip ? STRIP : rows.length * height}px`,
        }} />
      )}
    </div>
  );
}
