// Iterations of a run: since when it is slow. A curve of their times and efficiency, and the same as a table.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { isFile } from "../data";
import { fileName, grouped, percent, short } from "../format";
import { go, link } from "../state";
import { Term } from "../term";
import type { Iterations, IterationTimes, Step } from "../findings";

/** Rows of the table. */
const ROWS = 12;
/** Greatest number of lines that mark iterations. */
const MARKS = 100;
/** Height of the curves, in units of their pictures. */
const HEIGHT = 40;

/** Mean times of iterations, from one number to another. */
interface Row {
  first: number;
  last: number;
  times: IterationTimes;
}

export function IterationCard({ iterations, other, names, beside, id }: {
  iterations: Iterations;
  /** Those of the run beside this one. */
  other: Iterations | undefined;
  names: [string, string];
  /** How the runs compare by iteration. */
  beside: string | undefined;
  id: string;
}): JSX.Element {
  const rows = rowsOf(iterations);
  const lines = other ? sentences(iterations, names[0]).concat(sentences(other, names[1])) : sentences(iterations);
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{beside ? "By iteration" : "Since when"}</h2>
      <div class="card iterations">
        <ul class="changes">
          {beside && <li><strong>{capital(beside)}.</strong></li>}
          {lines.map((text) => <li key={text}>{text}</li>)}
        </ul>
        <Curves rows={rows} all={iterations} other={other && rowsOf(other)} names={names} />
        <details class="part">
          <summary>As a table</summary>
          <Table rows={grouped_(rows)} />
        </details>
        <p class="dim">
          {grouped(iterations.count)} iterations, which end with <code>{iterations.ends_with.region}</code>{placeOf(iterations.ends_with)}. Times are those of a process.
        </p>
      </div>
    </section>
  );
}

