// What every process did when. Rows are processes, or bands of them; colours are those of all views, waits are hatched.
// Shares come first from a pyramid and then exactly; nothing is drawn that is not in the time it stands for.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, isFile, question, useAnswer } from "../data";
import { CLASS_COLOURS, CLASS_NAMES } from "../colours";
import { bytes, grouped, percent, seconds, share, site } from "../format";
import { colour, findable, type Hit } from "../canvas";
import { type Models, of, type Shown, useModels } from "../runs";
import { go, link, painted, said, state } from "../state";
import { drawOperations, operationAt, type Places } from "./operations";
import type {
  Bars, Finding, Overview, TimelineAbout, TimelineAt, TimelineCritical, TimelineDoing, TimelineInstance, TimelineInstances,
  TimelineOperations, TimelineRow, TimelineRows, TimelineSlices, TimelineTotals, TimelineWait, TimelineWaits,
} from "../types";

/** Rows on a screen; more processes are bands. */
const MOST_ROWS = 64;
/** Arrows without a finding, and with one. */
const FEW_ARROWS = 60;
const MOST_ARROWS = 2000;
/** Width of the names, height of the strip of the whole run and of the ruler. */
const LABELS = 150;
const STRIP = 46;
const RULER = 24;
const TOP = STRIP + RULER;
/** Columns in an exported file, which cannot know the window. */
const FILE_COLUMNS = 1024;

export interface Span {
  from: number;
  to: number;
}

