// The runs of a directory: which version became slower and why, how each scales, and a list to open any of them.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { isFile, useAnswer } from "../data";
import { grouped, percent, seconds } from "../format";
import { go, link, state } from "../state";
import type { ListedRun, Many, ScalingPoint, ScalingSeries, Version, VersionSet } from "../types";

/** Cards of slowdowns that are shown. */
const CARDS = 4;
/** Size of a plot, and the room for its axes and the names of its lines. */
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [440, 250, 50, 104, 14, 34];
/** Red is kept for what is slower. */
const COLOURS = ["#0077bb", "#ee7733", "#009988", "#6644aa", "#33bbee", "#77aa33", "#ee3377", "#7b8a99"];

interface Line {
  name: string;
  colour: string;
  isDashed?: boolean;
  points: { x: number; y: number; title: string; isBad?: boolean }[];
}

/** Steps of 1, 2 or 5 times a power of ten. */
function steps(from: number, to: number): number[] {
  const rough = (to - from) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((it) => it * power >= rough) ?? 10) * power;
  const list = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-9; at += step) list.push(at);
  return list;
}

/** Lines over the numbers 0 to `names.length - 1`, each with its name at its end. */
function Plot({ label, names, lines, from, to, say }: {
  label: string;
  names: string[];
  lines: Line[];
  from: number;
  to: number;
  say: (value: number) => string;
}): JSX.Element {
  const room = WIDTH - LEFT - RIGHT;
  const x = (at: number) => LEFT + (names.length > 1 ? (at / (names.length - 1)) * (room - 24) : room / 2) + 12;
  const y = (value: number) => TOP + (1 - (value - from) / (to - from || 1)) * (HEIGHT - TOP - BOTTOM);
  const each = Math.ceil(names.length / Math.max(1, Math.floor(room / Math.max(40, 8 * Math.max(...names.map((it) => it.length))))));
  // Names that would lie on each other move apart.
  const ends = lines.flatMap((line) => { const last = line.points.at(-1); return last ? [{ line, y: y(last.y) }] : []; }).sort((a, b) => a.y - b.y);
  ends.forEach((it, at) => (it.y = Math.max(it.y, (ends[at - 1]?.y ?? -Infinity) + 14)));
  return (
    <svg class="plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {steps(from, to).map((it) => (
        <g key={it}>
          <line class="plot-grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(it)} y2={y(it)} />
          <text x={LEFT - 8} y={y(it) + 4} text-anchor="end">{say(it)}</text>
        </g>
      ))}
      {names.map((it, at) => at % each === 0 && <text key={at} x={x(at)} y={HEIGHT - BOTTOM + 20} text-anchor="middle">{it}</text>)}
      {lines.map((line) => (
        <g key={line.name}>
          <polyline points={line.points.map((it) => `${x(it.x)},${y(it.y)}`).join(" ")} fill="none" stroke={line.colour} stroke-width="2" stroke-dasharray={line.isDashed ? "4 4" : undefined} />
          {!line.isDashed && line.points.map((it, at) => (
            <circle key={at} class={it.isBad ? "plot-bad" : ""} cx={x(it.x)} cy={y(it.y)} r={it.isBad ? 6 : 3.5} fill={line.colour}><title>{it.title}</title></circle>
          ))}
        </g>
      ))}
      {ends.map(({ line, y: at }) => <text key={line.name} x={WIDTH - RIGHT + 8} y={at + 4} class="plot-name" fill={line.colour}>{line.name}</text>)}
    </svg>
  );
}