function sentences(of: Iterations, name?: string): string[] {
  const begin = name ? `${name}: ` : "";
  const say = (text: string) => (name ? `${begin}${text}.` : `${capital(text)}.`);
  return of.changes.length > 0 ? of.changes.map((it) => say(it.text)) : [say("all iterations take about as long as each other")];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function placeOf(step: Step): string {
  return step.file && step.line ? ` at ${fileName(step.file)}:${step.line}` : "";
}

function rowsOf({ times, group, count }: Iterations): Row[] {
  return times.map((it) => ({ first: it.first, last: Math.min(count, it.first + group - 1), times: it }));
}

/** Computing as a part of the length, and the mean computing as a part of the longest. */
function efficiency(it: IterationTimes): { parallel: number; balance: number } {
  const part = (value: number, of: number) => (of > 0 ? Math.min(1, value / of) : 0);
  return { parallel: part(it.computing_seconds, it.seconds), balance: part(it.computing_seconds, it.longest_computing_seconds) };
}

/** The part of the timeline with an iteration, and a little of its neighbours. */
function spanOf(rows: Row[], at: number): string {
  const row = rows[at] as Row;
  const begin = row.times.begin_seconds;
  const end = rows[at + 1]?.times.begin_seconds ?? begin + row.times.seconds * (row.last - row.first + 1);
  const more = (end - begin) / 10;
  return `${Math.max(0, Math.round((begin - more) * 1e9))}-${Math.round((end + more) * 1e9)}`;
}

function toTimeline(rows: Row[], at: number): Record<string, string | undefined> {
  return { view: "timeline", t: spanOf(rows, at), finding: undefined, sel: undefined, instance: undefined };
}

function numbers({ first, last }: { first: number; last: number }): string {
  return first === last ? grouped(first) : `${grouped(first)} to ${grouped(last)}`;
}

function Curves({ rows, all, other, names }: { rows: Row[]; all: Iterations; other: Row[] | undefined; names: [string, string] }): JSX.Element {
  const [at, setAt] = useState<number | undefined>(undefined);
  const most = Math.max(...rows.slice(1).concat(other?.slice(1) ?? []).map((it) => Math.max(it.times.seconds, it.times.longest_computing_seconds)), 1e-300);
  const count = Math.max(all.count, other?.at(-1)?.last ?? 0);
  const x = (iteration: number) => (100 * (iteration - 1)) / count;
  const y = (value: number) => HEIGHT - (HEIGHT * Math.min(value, most)) / most;
  const line = (list: Row[], of: (it: IterationTimes) => number, to = y) =>
    list.map((it) => `${x(it.first)},${to(of(it.times))} ${x(it.last + 1)},${to(of(it.times))}`).join(" ");
  const area = (of: (it: IterationTimes) => number) => `0,${HEIGHT} ${line(rows, of)} ${x(all.count + 1)},${HEIGHT}`;
  const marks = all.changes.filter((it) => it.kind !== "drift").flatMap((it) => {
    const count = it.every === null ? 1 : Math.min(MARKS, it.iterations);
    return Array.from({ length: count }, (_, n) => x(it.iteration + n * (it.every ?? 0)));
  });
  const row = at === undefined ? undefined : rows[at];
  const pick = (event: MouseEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const iteration = 1 + Math.floor(((event.clientX - box.left) / box.width) * count);
    return Math.min(rows.length - 1, Math.max(0, rows.findLastIndex((it) => it.first <= iteration)));
  };
  const opens = !isFile();
  const pointer = {
    onMouseMove: (event: MouseEvent) => setAt(pick(event)),
    onMouseLeave: () => setAt(undefined),
    ...(opens && { onClick: (event: MouseEvent) => go(toTimeline(rows, pick(event))) }),
  };
  const cursor = row && <rect class="cursor-line" x={x(row.first)} width={Math.max(0.3, x(row.last + 1) - x(row.first))} y="0" height={HEIGHT} />;
  return (
    <figure class={`iteration-curves${opens ? " opens" : ""}`} {...pointer}>
      <svg viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label="Time of an iteration, over the run">
        <polygon class="rest" points={area((it) => it.seconds)} />
        <polygon class="waits" points={area((it) => it.computing_seconds + it.waits_seconds)} />
        <polygon class="computing" points={area((it) => it.computing_seconds)} />
        {all.changes.length > 0 && <polyline class="longest" points={line(rows, (it) => it.longest_computing_seconds)} />}
        {other && <polyline class="other" points={line(other, (it) => it.seconds)} />}
        {marks.map((it, n) => <line key={n} x1={it} x2={it} y1="0" y2={HEIGHT} />)}
        {cursor}
      </svg>
      <svg class="low" viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label="Parallel efficiency of an iteration, over the run">
        <polyline class="efficiency" points={line(rows, (it) => efficiency(it).parallel, (it) => HEIGHT * (1 - it))} />
        {other && <polyline class="other" points={line(other, (it) => efficiency(it).parallel, (it) => HEIGHT * (1 - it))} />}
        {marks.map((it, n) => <line key={n} x1={it} x2={it} y1="0" y2={HEIGHT} />)}
        {cursor}
      </svg>
      <p class="by-axis"><span>1</span><span>up to {short(most, "sec")}; below, <Term name="efficiency: parallel">parallel efficiency</Term> from 0 to 100 %{opens && "; a click opens the timeline there"}</span><span>{grouped(count)}</span></p>
      <p class="legend" role="status">
        {row ? <Reading row={row} /> : (
          <>
            <span class="legend-item"><span class="swatch computing" aria-hidden="true" /> Computing</span>
            <span class="legend-item"><span class="swatch waits" aria-hidden="true" /> Waiting</span>
            <span class="legend-item"><span class="swatch rest" aria-hidden="true" /> Other calls</span>
            {all.changes.length > 0 && <span class="legend-item"><span class="stroke longest" aria-hidden="true" /> Longest computing</span>}
            {other && <span class="legend-item"><span class="stroke other" aria-hidden="true" /> {names[1]}</span>}
          </>
        )}
      </p>
    </figure>
  );
}

function Reading({ row }: { row: Row }): JSX.Element {
  const it = row.times;
  return (
    <span class="num">
      <strong>{numbers(row)}</strong>: {short(it.seconds, "sec")}, of it computing {short(it.computing_seconds, "sec")}, waiting {short(it.waits_seconds, "sec")}; longest computing{" "}
      {short(it.longest_computing_seconds, "sec")}{it.longest_who && ` (${it.longest_who})`}; efficiency {percent(efficiency(it).parallel)}
    </span>
  );
}

/** Fewer rows, each the mean of consecutive ones. */
function grouped_(rows: Row[]): { row: Row; at: number }[] {
  const each = Math.ceil(rows.length / ROWS);
  return Array.from({ length: Math.ceil(rows.length / each) }, (_, n) => {
    const some = rows.slice(n * each, (n + 1) * each);
    const [head, tail] = [some[0] as Row, some.at(-1) as Row];
    const longest = some.reduce((best, it) => (it.times.longest_computing_seconds > best.times.longest_computing_seconds ? it : best));
    const mean = (of: (it: IterationTimes) => number) => some.reduce((sum, it) => sum + of(it.times) * (it.last - it.first + 1), 0) / (tail.last - head.first + 1);
    const times: IterationTimes = {
      begin_seconds: head.times.begin_seconds,
      first: head.first,
      seconds: mean((it) => it.seconds),
      waits_seconds: mean((it) => it.waits_seconds),
      computing_seconds: mean((it) => it.computing_seconds),
      longest_computing_seconds: mean((it) => it.longest_computing_seconds),
      longest_who: longest.times.longest_who,
    };
    return { row: { first: head.first, last: tail.last, times }, at: n };
  });
}

function Table({ rows }: { rows: { row: Row; at: number }[] }): JSX.Element {
  const list = rows.map((it) => it.row);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Iterations">
      <table class="numbers">
        <thead>
          <tr><th scope="col">Iterations</th><th scope="col">Length</th><th scope="col">Waiting</th><th scope="col">Computing</th><th scope="col">Longest computing</th><th scope="col">of</th><th scope="col">Parallel efficiency</th><th scope="col">Load balance</th></tr>
        </thead>
        <tbody>
          {rows.map(({ row, at }) => {
            const { parallel, balance } = efficiency(row.times);
            const name = numbers(row);
            return (
              <tr key={row.first}>
                <th scope="row">{isFile() ? name : <a href={link(toTimeline(list, at))}>{name}</a>}</th>
                <td class="num">{short(row.times.seconds, "sec")}</td>
                <td class="num">{short(row.times.waits_seconds, "sec")}</td>
                <td class="num">{short(row.times.computing_seconds, "sec")}</td>
                <td class="num">{short(row.times.longest_computing_seconds, "sec")}</td>
                <td>{row.times.longest_who ?? "–"}</td>
                <td class="num">{percent(parallel)}</td>
                <td class="num">{percent(balance)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