/** A span of the address. */
function parseSpan(text: string | undefined, length: number): Span | undefined {
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
function parseRows(text: string | undefined, all: number): [number, number] {
  const found = /^(\d+)-(\d+)$/.exec(text ?? "");
  if (!found) return [0, all];
  const first = Math.min(Number(found[1]), Math.max(0, all - 1));
  return [first, Math.max(first + 1, Math.min(Number(found[2]), all))];
}

export function TimelineView({ shown }: { shown: Shown }): JSX.Element {
  const [again, setAgain] = useState(0);
  const { value: about, error } = useAnswer<TimelineAbout>(of(shown.first, "timeline"), { again: again || undefined });
  const other = useAnswer<TimelineAbout>(shown.second && of(shown.second, "timeline"), { again: again || undefined }).value;
  const models = useModels(shown);
  const making = about?.state === "making" || other?.state === "making";
  useEffect(() => {
    if (!making) return;
    const timer = setTimeout(() => setAgain(again + 1), 500);
    return () => clearTimeout(timer);
  }, [about, other]);
  if (error) return <p class="empty" role="alert">{error}</p>;
  if (!about || !models) return <p class="empty" aria-busy="true">Reading the timeline …</p>;
  if (making) return <p class="empty">Making the index of the timeline: {percent(about.state === "making" ? about.done : (other?.done ?? 0))}. It is kept beside the archive.</p>;
  if (about.state !== "ready") return <p class="empty">{about.why}</p>;
  return <Timeline shown={shown} run={shown.first} about={about} models={models} beside={other?.state === "ready" && !isFile() ? other : undefined} />;
}

/** A tile with what it shows. */
interface Drawn {
  what: string;
  span: Span;
  rows: TimelineRow[];
  columns: number;
  bytes: Uint8Array;
}

/** Shares of the rows: at once, then exactly. The last are shown until others arrive. */
function useTile(run: string, rows: TimelineRow[] | undefined, span: Span, columns: number): { tile: Drawn | undefined; isSharp: boolean } {
  const [tile, setTile] = useState<{ drawn: Drawn; sharp: boolean } | undefined>();
  const [failed, setFailed] = useState<string | undefined>();
  const before = useRef(0);
  const query = rows && rows.length > 0 && columns > 0 ? rowParameters(rows) : undefined;
  const what = query ? question("", { ...query, ...span, columns }) : "";
  useLayoutEffect(() => {
    if (!query || !rows) return;
    let wanted = true;
    let exact = false;
    const get = (sharp: boolean) =>
      ask<Uint8Array>(of(run, "timeline/tile"), { ...query, ...span, columns, sharp }).then(
        (bytes) => {
          // What is exact may come first, and stays.
          if (!wanted || (exact && !sharp)) return;
          exact = sharp;
          setTile({ drawn: { what, span, rows, columns, bytes }, sharp });
        },
        () => wanted && setFailed(what),
      );
    if (!isFile()) void get(false);
    // Whoever zooms on quickly is not waited for.
    const now = performance.now();
    const timer = setTimeout(() => void get(true), isFile() || now - before.current > 300 ? 0 : 60);
    before.current = now;
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [what, run]);
  return { tile: tile?.drawn, isSharp: failed === what || (tile?.sharp === true && tile.drawn.what === what) };
}

/** The parameters that ask for rows in an order. */
function arrangement(sort: string, only: number | undefined, range: Record<string, number>): Record<string, string | number | undefined> {
  if (sort === "nodes") return { fold: "node" };
  if (sort === "number" && only === undefined) return range;
  return { sort: sort === "number" ? undefined : sort, only };
}

/** The parameters that name rows. */
function rowParameters(rows: TimelineRow[]): Record<string, string | number> {
  const first = rows[0] as TimelineRow;
  const band = first.end - first.first;
  const isRange = rows.every((row, at) =>
    (at === 0 || row.first === (rows[at - 1] as TimelineRow).end) && (row.end - row.first === band || at + 1 === rows.length));
  if (isRange) return { first: first.first, end: (rows.at(-1) as TimelineRow).end, band };
  return { rows: rows.map((row) => (row.end - row.first === 1 ? row.first : `${row.first}-${row.end}`)).join(".") };
}

/** The timeline of another run, over the axis of the first: both have ended their start-up at the same place. */
function Beside({ run, about, models, span, shift, title, show, critical: isCritical, operations: isOperations }: {
  run: string;
  about: TimelineAbout;
  models: Models;
  span: Span;
  /** Time of this run minus that of the first. */
  shift: number;
  title: string;
  show: (span: Span, replace?: boolean) => void;
  critical: boolean;
  operations: boolean;
}): JSX.Element | null {
  const all = { from: 0, to: about.length };
  const own = { from: span.from + shift, to: span.to + shift };
  const asked = clamped(own, all);
  const band = about.locations <= MOST_ROWS ? 1 : bandOf(about.locations);
  const rows = useAnswer<TimelineRows>(of(run, "timeline/rows"), { first: 0, end: about.locations, band }).value?.rows;
  const query = { ...(rows && rowParameters(rows)), ...asked };
  const isThere = rows && asked !== undefined;
  const waits = useAnswer<TimelineWaits>(isThere ? of(run, "timeline/waits") : undefined, { ...query, most: FEW_ARROWS }).value;
  const path = useAnswer<TimelineCritical>(isThere && isCritical ? of(run, "timeline/critical") : undefined, { ...asked }).value;
  const operations = useAnswer<TimelineOperations>(isThere && isOperations ? of(run, "timeline/operations") : undefined, { ...query, most: mostOperations() }).value;
  // Call paths have the numbers of their run.
  const swapped = useMemo(() => {
    const [first, second] = models.calls.from;
    return { ...models, calls: { ...models.calls, from: [second, first] as typeof models.calls.from } };
  }, [models]);
  if (!rows) return null;
  return (
    <Canvas run={run} about={about} models={swapped} rows={rows} span={own} all={all} waits={waits?.waits ?? []} finding={undefined}
      critical={path} operations={operations} only={undefined} detail={undefined} title={title} shift={shift}
      show={(next, replace) => show({ from: next.from - shift, to: next.to - shift }, replace)} />
  );
}

/** Arrows of operations that a window has room for; more are bundles. */
function mostOperations(): number {
  return Math.min(MOST_ARROWS, Math.max(60, 50 * Math.round(innerWidth / 400)));
}

/** The part of a span that lies in a run. */
function clamped(span: Span, all: Span): Span | undefined {
  const [from, to] = [Math.max(all.from, Math.floor(span.from)), Math.min(all.to, Math.ceil(span.to))];
  return from < to ? { from, to } : undefined;
}

function Timeline({ shown, run, about, models, beside }: {
  shown: Shown;
  run: string;
  about: TimelineAbout;
  models: Models;
  beside: TimelineAbout | undefined;
}): JSX.Element {
  const { length, locations } = about;
  const all = { from: 0, to: length };
  const overview = useAnswer<Overview>(of(run, "overview")).value;
  const entry = state.value["finding"] === undefined ? undefined : overview?.entries[Number(state.value["finding"])];
  const finding = entry && overview?.findings[entry.findings[Number(state.value["part"] ?? 0)] ?? -1];
  const named = finding && finding.call !== null ? { call: finding.call, pattern: finding.pattern } : undefined;
  const instances = useAnswer<TimelineInstances>(named && of(run, "timeline/instances"), named).value;
  const at = Number(state.value["instance"] ?? 0);
  const instance = named ? instances?.worst[at] : undefined;
  // A finding without a time is opened at its worst instance.
  const given = parseSpan(state.value["t"], length);
  const span = given ?? (instance ? around(instance, length) : all);
  const [first, end] = parseRows(state.value["rows"], locations);
  const sort = state.value["rowsort"] ?? "number";
  const item = state.value["only"] === undefined ? undefined : models.calls.byKey.get(state.value["only"]);
  const only = item === undefined ? undefined : models.calls.of[item]?.[0];
  const band = end - first <= MOST_ROWS ? 1 : bandOf(end - first);
  const answered = useAnswer<TimelineRows>(of(run, "timeline/rows"), arrangement(sort, only, { first, end, band })).value;
  const pins = (state.value["pin"] ?? "").split(".").filter(Boolean).map(Number);
  const pinned = useAnswer<TimelineRows>(pins.length > 0 ? of(run, "timeline/rows") : undefined, { rows: pins.join(".") }).value;
  const needed = instance && locations > MOST_ROWS ? [instance.location, instance.culprit] : [];
  const extra = useAnswer<TimelineRows>(needed.length > 0 ? of(run, "timeline/rows") : undefined, { rows: needed.join(".") }).value;
  const rows = useMemo(() => {
    if (!answered || (pins.length > 0 && !pinned) || (needed.length > 0 && !extra)) return undefined;
    const top = [...(needed.length > 0 ? (extra?.rows ?? []) : []), ...(pins.length > 0 ? (pinned?.rows ?? []) : [])];
    const isTop = (row: TimelineRow) => row.end - row.first === 1 && top.some((it) => it.first === row.first);
    return [...top.filter((row, at) => top.findIndex((it) => it.first === row.first) === at), ...answered.rows.filter((row) => !isTop(row))];
  }, [answered, pinned, extra, pins.join("."), needed.join(".")]);
  const show = (next: Span, replace = false) => {
    const least = 20;
    let from = Math.max(0, Math.round(next.from));
    let to = Math.min(length, Math.round(next.to));
    if (to - from < least) [from, to] = [Math.max(0, from - least), Math.min(length, from + least)];
    go({ t: from === 0 && to === length && !finding ? undefined : `${from}-${to}` }, replace);
  };
  const goInstance = (next: number) => {
    const count = instances?.worst.length ?? 0;
    if (count === 0) return;
    const to = Math.max(0, Math.min(count - 1, next));
    const it = instances?.worst[to];
    if (!it) return;
    const middle = Math.floor((it.from + it.to) / 2);
    go({ instance: to || undefined, t: undefined, sel: `${it.location}@${middle}` });
    said.value = `Instance ${to + 1} of ${grouped(instances?.count ?? 0)}: ${seconds(it.seconds)}`;
  };
  const [selected, isSelected] = parseSelected(state.value["sel"]);
  const detail = useAnswer<TimelineAt>(isSelected ? of(run, "timeline/at") : undefined, isSelected ? { location: selected[0], time: selected[1] } : {}).value;
  const [table, setTable] = useState(false);
  const critical = state.value["critical"] !== "0";
  const waits = useAnswer<TimelineWaits>(rows && of(run, "timeline/waits"), {
    ...(rows && rowParameters(rows)), ...span, ...named, most: named ? MOST_ARROWS : FEW_ARROWS,
  }).value;
  const isOperations = state.value["operations"] !== "0" && !isFile();
  const operations = useAnswer<TimelineOperations>(rows && isOperations ? of(run, "timeline/operations") : undefined, {
    ...(rows && rowParameters(rows)), ...span, most: mostOperations(),
  }).value;
  const path = useAnswer<TimelineCritical>(critical ? of(run, "timeline/critical") : undefined, { ...span }).value;
  return (
    <>
      <div class="toolbar">
        <label>
          Finding{" "}
          <select value={named ? (state.value["finding"] ?? "") : ""}
            onChange={(event) => go({ finding: event.currentTarget.value, part: undefined, instance: undefined, t: undefined, sel: undefined })}>
            <option value="">none</option>
            {overview?.entries.map((entry, n) => {
              const it = overview.findings[entry.findings[0] ?? -1];
              return it && <option key={n} value={n}>{n + 1}. {it.region} {site({ file: it.file, line: it.line })}</option>;
            })}
          </select>
        </label>
        {named && instances && (
          <span class="pager">
            <button type="button" class="small" disabled={at === 0} onClick={() => goInstance(at - 1)} title="Previous instance (,)">Longer</button>
            <span>{instances.worst.length === 0 ? "it is not known who ended these waits" : <>{at + 1} of {grouped(instances.count)}</>}</span>
            <button type="button" class="small" disabled={at + 1 >= instances.worst.length} onClick={() => goInstance(at + 1)} title="Next instance (.)">Shorter</button>
          </span>
        )}
        <label>
          Rows{" "}
          <select value={sort} onChange={(event) => go({ rowsort: event.currentTarget.value === "number" ? undefined : event.currentTarget.value, rows: undefined })}>
            <option value="number">by number</option>
            <option value="wait">that wait most</option>
            <option value="blame">that others wait for most</option>
            <option value="node">by node</option>
            {about.nodes.length > 1 && <option value="nodes">nodes as rows</option>}
            {only !== undefined && <option value="call">longest in the call</option>}
          </select>
        </label>
        {only !== undefined && (
          <span class="pager">
            <span>Only <code>{callName(models, only)}</code>{callSite(models, only)}</span>
            <button type="button" class="small" onClick={() => go({ only: undefined, rowsort: sort === "call" ? undefined : sort })}>All calls</button>
          </span>
        )}
        {(first > 0 || end < locations) && <button type="button" class="small" onClick={() => go({ rows: undefined })}>All {grouped(locations)} rows</button>}
        <label class="check"><input type="checkbox" checked={critical} onChange={(event) => go({ critical: event.currentTarget.checked ? undefined : "0" })} /> Critical path</label>
        {!isFile() && (
          <label class="check" title={operations?.missing || undefined}>
            <input type="checkbox" checked={isOperations} onChange={(event) => go({ operations: event.currentTarget.checked ? undefined : "0" })} /> Operations
          </label>
        )}
        <button type="button" class="small" onClick={() => show(all)} title="Fit (F)">Whole run</button>
        <span class="grow" />
        <label class="check"><input type="checkbox" checked={table} onChange={(event) => setTable(event.currentTarget.checked)} /> As a table</label>
      </div>
      <div class="timeline">
        <section class="pane" aria-label="Timeline">
          {table
            ? <WaitTable waits={waits} models={models} rows={rows} />
            : rows && (
              <Canvas run={run} about={about} models={models} rows={rows} span={span} all={all} waits={waits?.waits ?? []}
                finding={finding && named ? finding : undefined} critical={critical ? path : undefined} operations={isOperations ? operations : undefined} detail={isSelected ? detail : undefined} only={only}
                title={beside && titleOf(shown, run)} show={show} goInstance={(by) => goInstance(at + by)} />
            )}
          {!table && beside && shown.second && (
            <Beside run={shown.second} about={beside} models={models} span={span} shift={beside.started - about.started}
              title={titleOf(shown, shown.second)} show={show} critical={critical} operations={isOperations} />
          )}
          <Legend run={run} about={about} critical={critical} missing={isOperations ? operations?.missing : undefined} />
        </section>
        <section class="pane timeline-side" aria-label="Details" tabIndex={0}>
          {isSelected && detail
            ? <Details run={run} at={detail} models={models} length={length} pins={pins} />
            : <Totals run={run} rows={rows} span={span} about={about} models={models} />}
        </section>
      </div>
    </>
  );
}

function titleOf(shown: Shown, run: string): string {
  const all = shown.runs.runs;
  const it = all.find((one) => one.id === run);
  const isSame = all.filter((one) => one.title === it?.title).length > 1;
  return (isSame ? it?.path.split("/").filter((part) => part && !part.endsWith(".cubex")).at(-1) : it?.title) ?? run;
}

/** What colours mean. */
function Legend({ run, about, critical, missing }: {
  run: string;
  about: TimelineAbout;
  critical: boolean;
  missing: string | undefined;
}): JSX.Element {
  const bars = useAnswer<Bars>(of(run, "bars"), { count: 0 }).value;
  const occurs = (name: string) => !bars || name === "wait" || (bars.whole[bars.classes.indexOf(name)] ?? 0) > 0;
  return (
    <p class="legend timeline-legend">
      {about.classes.filter(occurs).map((name) => (
        <span key={name} class="legend-item">
          <span class={`swatch${name === "wait" ? " hatched" : ""}`} style={{ backgroundColor: CLASS_COLOURS[name] ?? "" }} aria-hidden="true" />
          {CLASS_NAMES[name]}
        </span>
      ))}
      {critical && <span class="legend-item"><span class="dashes" aria-hidden="true" />Critical path</span>}
      {missing && <span class="legend-item dim">{missing}</span>}
    </p>
  );
}

/** The size of bands for so many processes: the pyramid has rows of 16 and of powers of 2. */
function bandOf(count: number): number {
  let band = 1;
  while (count / band > MOST_ROWS) band *= 2;
  return band;
}

function parseSelected(text: string | undefined): [[number, number], boolean] {
  const found = /^(\d+)@(\d+)$/.exec(text ?? "");
  return found ? [[Number(found[1]), Number(found[2])], true] : [[0, 0], false];
}

function callName(models: Models, call: number | null | undefined): string {
  if (call === null || call === undefined || call < 0) return "outside of all regions";
  return models.calls.list[models.calls.from[0][call] ?? -1]?.name ?? "?";
}

function callSite(models: Models, call: number | null | undefined): string {
  if (call === null || call === undefined || call < 0) return "";
  const it = models.calls.list[models.calls.from[0][call] ?? -1];
  const where = site(it);
  return where ? ` at ${where}` : "";
}

/** Nanoseconds as a time. */
function time(nanoseconds: number): string {
  return seconds(nanoseconds / 1e9);
}

/** Steps of the ruler: 1, 2 or 5 with zeros. */
function ticks(span: Span, most: number): { at: number; text: string }[] {
  const least = (span.to - span.from) / Math.max(1, most);
  let step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, least))));
  for (const factor of [2, 2.5, 2]) if (step < least) step *= factor;
  step = Math.max(1, Math.round(step));
  const [unit, name] = span.to >= 1e9 && step >= 1e5 ? [1e9, "s"] : span.to >= 1e6 && step >= 100 ? [1e6, "ms"] : span.to >= 1e3 ? [1e3, "us"] : [1, "ns"];
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

