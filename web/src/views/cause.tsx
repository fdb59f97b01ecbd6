// The card of a cause of waits. It answers in place: what it is, where, when, and what to do.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { isFile, useAnswer } from "../data";
import { fileName, grouped, percent, short } from "../format";
import { type Models, of } from "../runs";
import { link } from "../state";
import { Explained, Term } from "../term";
import { Excerpt, type Shown } from "./excerpt";
import { Lines, named } from "./functions";
import type { Point, Step } from "../findings";
import type { Cause, Finding, LocationNames, Overview, Source, TimelineAbout, TimelineWaits, WhatIf } from "../types";

interface Props {
  cause: Cause;
  overview: Overview;
  models: Models | undefined;
  /** Which of the two runs it is, and the id of that run. */
  run: 0 | 1;
  id: string;
}

export function CauseCard(props: Props & { open: boolean }): JSX.Element {
  const { cause, models, run } = props;
  const [isOpen, setOpen] = useState(props.open);
  const metric = cause.metric === null ? undefined : models?.metrics.list.find((_, at) => models.metrics.of[at]?.[run] === cause.metric)?.name;
  const keyOf = (call: number | null | undefined) => (typeof call === "number" ? models?.calls.list[models.calls.from[run][call] ?? -1]?.key : undefined);
  const to = (view: string, call: string | undefined) => link({ view, metric, call, own: undefined, self: undefined });
  const path = keyOf(cause.call);
  return (
    <li>
      <details class="cause" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary class="finding-head">
          <span class="finding-number">{cause.id}</span>
          <span class="cause-what"><strong>{capital(cause.point.kind)}:</strong> {cause.point.what}</span>
          <Amount seconds={cause.seconds} share={cause.share} />
        </summary>
        {isOpen && (
          <div class="cause-body">
            <Part name="What" term={cause.point.kind}><What {...props} /></Part>
            <Part name="Where"><Where steps={cause.point.places} calls={cause.places} isStretch={cause.computes} id={props.id} cause={cause} /></Part>
            <Part name="When"><When {...props} /></Part>
            <Part name="What to do"><ToDo {...props} /></Part>
            <p class="finding-links">
              <a href={to("panes", path)}>Its costs in the panes</a>
              <a href={to("calls", keyOf(cause.places.find((it) => it !== null)) ?? path)}>Call path and source</a>
              <a href={to("spread", path)}>Which processes</a>
            </p>
          </div>
        )}
      </details>
    </li>
  );
}

/** The card of something else that costs time: communication that could take less, polling, time that nothing explains. */
export function PointCard({ point, places, models, id, open }: {
  point: Point;
  places: (number | null)[];
  models: Models | undefined;
  id: string;
  open: boolean;
}): JSX.Element {
  const [isOpen, setOpen] = useState(open);
  const call = places.find((it) => it !== null);
  const key = typeof call === "number" ? models?.calls.list[models.calls.from[0][call] ?? -1]?.key : undefined;
  return (
    <li>
      <details class="cause" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary class="finding-head">
          <span class="finding-number">{point.id || "–"}</span>
          <span class="cause-what"><strong>{capital(point.kind)}:</strong> {point.what}</span>
          <Amount seconds={point.seconds} share={point.share} />
        </summary>
        {isOpen && (
          <div class="cause-body">
            {point.places.length > 0 && <Part name="Where"><Where steps={point.places} calls={places} isStretch={false} id={id} /></Part>}
            <Part name="What to do" term={point.kind}>
              {point.change && <p class="why remedy"><Explained text={point.change} /></p>}
              {point.gain && <p><span class="dim">Gain:</span> {point.gain}.</p>}
              {point.cost && <p><span class="dim">Cost:</span> {point.cost}</p>}
            </Part>
            {key && (
              <p class="finding-links">
                <a href={link({ view: "calls", call: key, own: undefined, self: undefined })}>Call path and source</a>
                {!isFile() && <a href={link({ view: "timeline", only: key, rowsort: "call", rows: undefined, t: undefined, finding: undefined })}>When</a>}
              </p>
            )}
          </div>
        )}
      </details>
    </li>
  );
}

