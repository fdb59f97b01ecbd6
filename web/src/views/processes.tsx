// The time of every process by what it is spent for, and of the whole.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { isFile, useAnswer } from "../data";
import { CLASS_COLOURS, CLASS_NAMES, CLASS_TERMS } from "../colours";
import { change, grouped, marks, percent, seconds, share, withoutCommon } from "../format";
import { CopyTable } from "../save";
import { colour, type Hit, Picture } from "../canvas";
import { of, type Shown, useSystem } from "../runs";
import { chosenSpan, SpanNote } from "../span";
import { go, state } from "../state";
import { Term } from "../term";
import type { Bars } from "../types";
import { ByFunction, Pie } from "./ring";

/** Bars on a screen; of more processes there are bands. */
const SHOWN = 256;
const BANDS = 128;

export function Processes({ shown }: { shown: Shown }): JSX.Element {
  const sort = state.value["order"] ?? "number";
  const by = state.value["by"];
  const from = Number(state.value["from"] ?? 0);
  const system = useSystem(shown.first)?.about;
  // Many processes stand in bands until one of these is opened.
  const many = (system?.processes ?? 0) > SHOWN && state.value["from"] === undefined;
  // The span of the timeline, if it shows a part of the run.
  const t = chosenSpan();
  const query = { t, sort: sort === "number" ? undefined : sort, by, from: from || undefined, count: SHOWN, bands: many ? BANDS : undefined };
  const { value: bars, error, stale } = useAnswer<Bars>(system ? of(shown.first, "bars") : undefined, query);
  const other = useAnswer<Bars>(shown.second && of(shown.second, "bars"), { ...query, t: undefined, sort: undefined }).value;
  const [table, setTable] = useState(false);
  const hidden = state.value["hide"] === "compute";
  const [drawn, drawnBeside] = useMemo(() => [bars, other].map((it) => (it && hidden ? without(it, "compute") : it)), [bars, other, hidden]);
  if (error) return <p class="empty" role="alert">{error}</p>;
  if (!bars) return <p class="empty" aria-busy="true">Reading the report …</p>;
  const present = bars.classes.filter((_, at) => (bars.whole[at] ?? 0) > 0 || (other?.whole[at] ?? 0) > 0);
  const unit = by === "node" ? "nodes" : "processes";
  // A file has no values of a span.
  const hasFunctions = !(isFile() && t);
  const byFunction = hasFunctions && state.value["ring"] === "function";
  return (
    <>
      <div class="toolbar">
        <label>
          Sort by{" "}
          <select value={sort} onChange={(event) => go({ order: event.currentTarget.value, from: undefined })}>
            <option value="number">Number</option>
            <option value="all">Time</option>
            {present.map((name) => <option key={name} value={name}>{CLASS_NAMES[name]}</option>)}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={by === "node"} onChange={(event) => go({ by: event.currentTarget.checked ? "node" : undefined, from: undefined })} />
          By node
        </label>
        <label class="check">
          <input type="checkbox" checked={hidden} onChange={(event) => go({ hide: event.currentTarget.checked ? "compute" : undefined })} />
          Hide computing
        </label>
        {bars.count > SHOWN && !many && (
          <span class="pager">
            <button type="button" class="small" onClick={() => go({ from: undefined })}>All {grouped(bars.count)} {unit} in bands</button>
            <button type="button" class="small" disabled={from === 0} onClick={() => go({ from: Math.max(0, from - SHOWN) })}>Previous page</button>
            <span>{from + 1} to {Math.min(from + SHOWN, bars.count)} of {grouped(bars.count)} {unit}</span>
            <button type="button" class="small" disabled={from + SHOWN >= bars.count} onClick={() => go({ from: from + SHOWN })}>Next page</button>
          </span>
        )}
        <SpanNote />
        <span class="grow" />
        <label class="check"><input type="checkbox" checked={table} onChange={(event) => setTable(event.currentTarget.checked)} /> As a table</label>
        <CopyTable rows={() => [["process", ...bars.classes], ...bars.names.map((name, bar) => [name, ...bars.values.map((row) => String(row[bar] ?? 0))])]} />
      </div>
      <div class={`processes${shown.second ? " two" : ""}`}>
        <section class={`pane${stale ? " stale" : ""}`} aria-label={`Time of ${unit}`}>
          <div class="pane-head"><h2>Time of {unit}</h2><span class="dim">{grouped(bars.count)} {unit}{bars.step > 1 && `, means of ${bars.step} each; lines from the least to the most waiting`}{other && `; left ${shown.names[0]}, right ${shown.names[1]}`}</span></div>
          {table ? <BarTable bars={bars} other={other} names={shown.names} present={present} /> : <Stacks bars={drawn ?? bars} other={drawnBeside} names={shown.names} />}
        </section>
        <section class="pane whole-pane" aria-label="The whole" tabIndex={0}>
          <div class="pane-head"><h2>The whole</h2><span class="dim">over all processes{!t && ", without start-up and shutdown"}</span></div>
          {hasFunctions && (
            <p class="pane-line" role="group" aria-label="Parts of the ring">
              {(["class", "function"] as const).map((it) => (
                <button key={it} type="button" class="small choice" aria-pressed={(it === "function") === byFunction} onClick={() => go({ ring: it === "function" ? it : undefined })}>
                  By {it}
                </button>
              ))}
            </p>
          )}
          {byFunction ? <ByFunction shown={shown} /> : <>
            <div class="pies">
              {[bars, ...(other ? [other] : [])].map((it, at) => (
                <figure key={at}>
                  <Pie whole={it.whole} classes={it.classes} searched={it.searched} small={other !== undefined} />
                  {other && <figcaption>{shown.names[at]}</figcaption>}
                </figure>
              ))}
            </div>
            <Legend bars={bars} other={other} names={shown.names} sort={sort} />
          </>}
        </section>
      </div>
    </>
  );
}