/** Draws shares as a picture with a pixel for each column: classes on top of each other, waits hatched and at the bottom. */
function image(tile: Drawn, classes: string[], heights: number[], whole: number): OffscreenCanvas | undefined {
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
  let top = 0;
  heights.forEach((height, row) => {
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

interface CanvasProps {
  run: string;
  about: TimelineAbout;
  models: Models;
  rows: TimelineRow[];
  span: Span;
  all: Span;
  waits: TimelineWait[];
  finding: Finding | undefined;
  critical: TimelineCritical | undefined;
  operations: TimelineOperations | undefined;
  /** A call path: all others are dimmed where single slices are known. */
  only: number | undefined;
  detail: TimelineAt | undefined;
  show: (span: Span, replace?: boolean) => void;
  /** Nothing for the timeline of another run, which follows the keys and the selection of the first. */
  goInstance?: (by: number) => void;
  /** Name of the run, if there are two. */
  title?: string | undefined;
  /** Time of this run minus that of the axis. */
  shift?: number;
}

function Canvas(props: CanvasProps): JSX.Element {
  const { run, about, models, rows, span, all, waits, finding } = props;
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
  const asked = clamped(span, all);
  const { tile, isSharp: isExact } = useTile(run, size.width > 0 && asked ? rows : undefined, asked ?? all, columns);
  const isSharp = isExact || !asked;
  const isMain = props.goInstance !== undefined;
  const whole: TimelineRow[] = [{ first: 0, end: about.locations, name: "", seconds: 0, wait: 0, blame: 0 }];
  const strip = useTile(run, size.width > 0 ? whole : undefined, all, isFile() ? FILE_COLUMNS : 512).tile;
  const single = rows.some((row) => row.end - row.first === 1);
  const slices = useAnswer<TimelineSlices>(single && asked ? of(run, "timeline/slices") : undefined, { ...rowParameters(rows), ...asked });
  const listed = slices.stale ? undefined : slices.value;
  // Heights of rows in pixels of the screen.
  const height = Math.max(3, Math.min(rows.length <= 4 ? 92 : rows.length <= 8 ? 60 : 40, Math.floor((size.height - TOP - 4) / Math.max(1, rows.length))));
  const x = (at: number) => LABELS + ((at - span.from) / (span.to - span.from)) * room;
  const timeAt = (x: number) => span.from + ((x - LABELS) / Math.max(1, room)) * (span.to - span.from);
  const rowOf = useMemo(() => {
    const map = new Map<number, number>();
    rows.forEach((row, at) => {
      for (let n = row.first; n < row.end && n - row.first < 100000; n++) if (!map.has(n)) map.set(n, at);
    });
    return map;
  }, [rows]);
  const byRow = useMemo(() => {
    const lists: number[][] = rows.map(() => []);
    listed?.row.forEach((row, at) => lists[row]?.push(at));
    return lists;
  }, [listed, rows]);
  const sliceAt = (row: number, at: number): number | undefined =>
    listed ? byRow[row]?.find((n) => (listed.from[n] as number) <= at && at < (listed.to[n] as number)) : undefined;

  const places: Places = { x, top: TOP, height, rowOf, name: (location) => nameOf(rows, rowOf, location), edge: colour("--panel") };
  const find = (px: number, py: number): Hit | undefined => {
    const hit = findSlice(px, py);
    const operation = hit && props.operations && operationAt(props.operations, places, px, py);
    return hit && operation ? { ...hit, text: `${hit.text}\n${operation}`, operation } : hit;
  };
  const findSlice = (px: number, py: number): Hit | undefined => {
    const row = Math.floor((py - TOP) / height);
    if (px < LABELS || row < 0 || row >= rows.length || px > size.width) return undefined;
    const about_row = rows[row] as TimelineRow;
    const at = Math.floor(timeAt(px));
    const y = TOP + row * height + height / 2;
    const common = { x: px, y, row, location: about_row.first, time: at, sharp: isSharp };
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
    return { ...common, text: `${about_row.name} at ${time(at)}\n${text || "nothing recorded"}`, parts };
  };
  useEffect(() => (canvas.current ? findable(canvas.current, find) : undefined));

  const paint = painted.value;
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || size.width === 0) return;
    element.width = Math.round(size.width * ratio);
    element.height = Math.round(size.height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const [text, dim, line, accent] = ["--text", "--text-dim", "--line", "--accent"].map(colour) as [string, string, string, string];
    context.font = `12px ${getComputedStyle(element).fontFamily}`;
    context.textBaseline = "middle";
    drawStrip(context, strip, about, { left: LABELS, width: room }, { text, dim, line, accent }, span, all, props.title);
    const bottom = TOP + rows.length * height;
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
    rows.forEach((row, at) => {
      if (height >= 11 || at % Math.ceil(13 / height) === 0) {
        context.fillStyle = text;
        context.fillText(fitting(context, row.name, LABELS - 12), LABELS - 8, TOP + at * height + height / 2);
      }
    });
    const heights = rows.map(() => Math.round(height * ratio));
    if (tile && tile.rows === rows) {
      const picture = image(tile, about.classes, heights, heights.reduce((sum, it) => sum + it, 0));
      context.save();
      context.beginPath();
      context.rect(LABELS, TOP, room, rows.length * height);
      context.clip();
      context.imageSmoothingEnabled = false;
      context.globalAlpha = finding ? 0.32 : 1;
      if (picture) context.drawImage(picture, x(tile.span.from), TOP, x(tile.span.to) - x(tile.span.from), rows.length * height);
      context.globalAlpha = 1;
      drawSlices(context, listed, rows.length, { x, height, models, about, dimmed: finding !== undefined, only: props.only });
      drawWaits(context, waits, rowOf, { x, height, bright: finding !== undefined, rows });
      if (props.operations) drawOperations(context, props.operations, places);
      if (props.critical) drawCritical(context, props.critical, rowOf, x, height, text);
      drawArrows(context, waits, rowOf, { x, height, colour: text, span, least: finding ? 2 : 8 });
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
  }, [size, paint, tile, strip, listed, waits, props.critical, props.operations, props.only, props.detail, rows, span.from, span.to, finding]);

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
    const row = rows[hit["row"] as number];
    if (!isMain) return;
    if (row && row.end - row.first > 1) go({ rows: `${row.first}-${row.end}`, rowsort: undefined });
    else go({ sel: `${hit["location"] as number}@${hit["time"] as number}` });
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
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.target as HTMLElement).matches("input, select, textarea")) return;
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
  const inStrip = (px: number) => all.from + ((px - LABELS) / Math.max(1, room)) * (all.to - all.from);
  return (
    <div class="picture timeline-picture" aria-busy={isSharp ? undefined : "true"}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={!isMain ? `Timeline of ${props.title ?? "another run"}` : "Timeline. W and S zoom, A and D move, arrows go from one thing to the next, Enter selects, full stop and comma go through the instances of the finding."}
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
            if (isMain && row && row.end - row.first > 1) go({ rows: `${row.first}-${row.end}`, rowsort: undefined });
          } else {
            select(find(px, py));
          }
          setDrag(undefined);
        }}
        onBlur={() => setTip(undefined)}
      />
      {tip && !drag && (
        <div class="cursor" style={{ left: `${tip.x}px`, top: `${tip.y}px` }} aria-hidden="true">
          <div class={`tip${tip.x > size.width * 0.6 ? " left" : ""}${tip.y > size.height * 0.7 ? " above" : ""}`}>
            {tip.text.split("\n").map((line, at) => <div key={at}>{line}</div>)}
          </div>
        </div>
      )}
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

