// The source around a call, with what each of its lines takes in the margin.

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { isFile, useAnswer } from "../data";
import { amount, change, grouped, number, site } from "../format";
import { highlighted, languageOf } from "../highlight";
import type { Lengths } from "../lengths";
import { pathOf } from "../model";
import { byLine } from "../rows";
import { type Models, of, type Shown } from "../runs";
import type { Metric, Source } from "../types";
import type { PathValues } from "../values";

export function SourcePane(props: {
  shown: Shown;
  models: Models;
  call: number | undefined;
  /** Whether somebody has chosen the call. */
  isChosen: boolean;
  metric: Metric;
  values: PathValues | undefined;
  counts: PathValues | undefined;
  waits: PathValues | undefined;
  lengths: Lengths | undefined;
}): JSX.Element {
  const { shown, models, metric, call: at } = props;
  const numbers = at === undefined ? undefined : models.calls.of[at];
  // The source of the first run, or of the other one if only that has the call.
  const run: 0 | 1 = numbers && numbers[0] === undefined ? 1 : 0;
  const id = run === 0 ? shown.first : shown.second;
  const wanted = numbers?.[run];
  const { value: source, stale } = useAnswer<Source>(wanted === undefined || id === undefined ? undefined : of(id, "source"), { call: wanted, whole: !isFile() });
  const call = at === undefined ? undefined : run === 0 ? models.calls.list[at] : models.calls.other[at];
  if (!call || at === undefined) {
    return (
      <section class="pane source" aria-label="Source">
        <div class="pane-head"><h2>Source</h2></div>
        <p class="empty">Select a call to see where it stands in the program.</p>
      </section>
    );
  }
  return (
    <section class="pane source" aria-label="Source">
      <div class="pane-head">
        <h2>{call.name}</h2>
        <span class="dim">{site(call)}{shown.second !== undefined && ` in ${shown.names[run]}`}{!props.isChosen && ", the largest; select another"}</span>
      </div>
      <Numbers {...props} at={at} />
      {source?.missing ? (
        <p class="empty">No source: {source.missing}.</p>
      ) : source && (
        <Code source={source} stale={stale} models={models} run={run} metric={metric} values={props.values} />
      )}
    </section>
  );
}

/** What the call takes in each run. */
function Numbers(props: {
  shown: Shown;
  models: Models;
  metric: Metric;
  values: PathValues | undefined;
  counts: PathValues | undefined;
  waits: PathValues | undefined;
  lengths: Lengths | undefined;
  at: number;
}): JSX.Element {
  const { metric, values, counts, waits, at, shown } = props;
  const rows: [string, [Float64Array, Float64Array] | undefined, string][] = [
    ["Calls", counts?.exclusive, "occ"],
    ["Total", values?.inclusive, metric.unit],
    ["Self", values?.exclusive, metric.unit],
    ["Waits", waits?.inclusive, "sec"],
  ];
  const text = (value: number, unit: string) => (unit === "occ" ? number(value) : amount(value, unit));
  const two = shown.second !== undefined;
  const often = counts?.exclusive[0][at] ?? 0;
  return (
    <div class="source-facts">
      {rows.map(([name, list, unit]) => {
        if (!list) return null;
        const [one, other] = [list[0][at] ?? 0, list[1][at] ?? 0];
        return (
          <span key={name}>
            <span class="dim">{name}</span> <span class="num">{text(one, unit)}</span>
            {two && <> <span class="dim">then</span> <span class="num">{text(other, unit)}</span>{unit !== "occ" && <> <span class={`num delta ${other > one ? "more" : "less"}`}>{change(other - one, unit)}</span></>}</>}
          </span>
        );
      })}
      {!two && often > 0 && values && metric.name !== "visits" && (
        <span><span class="dim">Mean per call</span> <span class="num">{amount((values.inclusive[0][at] ?? 0) / often, metric.unit)}</span></span>
      )}
      {props.lengths && often > 0 && <LengthFacts lengths={props.lengths} at={at} />}
      <span class="path"><code>{pathOf(props.models.calls, at)}</code></span>
    </div>
  );
}

/** The median and the longest call, or that they are not computed. */
function LengthFacts({ lengths, at }: { lengths: Lengths; at: number }): JSX.Element {
  const known = lengths.of.get(at);
  if (!known) return <span title={lengths.why}><span class="dim">Median, longest</span> not computed</span>;
  return (
    <>
      <span title={known.median === undefined ? lengths.why : undefined}>
        <span class="dim">Median</span> {known.median === undefined ? "not computed" : <span class="num">{amount(known.median, "sec")}</span>}
      </span>
      <span><span class="dim">Longest</span> <span class="num">{amount(known.longest, "sec")}</span></span>
    </>
  );
}

function Code({ source, stale, models, run, metric, values }: {
  source: Source;
  stale: boolean;
  models: Models;
  run: 0 | 1;
  metric: Metric;
  values: PathValues | undefined;
}): JSX.Element {
  const list = useRef<HTMLOListElement>(null);
  const amounts = useMemo(
    () => (values ? byLine(models.calls, run, source.file, values.inclusive[run]) : new Map<number, number>()),
    [models, run, source.file, values],
  );
  const most = Math.max(...amounts.values(), 1e-300);
  useLayoutEffect(() => {
    const box = list.current;
    const here = box?.querySelector<HTMLElement>(".here");
    if (box && here) box.scrollTop = here.offsetTop - box.offsetTop - box.clientHeight / 2 + 10;
  }, [source]);
  const tokens = useMemo(() => highlighted(source.lines, languageOf(source.file)), [source]);
  const last = source.first + source.lines.length - 1;
  return (
    <>
      {source.count > source.lines.length && <p class="pane-line">Lines {grouped(source.first)} to {grouped(last)} of {grouped(source.count)}</p>}
      <ol ref={list} class={`code${stale ? " stale" : ""}`} start={source.first} tabIndex={0} aria-label={`Source around line ${source.line}, with ${metric.title} of each line`}>
        {source.lines.map((line, offset) => {
          const n = source.first + offset;
          const value = amounts.get(n);
          return (
            <li key={n} class={n === source.line ? "here" : ""} aria-current={n === source.line ? "true" : undefined}>
              <span class="line-value num">{value ? <><span class="line-bar" style={{ width: `${(100 * value) / most}%` }} aria-hidden="true" /><span class="line-amount">{amount(value, metric.unit)}</span></> : ""}</span>
              <span class="line-number" aria-hidden="true">{n}</span><code>{line === "" ? " " : tokens[offset]?.map((it, at) => (it.kind === "plain" ? it.text : <span key={at} class={`token-${it.kind}`}>{it.text}</span>))}</code>
            </li>
          );
        })}
      </ol>
    </>
  );
}
