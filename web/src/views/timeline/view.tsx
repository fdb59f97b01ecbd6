// What every process did when. Rows are processes, or bands of them; colours are those of all views, waits are hatched.
// Shares come first from a pyramid and then exactly; nothing is drawn that is not in the time it stands for.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isFile, timelineUntil, useAnswer } from "../../data";
import { grouped, percent, seconds, site } from "../../format";
import { type Models, of, type Shown, useModels } from "../../runs";
import { go, said, state } from "../../state";
import type {
  Overview, TimelineAbout, TimelineAt, TimelineCritical, TimelineCounter, TimelineCounters, TimelineInstances, TimelineOperations,
  TimelinePhases, TimelineRow, TimelineRows, TimelineSamples, TimelineWaits,
} from "../../types";
import { Canvas } from "./canvas";
import {
  around, bandOf, clamped, FEW_ARROWS, isHeat, MOST_ARROWS, MOST_ROWS, mostOperations, parseRows, parseSelected, parseSpan,
  rowParameters, type Span,
} from "./common";
import { arrangementOf, CallFilter, RowControls, rowQuestion, useChosenCalls } from "./controls";
import { Details, Legend, Totals, WaitTable } from "./panels";

/** More processes than this are shown before it is known which of them behave alike. */
const MANY = 4096;
/** Time without movement after which the picture stands still, in milliseconds. */
const CALM = 250;
/** Time between two addresses while the picture moves, in milliseconds. */
const SETTLE = 150;

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