function nameOf(rows: TimelineRow[], rowOf: Map<number, number>, location: number): string {
  const row = rows[rowOf.get(location) ?? -1];
  return row && row.end - row.first === 1 ? row.name : `location ${location}`;
}

/** A text that fits, without its middle if it is too long. */
function fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let keep = text.length - 1;
  while (keep > 4 && context.measureText(`${text.slice(0, keep / 2)}…${text.slice(-keep / 2)}`).width > width) keep -= 1;
  return `${text.slice(0, keep / 2)}…${text.slice(-keep / 2)}`;
}

/** The whole run in one line: the share of waiting as a curve, and what of it is shown below. */
function drawStrip(
  context: CanvasRenderingContext2D,
  tile: Drawn | undefined,
  about: TimelineAbout,
  at: { left: number; width: number },
  colours: { text: string; dim: string; line: string; accent: string },
  span: Span,
  all: Span,
  title: string | undefined,
): void {
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
    context.moveTo(at.left, top + height);
    for (let column = 0; column < tile.columns; column++) {
      const part = (tile.bytes[column * about.classes.length + wait] ?? 0) / 255;
      context.lineTo(at.left + (column / tile.columns) * at.width, top + height - part * height);
      context.lineTo(at.left + ((column + 1) / tile.columns) * at.width, top + height - part * height);
    }
    context.lineTo(at.left + at.width, top + height);
    context.fill();
    context.globalAlpha = 1;
  }
  if (span.from > all.from || span.to < all.to) {
    const x = (time: number) => at.left + (time / (all.to - all.from)) * at.width;
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
function drawSlices(
  context: CanvasRenderingContext2D,
  slices: TimelineSlices | undefined,
  rows: number,
  with_: Drawing & { models: Models; about: TimelineAbout; dimmed: boolean; only: number | undefined },
): void {
  if (!slices || rows === 0) return;
  const { x, height } = with_;
  context.textAlign = "left";
  for (let n = 0; n < slices.row.length; n++) {
    const [from, to] = [x(slices.from[n] as number), x(slices.to[n] as number)];
    if (with_.only !== undefined && slices.call[n] !== with_.only) {
      context.fillStyle = "rgba(255,255,255,0.78)";
      context.fillRect(from, TOP + (slices.row[n] as number) * height, to - from, Math.max(1, height - 2));
      continue;
    }
    if (to - from < 3) continue;
    const top = TOP + (slices.row[n] as number) * height;
    context.fillStyle = "rgba(0,0,0,0.28)";
    context.fillRect(from, top, 1, Math.max(1, height - 2));
    const isWait = (slices.wait[n] as number) >= 0;
    const isCompute = with_.about.classes[slices.class[n] as number] === "compute";
    const [left, right] = [Math.max(from, LABELS), to];
    if (height >= 14 && right - left > 46 && !isWait && !with_.dimmed) {
      const name = callName(with_.models, slices.call[n]);
      const shown = fittingEnd(context, name, right - left - 8);
      if (shown) {
        context.fillStyle = isCompute ? "rgba(0,0,0,0.72)" : "#ffffff";
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

/** The waits of a finding, bright above all else; of others marks, where a long one would not be seen. */
function drawWaits(
  context: CanvasRenderingContext2D,
  waits: TimelineWait[],
  rowOf: Map<number, number>,
  with_: Drawing & { bright: boolean; rows: TimelineRow[] },
): void {
  const { x, height } = with_;
  const longest = waits[0] ? waits[0].to - waits[0].from : 0;
  for (const wait of waits) {
    const row = rowOf.get(wait.location);
    if (row === undefined) continue;
    const [from, to] = [x(wait.from), x(wait.to)];
    const top = TOP + row * height;
    if (with_.bright) {
      // In a band every process has its part of the height.
      const { first, end } = with_.rows[row] as TimelineRow;
      const part = Math.max(2, height - 2) / (end - first);
      context.fillStyle = hatch(context);
      context.fillRect(from, top + (wait.location - first) * part, Math.max(1.5, to - from), Math.max(0.5, part));
    } else if (to - from < 3 && wait.to - wait.from >= longest / 10) {
      context.fillStyle = CLASS_COLOURS["wait"] as string;
      context.beginPath();
      context.moveTo(from - 3, top);
      context.lineTo(from + 3, top);
      context.lineTo(from, top + 4);
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
function drawArrows(
  context: CanvasRenderingContext2D,
  waits: TimelineWait[],
  rowOf: Map<number, number>,
  with_: Drawing & { colour: string; span: Span; least: number },
): void {
  const { x, height, span } = with_;
  context.strokeStyle = with_.colour;
  context.fillStyle = with_.colour;
  context.globalAlpha = 0.8;
  context.lineWidth = 1;
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
}

function drawCritical(
  context: CanvasRenderingContext2D,
  path: TimelineCritical,
  rowOf: Map<number, number>,
  x: (at: number) => number,
  height: number,
  line: string,
): void {
  context.strokeStyle = line;
  context.globalAlpha = 0.7;
  context.lineWidth = 1.6;
  context.setLineDash([5, 3]);
  context.beginPath();
  let began = false;
  path.location.forEach((location, n) => {
    const row = rowOf.get(location);
    if (row === undefined) return;
    const y = TOP + row * height + Math.max(1, height - 2) / 2;
    if (began) context.lineTo(x(path.from[n] as number), y);
    else context.moveTo(x(path.from[n] as number), y);
    context.lineTo(x(path.to[n] as number), y);
    began = true;
  });
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 1;
  context.globalAlpha = 1;
}

/** Lines between nodes. */
function drawNodes(context: CanvasRenderingContext2D, about: TimelineAbout, rows: TimelineRow[], height: number, line: string, width: number): void {
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

/** What is selected: the call, the wait, who ended it, and what that one did meanwhile. */
function Details({ run, at, models, length, pins }: { run: string; at: TimelineAt; models: Models; length: number; pins: number[] }): JSX.Element {
  const key = at.call === null ? undefined : models.calls.list[models.calls.from[0][at.call] ?? -1]?.key;
  const whole = at.meanwhile.reduce((sum, it) => sum + it.seconds, 0);
  const more = Math.floor((at.to - at.from) / 2) + 1;
  const near = `${Math.max(0, Math.round(at.from - more))}-${Math.min(length, Math.round(at.to + more))}`;
  const isPinned = pins.includes(at.location);
  const pin = (isPinned ? pins.filter((it) => it !== at.location) : [...pins, at.location]).join(".");
  const said_ = at.class === "wait" ? "waits in" : at.class === "compute" ? "computes in" : at.class === "none" ? "has not started or has ended" : "is in";
  return (
    <>
      <div class="pane-head"><h2>{at.name}</h2><button type="button" class="small" onClick={() => go({ sel: undefined })}>Close</button></div>
      <div class="pad details">
        <p>{said_} {at.class !== "none" && <code>{callName(models, at.call)}</code>}{callSite(models, at.call)}</p>
        <dl class="finding-facts">
          <dt>From</dt><dd class="num">{time(at.from)}</dd>
          <dt>Length</dt><dd class="num">{time(at.to - at.from)}</dd>
          {at.wait && (
            <>
              <dt>Wait</dt><dd>{at.wait.title}: {at.meaning}</dd>
              <dt>Ended by</dt>
              <dd><a href={link({ sel: `${at.wait.culprit}@${Math.max(0, at.wait.to - 1)}` })}>{at.culprit_name}</a> at <span class="num">{time(at.wait.to)}</span></dd>
            </>
          )}
        </dl>
        {at.operations.length > 0 && (
          <>
            <h3>Operations of the call</h3>
            <ul class="doings">
              {at.operations.map((it, n) => (
                <li key={n}>
                  <span class="swatch" style={{ backgroundColor: CLASS_COLOURS[it.kind] ?? "" }} aria-hidden="true" />
                  <span class="doing-what">
                    {it.kind} of {bytes(it.bytes)}, {it.kind === "get" ? "from" : "to"}{" "}
                    <a href={link({ sel: `${it.partner}@${Math.floor((it.from + it.to) / 2)}` })}>{it.partner_name}</a>
                  </span>
                  <span class="num">{it.to > it.from ? time(it.to - it.from) : "not completed here"}</span>
                </li>
              ))}
            </ul>
            {at.operations_count > at.operations.length && <p class="dim">and {grouped(at.operations_count - at.operations.length)} more</p>}
          </>
        )}
        {at.wait && (
          <>
            <h3>Meanwhile {at.culprit_name}</h3>
            <DoingList list={at.meanwhile} whole={whole} models={models} />
          </>
        )}
        <p class="finding-links">
          <a href={link({ t: near })}>Zoom to it</a>
          {key && <a href={link({ view: "calls", call: key, run })}>Call path and source</a>}
          {key && <a href={link({ only: key, rowsort: "call" })}>Only rows with this call</a>}
          <a href={link({ pin: pin || undefined })}>{isPinned ? "Unpin the row" : "Pin the row"}</a>
        </p>
      </div>
    </>
  );
}

/** What was done, what took longest first. */
function DoingList({ list, whole, models }: { list: TimelineDoing[]; whole: number; models: Models }): JSX.Element {
  return (
    <ul class="doings">
      {list.map((it, n) => (
        <li key={n}>
          <span class={`swatch${it.class === "wait" ? " hatched" : ""}`} style={{ backgroundColor: CLASS_COLOURS[it.class] ?? "" }} aria-hidden="true" />
          <span class="doing-what">
            {it.class === "compute" ? "computes in " : it.class === "wait" ? "waits in " : ""}
            <code>{callName(models, it.call)}</code>{callSite(models, it.call)}
            {it.count > 1 && <span class="dim"> × {grouped(it.count)}</span>}
          </span>
          <span class="num">{seconds(it.seconds)}<br /><span class="dim">{percent(share(it.seconds, whole))}</span></span>
        </li>
      ))}
    </ul>
  );
}

/** What all rows did in the span. */
function Totals({ run, rows, span, about, models }: {
  run: string;
  rows: TimelineRow[] | undefined;
  span: Span;
  about: TimelineAbout;
  models: Models;
}): JSX.Element {
  const { value: totals } = useAnswer<TimelineTotals>(rows && !isFile() ? of(run, "timeline/totals") : undefined, { ...(rows && rowParameters(rows)), ...span });
  const whole = totals?.totals.reduce((sum, it) => sum + it.seconds, 0) ?? 0;
  return (
    <>
      <div class="pane-head"><h2>In this span</h2><span class="dim num">{time(span.to - span.from)}</span></div>
      <div class="pad details">
        <p class="dim">Click on something to see its call, who ended a wait, and what that process did meanwhile.</p>
        {totals?.too_many && <p>More happened here than can be added up at once: zoom in, or see the other views for the whole run.</p>}
        {totals && !totals.too_many && (
          <DoingList list={totals.totals.slice(0, 14).map((it) => ({ ...it, class: about.classes[it.class] ?? "" }))} whole={whole} models={models} />
        )}
      </div>
    </>
  );
}

/** The longest waits of the view, for those who cannot see the picture. */
function WaitTable({ waits, models, rows }: { waits: TimelineWaits | undefined; models: Models; rows: TimelineRow[] | undefined }): JSX.Element {
  const name = (location: number) => rows?.find((row) => row.first === location && row.end === location + 1)?.name ?? `location ${location}`;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="The longest waits">
      <table class="numbers">
        <thead><tr><th scope="col">Who</th><th scope="col">Waits in</th><th scope="col">From</th><th scope="col">Wait</th><th scope="col">For</th><th scope="col">Kind</th></tr></thead>
        <tbody>
          {waits?.waits.map((it, n) => (
            <tr key={n}>
              <th scope="row"><a href={link({ sel: `${it.location}@${Math.floor((it.from + it.to) / 2)}` })}>{name(it.location)}</a></th>
              <td><code>{callName(models, it.call)}</code>{callSite(models, it.call)}</td>
              <td class="num">{time(it.from)}</td>
              <td class="num">{time(it.to - it.from)}</td>
              <td>{name(it.culprit)}</td>
              <td>{it.title}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