function Amount({ seconds, share }: { seconds: number; share: number | null }): JSX.Element {
  return (
    <span class="finding-amount">
      <span class="num">{short(seconds, "sec")}</span>
      {share !== null && (
        <span class="finding-share">
          <span class="meter" aria-hidden="true"><span style={{ width: `${Math.min(100, 100 * share)}%` }} /></span>
          <span class="num">{percent(share)}</span>
        </span>
      )}
    </span>
  );
}

function Part({ name, term, children }: { name: string; term?: string; children: ComponentChildren }): JSX.Element {
  return <section class="cause-part" aria-label={name}><h3>{name}{term && <>: <Term name={term} /></>}</h3>{children}</section>;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// What

/** Processes up to this number have a bar each; more share columns. */
const FEW = 16;
const COLUMNS = 96;

function What({ cause, models, run, id }: Props): JSX.Element {
  const facts: [string, string | null][] = [["Computing", cause.how_long], ["Why longer", cause.why_longer], ["Functions", cause.inside], ["Passed on", cause.passed_on]];
  return (
    <>
      <ByProcess cause={cause} models={models} run={run} id={id} />
      <dl class="finding-facts">
        {facts.map(([name, text]) => text && [<dt key={name}>{name}</dt>, <dd key={`${name}-is`}>{text}</dd>])}
      </dl>
    </>
  );
}

/** The time of every process where the cause is. */
function ByProcess({ cause, models, run, id }: Omit<Props, "overview">): JSX.Element | null {
  const time = models?.metrics.of[models.metrics.list.findIndex((it) => it.name === "time" && it.readable)]?.[run];
  const isKnown = cause.call !== null && time !== undefined;
  const row = useAnswer<Float64Array>(isKnown ? of(id, "row") : undefined, { metric: time, call: cause.call, flavour: cause.computes ? "exclusive" : "inclusive" }).value;
  const names = useAnswer<LocationNames>(isKnown ? of(id, "locations") : undefined).value?.names;
  if (!row || !names || row.length === 0) return null;
  // Those that caused much of it.
  const culprits = new Set(cause.processes.filter((it) => it.seconds > 0.2 * cause.seconds).map((it) => it.who));
  const most = row.reduce((sum, it) => Math.max(sum, it), 1e-300);
  const where = <code>{cause.path.at(-1) ?? "the program"}</code>;
  return (
    <figure class="by-process">
      <figcaption>{cause.computes ? <>Own time of {where}, outside of all calls that it makes</> : <>Time in {where}</>}, by process</figcaption>
      {row.length <= FEW ? (
        <ul>
          {[...row].map((value, at) => (
            <li key={at} class={culprits.has(names[at] ?? "") ? "culprit" : ""}>
              <span class="by-name">{names[at]}</span>
              <span class="by-bar" aria-hidden="true"><span style={{ width: `${(100 * value) / most}%` }} /></span>
              <span class="num">{short(value, "sec")}</span>
            </li>
          ))}
        </ul>
      ) : (
        <Columns row={row} most={most} names={names} culprits={culprits} />
      )}
    </figure>
  );
}

/** Columns of consecutive processes: the longest of each, and their mean. */
function Columns({ row, most, names, culprits }: { row: Float64Array; most: number; names: string[]; culprits: Set<string> }): JSX.Element {
  const each = Math.ceil(row.length / COLUMNS);
  const columns = useMemo(() => Array.from({ length: Math.ceil(row.length / each) }, (_, at) => {
    const part = row.subarray(at * each, (at + 1) * each);
    return { most: part.reduce((a, b) => Math.max(a, b), 0), mean: part.reduce((a, b) => a + b, 0) / part.length };
  }), [row, each]);
  const has = (at: number) => names.slice(at * each, (at + 1) * each).some((name) => culprits.has(name));
  const width = 100 / columns.length;
  return (
    <>
      <svg class="by-columns" viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={`Time of ${grouped(row.length)} locations`}>
        {columns.map((it, at) => (
          <g key={at} class={has(at) ? "culprit" : ""}>
            <rect class="longest" x={at * width} y={40 - (40 * it.most) / most} width={width * 0.9} height={(40 * it.most) / most} />
            <rect class="mean" x={at * width} y={40 - (40 * it.mean) / most} width={width * 0.9} height={(40 * it.mean) / most} />
          </g>
        ))}
      </svg>
      <p class="by-axis"><span>{names[0]}</span><span class="dim">{each > 1 ? `${each} locations in a column: the longest and the mean` : ""}, up to {short(most, "sec")}</span><span>{grouped(row.length)} locations</span></p>
    </>
  );
}

// Where

/** Lines of source before and after a call, and calls that are shown together if they are no further apart. */
const AROUND = 3;
const TOGETHER = 20;

function Where({ steps, calls, isStretch: computes, id, cause }: {
  steps: Step[];
  calls: (number | null)[];
  isStretch: boolean;
  id: string;
  /** The cause whose functions are shown, if it has samples. */
  cause?: Cause;
}): JSX.Element {
  const ask = (at: number) => {
    const call = calls[at];
    return useAnswer<Source>(typeof call === "number" ? of(id, "source") : undefined, { call }).value;
  };
  const sources = [ask(0), ask(1)];
  const isStretch = computes && steps.length === 2;
  const marks = isStretch ? ["computing begins", "computing ends"] : ["", ""];
  const [first, last] = [steps[0], steps.at(-1)];
  const isLoop = isStretch && first?.line && last?.line && first.file === last.file && first.line >= last.line;
  return (
    <>
      {cause && cause.functions.length > 0 && <Functions cause={cause} id={id} />}
      {steps.length === 0 && <p class="dim">It is not known at which calls.</p>}
      {excerpts(steps, sources, marks).map((it, at) => <Excerpt key={at} {...it} />)}
      {isLoop && (
        <p class="dim">
          From line {first.line} around the loop to line {last.line}{first.caller && <>: the loop may be in a caller of <code>{first.caller}</code></>}.
        </p>
      )}
    </>
  );
}

/** The functions that compute there, with the lines of the first. */
function Functions({ cause, id }: { cause: Cause; id: string }): JSX.Element {
  const first = cause.functions[0];
  return (
    <>
      <table class="functions">
        <thead><tr><th>Function</th><th>Line</th><th class="num">Longer by</th><th class="num">Samples</th></tr></thead>
        <tbody>
          {cause.functions.map((it, at) => (
            <tr key={at}>
              <td><code>{named(it)}</code></td>
              <td>{it.file && it.line ? `${fileName(it.file)}:${it.line}` : <span class="dim">not known</span>}</td>
              <td class="num">{short(it.seconds, "sec")} ± {short(it.margin_seconds, "sec")}</td>
              <td class="num">{grouped(it.samples)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {first && <Lines it={first} question={{ cause: cause.id, function: 0 }} run={id} />}
    </>
  );
}

/** The lines around calls; calls near each other in one file are in one excerpt. */
function excerpts(steps: Step[], sources: (Source | undefined)[], marks: string[]): Shown[] {
  const [a, b] = steps;
  const isOne = a && b && a.file === b.file && Math.abs((a.line ?? 0) - (b.line ?? 0)) <= TOGETHER;
  const groups = isOne ? [[0, 1]] : steps.slice(0, 2).map((_, at) => [at]);
  return groups.map((group) => {
    const known = group.map((at) => ({ step: steps[at] as Step, source: sources[at], mark: marks[at] }));
    const texts = new Map<number, string>();
    for (const { source } of known) source?.lines.forEach((text, at) => texts.set(source.first + at, text));
    const calls = known.map(({ step }) => step.line ?? 0);
    const [from, to] = [Math.min(...calls) - AROUND, Math.max(...calls) + AROUND];
    const lines = [...texts].filter(([number]) => number >= from && number <= to).sort((x, y) => x[0] - y[0]);
    const markOf = (number: number) => {
      const here = known.filter(({ step }) => step.line === number).map(({ mark }) => mark ?? "");
      // Both at one call: there is no room for more beside the code.
      return here.filter((it) => it).length > 1 ? "begins, ends" : here[0];
    };
    return {
      title: [...new Set(known.map(({ step }) => said(step)))].join(" and "),
      file: known[0]?.step.file ?? "",
      lines: lines.map(([number, text]) => ({ number, text, mark: markOf(number) })),
      missing: known.some(({ step }) => !step.file) ? "the program has no line numbers: compile with -g and record again" : known.find(({ source }) => source?.missing)?.source?.missing ?? undefined,
    };
  });
}

function said(step: Step): string {
  const at = step.file && step.line ? ` at ${fileName(step.file)}:${step.line}` : "";
  return `${step.region}${at}${step.caller ? ` in ${step.caller}` : ""}`;
}

// When

const BINS = 80;
/** Greatest number of waits in an answer. */
const MOST_WAITS = 2000;

function When({ cause, overview, id, run }: Props): JSX.Element {
  const finding = cause.seen ? overview.findings[cause.seen.finding] : undefined;
  if (!cause.seen || !finding) return <p class="dim">The waits that it makes are in no list of single waits.</p>;
  const { entry, part } = cause.seen;
  return (
    <>
      <Curve id={id} finding={finding} />
      <p>
        It makes <a href={link({ finding: entry })}>finding {entry}</a> wait most: <code>{finding.region}</code>
        {finding.file && finding.line ? ` at ${fileName(finding.file)}:${finding.line}` : ""}.
        {finding.worst_text && <> Worst: {finding.worst_text}.</>}
      </p>
      <details class="part"><summary>All calls that it makes wait</summary><p>{cause.costs}</p></details>
      {finding.worst && run === 0 && (
        <p class="finding-links">
          <a href={link({ view: "timeline", finding: entry, part: part || undefined, instance: undefined, t: undefined, sel: "worst", pin: undefined, rows: undefined })}>Show the worst in the timeline</a>
        </p>
      )}
    </>
  );
}

/** The timeline of a run, which is asked for again as long as its index is made. */
function useTimeline(id: string): TimelineAbout | undefined {
  const [again, setAgain] = useState(0);
  const about = useAnswer<TimelineAbout>(isFile() ? undefined : of(id, "timeline"), { again: again || undefined }, { late: true }).value;
  useEffect(() => {
    if (about?.state !== "making") return;
    const timer = setTimeout(() => setAgain(again + 1), 500);
    return () => clearTimeout(timer);
  }, [about]);
  return about?.state === "ready" ? about : undefined;
}

/** How many processes wait at a time, over the run. */
function Curve({ id, finding }: { id: string; finding: Finding }): JSX.Element | null {
  const about = useTimeline(id);
  const waits = useAnswer<TimelineWaits>(about && finding.call !== null ? of(id, "timeline/waits") : undefined, {
    first: 0, end: about?.locations, band: about?.locations, from: 0, to: about?.length, call: finding.call, pattern: finding.pattern, most: MOST_WAITS,
  }, { late: true }).value?.waits;
  const bins = useMemo(() => {
    if (!about || !waits) return undefined;
    const width = (about.length - about.started) / BINS;
    const sums = new Float64Array(BINS);
    for (const { from, to } of waits) {
      const first = Math.max(0, Math.floor((from - about.started) / width));
      const last = Math.min(BINS - 1, Math.floor((to - about.started) / width));
      for (let at = first; at <= last; at++) {
        const begin = about.started + at * width;
        sums[at] = (sums[at] ?? 0) + Math.max(0, Math.min(to, begin + width) - Math.max(from, begin)) / width;
      }
    }
    return sums;
  }, [about, waits]);
  if (!about || !bins || !waits || waits.length === 0) return null;
  const most = Math.max(...bins, 1e-300);
  const point = (value: number, at: number) => `L${at},${40 - (38 * value) / most} L${at + 1},${40 - (38 * value) / most}`;
  const worst = finding.worst ? ((finding.worst.begin_seconds * 1e9 - about.started) / (about.length - about.started)) * BINS : undefined;
  const text = (nanoseconds: number) => short(nanoseconds / 1e9, "sec");
  return (
    <figure class="curve">
      <svg viewBox={`0 0 ${BINS} 40`} preserveAspectRatio="none" role="img" aria-label="Processes that wait at a time, over the run">
        <path d={`M0,40 ${[...bins].map(point).join(" ")} L${BINS},40 Z`} />
        {worst !== undefined && <line x1={worst} x2={worst} y1="0" y2="40" />}
      </svg>
      <figcaption class="by-axis">
        <span>{text(about.started)}</span>
        <span>{waits.length >= MOST_WAITS ? `the ${grouped(MOST_WAITS)} longest waits` : "processes that wait"}, at most {most < 9.95 ? most.toFixed(1) : Math.round(most)} at a time{worst !== undefined && "; the line is the worst"}</span>
        <span>{text(about.length)}</span>
      </figcaption>
    </figure>
  );
}

// What to do

function ToDo({ cause, overview, id }: Props): JSX.Element {
  const [isAsked, setAsked] = useState(false);
  const { value: played, error } = useAnswer<WhatIf>(isAsked ? of(id, "whatif") : undefined, { cause: cause.id });
  const isPlaying = isAsked && !played && !error;
  return (
    <>
      {cause.point.change && <p class="why remedy"><Explained text={cause.point.change} /></p>}
      {cause.point.gain && <p><span class="dim">Gain:</span> {cause.point.gain}.</p>}
      {overview.plays && !played && (
        <button type="button" class="play" disabled={isPlaying} aria-busy={isPlaying ? "true" : undefined} onClick={() => setAsked(true)}>
          {isPlaying ? "Playing the run …" : `Play the run without ${cause.id}`}
        </button>
      )}
      {error && <p role="alert">{error}</p>}
      {played && <Played it={played} />}
    </>
  );
}

function Played({ it }: { it: WhatIf }): JSX.Element {
  const { recorded, predicted, low, high } = it;
  if (recorded === null || predicted === null) return <p role="status">It cannot be predicted: {it.reason}.</p>;
  const bar = (value: number) => ({ width: `${(100 * value) / Math.max(recorded, predicted)}%` });
  const part = (value: number) => (recorded - value) / recorded;
  const change = Math.abs(part(predicted)) < 0.0005 ? "no change" : part(predicted) > 0 ? `${percent(part(predicted))} shorter` : `${percent(-part(predicted))} longer`;
  const range = low !== null && high !== null && short(low, "sec") !== short(high, "sec") ? `, between ${short(low, "sec")} and ${short(high, "sec")}` : "";
  return (
    <figure class="by-process" role="status">
      <ul>
        <li><span class="by-name">recorded</span><span class="by-bar" aria-hidden="true"><span style={bar(recorded)} /></span><span class="num">{short(recorded, "sec")}</span></li>
        <li class="gained"><span class="by-name">predicted</span><span class="by-bar" aria-hidden="true"><span style={bar(predicted)} /></span><span class="num">{short(predicted, "sec")}</span></li>
      </ul>
      <figcaption>{capital(it.change)}: {change}{range}.</figcaption>
    </figure>
  );
}