/** Bars without a class, so that small parts of the time can be seen. */
function without(bars: Bars, name: string): Bars {
  const at = bars.classes.indexOf(name);
  return { ...bars, values: bars.values.map((row, kind) => (kind === at ? row.map(() => 0) : row)) };
}

function Legend({ bars, other, names, sort }: { bars: Bars; other: Bars | undefined; names: [string, string]; sort: string }): JSX.Element {
  const total = bars.whole.reduce((sum, value) => sum + value, 0);
  return (
    <table class="numbers legend-table">
      <thead class={other ? "" : "hidden"}><tr><th scope="col"><span class="hidden">class</span></th>{!other && <th scope="col">share</th>}<th scope="col">{other ? names[0] : "time"}</th>{other && <th scope="col">{names[1]}</th>}{other && <th scope="col">change</th>}</tr></thead>
      <tbody>
        {bars.classes.map((name, at) => {
          const value = bars.whole[at] ?? 0;
          const beside = other?.whole[at] ?? 0;
          if (value === 0 && beside === 0) return null;
          return (
            <tr key={name} class={sort === name ? "chosen" : ""}>
              <th scope="row"><span class={`swatch${name === "wait" ? " hatched" : ""}`} style={{ backgroundColor: CLASS_COLOURS[name] ?? "" }} aria-hidden="true" /> <Term name={CLASS_TERMS[name] ?? ""}>{CLASS_NAMES[name]}</Term></th>
              {!other && <td class="num">{percent(share(value, total))}</td>}
              <td class="num">{seconds(value)}</td>
              {other && <td class="num">{seconds(beside)}</td>}
              {other && <td class={`num delta ${beside > value ? "more" : "less"}`}>{change(beside - value, "sec")}</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function hatch(context: CanvasRenderingContext2D): CanvasPattern | string {
  const tile = new OffscreenCanvas(6, 6);
  const paint = tile.getContext("2d");
  if (!paint) return CLASS_COLOURS["wait"] as string;
  paint.fillStyle = CLASS_COLOURS["wait"] as string;
  paint.fillRect(0, 0, 6, 6);
  paint.strokeStyle = "rgba(255,255,255,0.5)";
  paint.lineWidth = 1.4;
  paint.beginPath();
  for (const at of [-6, 0, 6]) {
    paint.moveTo(at, 6);
    paint.lineTo(at + 6, 0);
  }
  paint.stroke();
  return context.createPattern(tile, "repeat") ?? (CLASS_COLOURS["wait"] as string);
}

function Stacks({ bars, other, names }: { bars: Bars; other: Bars | undefined; names: [string, string] }): JSX.Element {
  const totals = useMemo(() => bars.names.map((_, bar) => bars.values.reduce((sum, row) => sum + (row[bar] ?? 0), 0)), [bars]);
  const besideAt = useMemo(() => new Map(other?.names.map((name, at) => [name, at]) ?? []), [other]);
  const totalBeside = (bar: number) => {
    const at = besideAt.get(bars.names[bar] ?? "");
    return at === undefined ? 0 : (other?.values.reduce((sum, row) => sum + (row[at] ?? 0), 0) ?? 0);
  };
  const most = Math.max(...totals, ...(other ? bars.names.map((_, bar) => totalBeside(bar)) : []), 1e-300);
  const { common, rest: labels } = useMemo(() => withoutCommon(bars.names), [bars]);
  const [size, setSize] = useState({ width: 1, height: 1 });
  const room = (width: number, height: number) => {
    const [left, top, bottom] = [88, 14, 30];
    const bar = Math.min(other ? 320 : 240, (width - left - 14) / Math.max(1, bars.names.length));
    return { left, top, height: Math.max(10, height - top - bottom), bar };
  };
  const draw = (context: CanvasRenderingContext2D, width: number, height: number) => {
    if (width !== size.width || height !== size.height) setSize({ width, height });
    const box = room(width, height);
    const base = box.top + box.height;
    context.font = `12px ${colour("--font")}`;
    context.fillStyle = colour("--text-dim");
    context.strokeStyle = colour("--line");
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const mark of marks(most, 4)) {
      const y = Math.round(base - (box.height * mark.at) / most) + 0.5;
      context.beginPath();
      context.moveTo(box.left, y);
      context.lineTo(width - 8, y);
      context.stroke();
      context.fillText(mark.text, box.left - 8, y);
    }
    const pattern = hatch(context);
    const gap = box.bar > 6 ? Math.min(8, box.bar * 0.2) : box.bar > 2 ? 0.5 : 0;
    const column = (list: number[][], at: number, x: number, wide: number) => {
      let y = base;
      list.forEach((row, kind) => {
        const value = row[at] ?? 0;
        const tall = (box.height * value) / most;
        if (tall <= 0) return;
        const name = bars.classes[kind] ?? "";
        context.fillStyle = name === "wait" ? pattern : (CLASS_COLOURS[name] ?? "#888");
        context.fillRect(x, y - tall, wide, tall);
        y -= tall;
      });
    };
    bars.names.forEach((name, bar) => {
      const x = box.left + bar * box.bar;
      const wide = Math.max(0.5, box.bar - gap);
      if (other) {
        column(bars.values, bar, x, wide / 2 - 0.5);
        const at = besideAt.get(name);
        if (at !== undefined) column(other.values, at, x + wide / 2 + 0.5, wide / 2 - 0.5);
      } else {
        column(bars.values, bar, x, wide);
      }
      // Waiting is on top: where it begins at the process of the band that waits most, and at the one that waits least.
      const [least, greatest] = [bars.least_wait[bar], bars.most_wait[bar]];
      if (least !== undefined && greatest !== undefined && bars.searched) {
        const y = (waiting: number) => base - (box.height * ((totals[bar] ?? 0) - waiting)) / most;
        context.fillStyle = `color-mix(in srgb, ${colour("--text")} 60%, transparent)`;
        context.fillRect(x + wide / 2 - 0.5, y(greatest), 1, y(least) - y(greatest));
      }
    });
    context.fillStyle = colour("--text-dim");
    context.textAlign = "center";
    context.textBaseline = "top";
    const longest = Math.max(...labels.map((name) => name.length), 1);
    const every = Math.max(1, Math.ceil((longest * 7.2 + 14) / box.bar));
    for (let bar = 0; bar < bars.names.length; bar += every) {
      if (box.left + (bar + 0.5) * box.bar + longest * 3.6 > width && bar > 0) continue;
      context.fillText(labels[bar] ?? "", box.left + (bar + 0.5) * box.bar - gap / 2, base + 8);
    }
    context.textAlign = "left";
    if (common) context.fillText(common, 14, base + 8);
  };
  const hitOf = (bar: number): Hit | undefined => {
    if (bar < 0 || bar >= bars.names.length) return undefined;
    const box = room(size.width, size.height);
    const parts = bars.classes
      .map((name, at) => ({ name, value: bars.values[at]?.[bar] ?? 0 }))
      .filter((part) => part.value > 0)
      .sort((a, b) => b.value - a.value);
    const lines = parts.slice(0, 6).map((part) => `${CLASS_NAMES[part.name]} ${seconds(part.value)}, ${percent(share(part.value, totals[bar] ?? 0))}`);
    const beside = other ? [`${names[1]}: ${seconds(totalBeside(bar))}`] : [];
    return {
      text: [
        `${bars.names[bar]}: ${seconds(totals[bar] ?? 0)}${bars.step > 1 ? " on average" : ""}`,
        ...lines,
        ...(bars.step > 1 && bars.searched ? [`waiting from ${seconds(bars.least_wait[bar] ?? 0)} to ${seconds(bars.most_wait[bar] ?? 0)}`] : []),
        ...beside,
      ].join("\n"),
      x: box.left + (bar + 0.5) * box.bar,
      y: box.top + box.height * (1 - Math.min(1, (totals[bar] ?? 0) / most)) + 6,
      bar,
      name: bars.names[bar],
      total: totals[bar],
      parts: Object.fromEntries(parts.map((part) => [part.name, part.value])),
    };
  };
  return (
    <Picture
      label="Time of processes, stacked by what it is spent for"
      draw={draw}
      find={(x, y) => {
        const box = room(size.width, size.height);
        return y < box.top || y > box.top + box.height ? undefined : hitOf(Math.floor((x - box.left) / box.bar));
      }}
      step={(from, dx) => (from ? (hitOf((from["bar"] as number) + dx) ?? from) : hitOf(0))}
      file="processes"
      onPick={(hit) => {
        if (bars.step > 1) go({ from: (hit["bar"] as number) * bars.step });
      }}
      depends={[bars, other]}
    />
  );
}

function BarTable({ bars, other, names, present }: { bars: Bars; other: Bars | undefined; names: [string, string]; present: string[] }): JSX.Element {
  const beside = new Map(other?.names.map((name, at) => [name, at]) ?? []);
  const cell = (of_run: Bars | undefined, kind: string, bar: number | undefined) =>
    of_run && bar !== undefined ? seconds(of_run.values[of_run.classes.indexOf(kind)]?.[bar] ?? 0) : "–";
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Time as a table">
      <table class="numbers">
        <thead><tr><th scope="col">process</th>{present.flatMap((kind) => (other ? names : [""]).map((name) => <th key={kind + name} scope="col">{CLASS_NAMES[kind]}{name && `, ${name}`}</th>))}</tr></thead>
        <tbody>
          {bars.names.map((name, bar) => (
            <tr key={bar}>
              <th scope="row">{name}</th>
              {present.flatMap((kind) => [
                <td key={kind} class="num">{cell(bars, kind, bar)}</td>,
                other && <td key={`${kind}-other`} class="num">{cell(other, kind, beside.get(name))}</td>,
              ])}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