/** A share on an axis. */
function whole(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function processes(count: number): string {
  return count === 1 ? "1 process" : `${grouped(count)} processes`;
}

/** Lengths of all versions, each as a part of that of the oldest with as many processes. */
function History({ sets, all }: { sets: VersionSet[]; all: Version[] }): JSX.Element {
  const versions = all.map((it) => it.name);
  const counts = [...new Set(sets.map((it) => it.processes))];
  const lines = counts.map((count, at): Line => {
    const own = sets.filter((it) => it.processes === count);
    const first = own[0]?.length || 1;
    return {
      name: processes(count),
      colour: COLOURS[at % COLOURS.length] as string,
      points: own.map((it) => ({
        x: versions.indexOf(it.version),
        y: it.length / first,
        isBad: all[versions.indexOf(it.version)]?.slower === true && (it.change ?? 0) > 0,
        title: `${it.version}, ${processes(count)}: ${seconds(it.length)}`,
      })),
    };
  });
  const values = lines.flatMap((it) => it.points.map((point) => point.y));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const more = Math.max(0.05, (most - least) / 8);
  return <Plot label="Time of each version, as a part of the oldest" names={versions} lines={lines} from={Math.max(0, least - more)} to={most + more} say={whole} />;
}

/** Means of the runs with the same number of processes. */
function means(points: ScalingPoint[], of: (it: ScalingPoint) => number | null): (number | undefined)[] {
  const counts = [...new Set(points.map((it) => it.processes))];
  return counts.map((count) => {
    const values = points.filter((it) => it.processes === count).map(of);
    return values.some((it) => it === null) ? undefined : values.reduce((sum: number, it) => sum + (it ?? 0), 0) / values.length;
  });
}

function Scaling({ series }: { series: ScalingSeries }): JSX.Element {
  const { points } = series;
  const counts = [...new Set(points.map((it) => it.processes))];
  const names = counts.map(grouped);
  const line = (name: string, colour: number, of: (it: ScalingPoint) => number | null, say: (value: number) => string): Line => ({
    name,
    colour: COLOURS[colour] as string,
    points: means(points, of).flatMap((y, x) => (y === undefined ? [] : [{ x, y, title: `${name} with ${processes(counts[x] as number)}: ${say(y)}` }])),
  });
  const ideal: Line = { name: "perfect", colour: "#7b8a99", isDashed: true, points: counts.map((it, x) => ({ x, y: it / (counts[0] as number), title: "" })) };
  const number = (value: number) => value.toFixed(value < 10 ? 1 : 0);
  const speedup = line("speed-up", 0, (it) => it.speedup, number);
  const efficiencies = [
    line("parallel", 0, (it) => it.parallel, percent),
    line("balance", 1, (it) => it.load_balance, percent),
    line("communication", 2, (it) => it.communication, percent),
    line("waiting", 6, (it) => Math.max(0, it.waiting), percent),
  ].filter((it) => it.points.length > 0);
  const most = Math.max(...[...speedup.points, ...ideal.points].map((it) => it.y));
  return (
    <>
      <figure>
        <figcaption>Speed-up of {series.version} by processes</figcaption>
        <Plot label={`Speed-up of ${series.version}`} names={names} lines={[speedup, ideal]} from={0} to={most * 1.05} say={number} />
      </figure>
      <figure>
        <figcaption>Efficiencies and waiting of {series.version} by processes</figcaption>
        <Plot label={`Efficiencies of ${series.version}`} names={names} lines={efficiencies} from={0} to={1} say={whole} />
        {series.growing.slice(0, 2).map((it) => <p key={it.path} class="dim">Stops scaling at {processes(it.processes)}, {percent(it.share)} of the last run: <code>{it.path}</code></p>)}
      </figure>
    </>
  );
}

function signed(change: number): string {
  return `${change > 0 ? "+" : "−"}${percent(Math.abs(change))}`;
}

/** Lengths by versions and processes. */
function Versions({ sets, all }: { sets: VersionSet[]; all: Version[] }): JSX.Element {
  const counts = [...new Set(sets.map((it) => it.processes))];
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Table of versions">
      <table class="numbers">
        <thead><tr><th scope="col">Version</th>{counts.map((it) => <th key={it} scope="col">{processes(it)}</th>)}<th scope="col">Change</th></tr></thead>
        <tbody>
          {all.map((version) => (
            <tr key={version.name}>
              <th scope="row">{version.name}</th>
              {counts.map((count) => {
                const it = sets.find((set) => set.version === version.name && set.processes === count);
                return <td key={count} class={`num${it?.slower ? " worse" : ""}`}>{it ? seconds(it.length) : "–"}</td>;
              })}
              <td class={`num${version.slower ? " worse" : ""}`}>{version.change === null ? "–" : version.text ? signed(version.change) : "same"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** All runs; two of them can be compared. */
function List({ runs }: { runs: ListedRun[] }): JSX.Element {
  const [chosen, choose] = useState<string[]>([]);
  const toggle = (id: string) => choose(chosen.includes(id) ? chosen.filter((it) => it !== id) : [...chosen.slice(-1), id]);
  const some = (value: number | null, say: (value: number) => string) => (value === null ? "–" : say(value));
  return (
    <>
      {!isFile() && (
        <p>
          <button type="button" disabled={chosen.length < 2} onClick={() => go({ view: "findings", run: chosen[0], with: chosen[1] })}>Compare the two chosen runs</button>
        </p>
      )}
      <div class="table-scroll" tabIndex={0} role="region" aria-label="List of runs">
        <table class="numbers runs-list">
          <thead>
            <tr>{!isFile() && <td />}<th scope="col">Run</th><th scope="col">Version</th><th scope="col">Program</th><th scope="col">Processes</th><th scope="col">Length</th><th scope="col">Efficiency</th><th scope="col">Waiting</th><th scope="col">Costs most</th><th scope="col">Recorded (UTC)</th></tr>
          </thead>
          <tbody>
            {runs.map((it) => (
              <tr key={it.id}>
                {!isFile() && <td><input type="checkbox" aria-label={`Choose ${it.name}`} checked={chosen.includes(it.id)} disabled={it.length === null} onChange={() => toggle(it.id)} /></td>}
                <th scope="row">{it.length === null ? it.name : <a href={link({ view: "findings", run: it.id, with: undefined })}>{it.name}</a>}</th>
                <td>{it.version}</td>
                <td>{it.program || "–"}</td>
                <td class="num">{some(it.processes, grouped)}</td>
                <td class="num">{some(it.length, seconds)}</td>
                <td class="num">{some(it.parallel, percent)}</td>
                <td class="num">{some(it.waiting, (share) => percent(Math.max(0, share)))}</td>
                <td class="cause">{it.note ? <span class="worse">{it.note}</span> : it.cause || "–"}</td>
                <td class="num">{it.milliseconds > 0 ? new Date(it.milliseconds).toISOString().slice(0, 16).replace("T", " ") : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

export function ManyView(): JSX.Element {
  const { value: many, error } = useAnswer<Many>("many");
  const { program, version } = state.value;
  if (error) return <p class="empty" role="alert">{error}</p>;
  if (!many) return <p class="empty" aria-busy="true">Reading the runs …</p>;
  const programs = [...new Set(many.sets.map((it) => it.program))];
  const own = program ?? programs[0] ?? "";
  const sets = many.sets.filter((it) => it.program === own);
  const series = many.series.filter((it) => it.program === own);
  const shown = series.find((it) => it.version === version) ?? series.at(-1);
  const versions = many.versions.filter((it) => it.program === own);
  const slower = versions.filter((it) => it.slower).reverse();
  return (
    <div class="many">
      <section aria-labelledby="many-head">
        <h2 id="many-head">{many.directory}: {grouped(many.runs.length)} runs</h2>
        {programs.length > 1 && (
          <label>Program <select value={own} onChange={(event) => go({ program: event.currentTarget.value, version: undefined })}>{programs.map((it) => <option key={it} value={it}>{it || "unnamed"}</option>)}</select></label>
        )}
        {slower.length === 0 && <p>No version is slower than the one before.</p>}
        {slower.slice(0, CARDS).map((it) => {
          const [head = "", ...rest] = it.text.split(". ");
          return (
            <div key={it.name} class="card slower">
              <p><strong>{head}.</strong> {rest.join(". ")}{rest.length > 0 && "."}</p>
              {!isFile() && it.shown_by && <a href={link({ view: "findings", run: it.shown_by[0], with: it.shown_by[1] })}>Compare two runs that show it</a>}
            </div>
          );
        })}
        {slower.length > CARDS && <p class="dim">{grouped(slower.length - CARDS)} more in the table of versions.</p>}
        {many.left_out > 0 && <p class="dim">{grouped(many.left_out)} older runs are not shown.</p>}
      </section>
      <div class="many-plots">
        {versions.length > 1 && <figure><figcaption>Time of each version, as a part of the oldest; a red ring is slower by more than chance</figcaption><History sets={sets} all={versions} /></figure>}
        {shown && <Scaling series={shown} />}
      </div>
      {series.length > 1 && (
        <label>Scaling of <select value={shown?.version} onChange={(event) => go({ version: event.currentTarget.value })}>{series.map((it) => <option key={it.version} value={it.version}>{it.version}</option>)}</select></label>
      )}
      <section aria-labelledby="many-versions"><h2 id="many-versions">Versions</h2><Versions sets={sets} all={versions} /></section>
      <section aria-labelledby="many-runs"><h2 id="many-runs">Runs</h2><List runs={many.runs} /></section>
    </div>
  );
}