/** The timeline of another run, over the axis of the first: both have ended their start-up at the same place. */
function Beside({ run, about, models, span, live, axis, shift, title, show, critical: isCritical, operations: isOperations }: {
  run: string;
  about: TimelineAbout;
  models: Models;
  /** The span that answers are about, and the one that is drawn. */
  span: Span;
  live: Span;
  /** Span of both runs, in times of the first. */
  axis: Span;
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
    <Canvas run={run} about={about} models={swapped} rows={rows} span={{ from: live.from + shift, to: live.to + shift }} settled={own} all={all} axis={{ from: axis.from + shift, to: axis.to + shift }} waits={waits?.waits ?? []} finding={undefined}
      critical={path} operations={operations} only={undefined} detail={undefined} phases={undefined} counter={undefined} pins={[]} title={title} shift={shift}
      show={(next, replace) => show({ from: next.from - shift, to: next.to - shift }, replace)} />
  );
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
  // Both have ended their start-up at the same place of the strip.
  const late = beside && beside.started - about.started;
  const axis = beside && late !== undefined ? { from: Math.min(0, -late), to: Math.max(length, beside.length - late) } : undefined;
  const overview = useAnswer<Overview>(of(run, "overview")).value;
  const entry = overview?.entries.find((it) => String(it.id) === state.value["finding"]);
  const finding = entry && overview?.findings[entry.findings[Number(state.value["part"] ?? 0)] ?? -1];
  const named = finding && finding.call !== null ? { call: finding.call, pattern: finding.pattern } : undefined;
  const instances = useAnswer<TimelineInstances>(named && of(run, "timeline/instances"), named).value;
  const at = Number(state.value["instance"] ?? 0);
  const instance = named ? instances?.worst[at] : undefined;
  // A finding without a time is opened at its worst instance.
  const given = parseSpan(state.value["t"], length);
  const opened = { from: about.opens, to: length };
  const wantedSpan = given ?? (instance ? around(instance, length) : opened);
  const [first, end] = parseRows(state.value["rows"], locations);
  const arranged = arrangementOf(locations);
  const only = useChosenCalls(models);
  const band = end - first <= MOST_ROWS ? 1 : bandOf(end - first);
  const grouping = useAnswer<TimelineRows>(of(run, "timeline/rows"), rowQuestion(arranged, only?.text, { first, end, band }));
  // Groups of many take a while to find: until then, rows of neighbours.
  const isFinding = !isFile() && arranged.sort === "alike" && locations > MANY && grouping.value === undefined;
  const bands = useAnswer<TimelineRows>(isFinding ? of(run, "timeline/rows") : undefined, { first, end, band });
  const answers = isFinding ? bands : grouping;
  const pins = (state.value["pin"] ?? "").split(".").filter((it) => /^n?[\d+-]+$/.test(it));
  const pinnedAnswers = useAnswer<TimelineRows>(pins.length > 0 ? of(run, "timeline/rows") : undefined, { rows: pins.join(".") });
  const [selected, isSelected] = parseSelected(state.value["sel"]);
  const detail = useAnswer<TimelineAt>(isSelected ? of(run, "timeline/at") : undefined, isSelected ? { location: selected[0], time: selected[1] } : {}).value;
  const isWait = isSelected && detail?.wait && detail.location === selected[0];
  const partners: [number, number] | undefined = isWait && detail.wait ? [detail.location, detail.wait.culprit] : undefined;
  const isGrouped = locations > MOST_ROWS || arranged.sort === "alike";
  // A file without the whole timeline has the rows of instances only.
  const isWhole = !isFile() || timelineUntil(run) !== undefined;
  const needed = !isGrouped || !isWhole && !instance ? [] : partners && isWhole ? partners : instance ? [instance.location, instance.culprit] : [];
  const extraAnswers = useAnswer<TimelineRows>(needed.length > 0 ? of(run, "timeline/rows") : undefined, { rows: needed.join(".") });
  const [answered, pinned, extra] = [answers.value, pinnedAnswers.value, extraAnswers.value];
  // Another instance has other rows: as long as they are not there, what was shown stays, so that nothing is asked about the old ones.
  const isOld = answers.stale || pinnedAnswers.stale || extraAnswers.stale;
  const shownSpan = useRef(wantedSpan);
  if (!isOld) shownSpan.current = wantedSpan;
  const span = shownSpan.current;
  // What is on the screen while keys or the wheel move it: browsers bound how often the address may change, and answers need not be asked for
  // each frame.
  const [moved, setMoved] = useState<Span | undefined>();
  const target = useRef<Span | undefined>(undefined);
  const settling = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // Shares follow the movement; what is drawn over them is asked for when it is over.
  const [isMoving, setMoving] = useState(false);
  const calming = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const calm = useRef(span);
  if (!isMoving) calm.current = span;
  useEffect(() => () => [settling, calming].forEach((it) => clearTimeout(it.current)), []);
  const live = moved ?? span;
  const rows = useMemo(() => {
    if (!answered || (pins.length > 0 && !pinned) || (needed.length > 0 && !extra)) return undefined;
    const top = [...(needed.length > 0 ? (extra?.rows ?? []) : []), ...(pins.length > 0 ? (pinned?.rows ?? []) : [])];
    const isTop = (row: TimelineRow) => row.open === null && top.some((it) => it.key === row.key);
    return [...top.filter((row, at) => top.findIndex((it) => it.key === row.key) === at), ...answered.rows.filter((row) => !isTop(row))];
  }, [answered, pinned, extra, pins.join("."), needed.join(".")]);
  const show = (next: Span, replace = false) => {
    const least = 20;
    let from = Math.max(0, Math.round(next.from));
    let to = Math.min(length, Math.round(next.to));
    if (to - from < least) [from, to] = [Math.max(0, from - least), Math.min(length, from + least)];
    target.current = { from, to };
    const settle = () => {
      const it = target.current;
      [target.current, settling.current] = [undefined, undefined];
      setMoved(undefined);
      if (it) go({ t: it.from === opened.from && it.to === opened.to && !finding ? undefined : `${it.from}-${it.to}` }, replace);
    };
    clearTimeout(calming.current);
    if (!replace) {
      clearTimeout(settling.current);
      settle();
      setMoving(false);
      return;
    }
    setMoving(true);
    calming.current = setTimeout(() => setMoving(false), CALM);
    setMoved(target.current);
    settling.current ??= setTimeout(settle, SETTLE);
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
  // The findings ask for the worst instance, whose places are known here only. A file has no rows that are pinned.
  useEffect(() => {
    if (state.value["sel"] !== "worst" || !instances) return;
    if (!instance) return go({ sel: undefined }, true);
    const pin = !isWhole ? undefined : [...new Set([instance.location, instance.culprit])].join(".");
    go({ sel: `${instance.location}@${Math.floor((instance.from + instance.to) / 2)}`, pin }, true);
  }, [instances, state.value["sel"]]);
  const [table, setTable] = useState(false);
  const until = timelineUntil(run);
  const critical = state.value["critical"] !== "0";
  const waits = useAnswer<TimelineWaits>(rows && of(run, "timeline/waits"), {
    ...(rows && rowParameters(rows)), ...calm.current, ...named, only: only?.text, most: named ? MOST_ARROWS : FEW_ARROWS,
  }).value;
  // Arrows between rows of many processes hide what these do.
  const isOperations = !isFile() && (state.value["operations"] ?? (isGrouped ? "0" : "1")) !== "0";
  const isHot = state.value["heat"] === "1";
  const operations = useAnswer<TimelineOperations>(rows && isOperations ? of(run, "timeline/operations") : undefined, {
    ...(rows && rowParameters(rows)), ...calm.current, only: only?.text, most: mostOperations(),
  }, { late: true }).value;
  const wantedPhase = state.value["phase"];
  const phases = useAnswer<TimelinePhases>(rows && !isFile() ? of(run, "timeline/phases") : undefined, {
    ...(rows && rowParameters(rows)), ...calm.current, phase: wantedPhase === "0" ? undefined : wantedPhase,
  }).value;
  const counters = useAnswer<TimelineCounters>(isFile() ? undefined : of(run, "timeline/counters")).value?.counters ?? [];
  const counter = counters.findIndex((it) => it.name === state.value["counter"]);
  const samples = useAnswer<TimelineSamples>(rows && counter >= 0 ? of(run, "timeline/samples") : undefined, {
    ...(rows && rowParameters(rows)), ...calm.current, counter,
  }).value;
  const path = useAnswer<TimelineCritical>(critical ? of(run, "timeline/critical") : undefined, { ...calm.current }).value;
  return (
    <>
      <div class="toolbar">
        <label>
          Finding{" "}
          <select value={named ? (state.value["finding"] ?? "") : ""}
            onChange={(event) => go({ finding: event.currentTarget.value, part: undefined, instance: undefined, t: undefined, sel: undefined })}>
            <option value="">none</option>
            {overview?.entries.map((entry) => {
              const it = overview.findings[entry.findings[0] ?? -1];
              return it && <option key={entry.id} value={entry.id}>{entry.id}. {it.region} {site({ file: it.file, line: it.line })}</option>;
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
        {!isFile() && <RowControls about={about} rows={answered} arrangement={arranged} hasCall={only !== undefined} />}
        {isFinding && <span class="dim">Finding those that behave alike …</span>}
        {!isFile() && <CallFilter run={run} models={models} chosen={only} />}
        {only && <button type="button" class="small" onClick={() => go({ only: undefined, ...(arranged.sort === "call" && { rowsort: undefined }) })}>All calls</button>}
        {(first > 0 || end < locations) && <button type="button" class="small" onClick={() => go({ rows: undefined })}>All {grouped(locations)} rows</button>}
        <label class="check"><input type="checkbox" checked={critical} onChange={(event) => go({ critical: event.currentTarget.checked ? undefined : "0" })} /> Critical path</label>
        {!isFile() && (
          <label class="check" title={operations?.missing || undefined}>
            <input type="checkbox" checked={isOperations} onChange={(event) => go({ operations: event.currentTarget.checked === !isGrouped ? undefined : event.currentTarget.checked ? "1" : "0" })} /> Operations
          </label>
        )}
        <label class="check" title="One colour for each column: how much of it is waiting">
          <input type="checkbox" checked={isHeat.value} disabled={isHeat.value && !isHot} onChange={(event) => go({ heat: event.currentTarget.checked ? "1" : undefined })} /> Only waiting
        </label>
        {phases && phases.axes.length > 0 && (
          <label>
            Phases{" "}
            <select value={wantedPhase ?? phases.name} onChange={(event) => go({ phase: event.currentTarget.value })}>
              <option value="0">none</option>
              {phases.axes.map((it) => <option key={it.name} value={it.name}>{it.name}, {grouped(it.count)} {it.is_phase ? "instances" : "values"}</option>)}
            </select>
          </label>
        )}
        {counters.length > 0 && (
          <label>
            Counter{" "}
            <select value={counter < 0 ? "" : counters[counter]?.name} onChange={(event) => go({ counter: event.currentTarget.value })}>
              <option value="">none</option>
              {counters.map((it, n) => counters.findIndex((other) => other.name === it.name) === n && <option key={n} value={it.name}>{it.name}</option>)}
            </select>
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
              <Canvas run={run} about={about} models={models} rows={rows} span={live} settled={span} isMoving={isMoving} all={all} axis={axis} waits={waits?.waits ?? []}
                finding={finding && named ? finding : undefined} critical={critical ? path : undefined} operations={isOperations ? operations : undefined} detail={isSelected ? detail : undefined} only={only}
                phases={wantedPhase !== "0" && phases?.name ? phases : undefined} pins={pins} heat={isHot} partners={partners}
                counter={counter >= 0 && samples ? { counter: counters[counter] as TimelineCounter, samples } : undefined}
                title={beside && titleOf(shown, run)} show={show} goInstance={(by) => goInstance(at + by)} />
            )}
          {!table && beside && shown.second && (
            <Beside run={shown.second} about={beside} models={models} span={span} live={live} axis={axis ?? all} shift={beside.started - about.started}
              title={titleOf(shown, shown.second)} show={show} critical={critical} operations={isOperations} />
          )}
          <Legend run={run} about={about} critical={critical} hasHeld={isOperations && (operations?.held.location.length ?? 0) > 0}
            missing={[until !== undefined && until < length ? `This file has the timeline up to ${seconds(until / 1e9)}.` : "", isOperations ? operations?.missing : "", wantedPhase !== "0" ? phases?.missing : "", counter >= 0 ? samples?.missing : ""].filter((it) => it) as string[]} />
        </section>
        <section class="pane timeline-side" aria-label="Details" tabIndex={0}>
          {isSelected && detail
            ? <Details run={run} at={detail} models={models} length={length} pins={pins} />
            : <Totals run={run} rows={rows} span={calm.current} about={about} models={models} only={only} />}
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
