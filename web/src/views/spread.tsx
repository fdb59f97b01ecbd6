// How a value is spread over locations: five numbers, a histogram, a map of all locations, the worst.

import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { useAnswer } from "../data";
import { amountRgb, differenceRgb, textOn } from "../colours";
import { amount, change, grouped, percent, short } from "../format";
import { CopyTable } from "../save";
import { ScaleKey } from "../scale";
import { colour, type Hit, Picture } from "../canvas";
import { pathOf } from "../model";
import { type Models, of, parameters, type Shown, useInterest, useModels, useSelected } from "../runs";
import { type Grid, gridOf } from "../grid";
import { SpanNote } from "../span";
import { go, link, state } from "../state";
import type { FiveNumbers, LocationNames, Metric, Spread, Topologies, Topology } from "../types";
import { ancestors } from "../values";

/** The grid that the server makes of nodes: a row for each, if it is chosen. */
const NODES = "nodes";

export function SpreadView({ shown }: { shown: Shown }): JSX.Element {
  const models = useModels(shown);
  if (!models) return <p class="empty" aria-busy="true">Reading the report …</p>;
  return <Spreads shown={shown} models={models} />;
}

function Spreads({ shown, models }: { shown: Shown; models: Models }): JSX.Element {
  const selected = useSelected(models, useInterest(models)?.metric);
  const metric = models.metrics.list[selected.metric] as Metric;
  const wanted = parameters(models, selected, 0);
  const otherWanted = shown.second === undefined ? undefined : parameters(models, selected, 1);
  const spread = useAnswer<Spread>(wanted ? of(shown.first, "spread") : undefined, wanted ?? {});
  const other = useAnswer<Spread>(otherWanted && shown.second ? of(shown.second, "spread") : undefined, otherWanted ?? {});
  const row = useAnswer<Float64Array>(wanted ? of(shown.first, "row") : undefined, wanted ?? {});
  const otherRow = useAnswer<Float64Array>(otherWanted && shown.second ? of(shown.second, "row") : undefined, otherWanted ?? {});
  const topologies = useAnswer<Topologies>(of(shown.first, "topologies")).value;
  const layout = state.value["map"] ?? (topologies?.topologies[0] && topologies.topologies[0].name !== NODES ? "0" : undefined);
  const [table, setTable] = useState(false);
  // Values of the other run in the order of this one's locations.
  const beside = useMemo(() => {
    if (!row.value || !otherRow.value || shown.second === undefined) return undefined;
    const [places, values] = [models.compared?.locations, otherRow.value];
    return places ? Float64Array.from(row.value, (_, at) => values[places[at] ?? -1] ?? 0) : values;
  }, [row.value, otherRow.value, models, shown.second]);
  const topology = layout === undefined || layout === "rows" ? undefined : topologies?.topologies[Number(layout)];
  const grid = useMemo(() => gridOf(row.value?.length ?? 0, topology), [row.value?.length, topology]);
  // Threads of a process are at one place.
  const placed = useMemo(() => row.value && grid.together(row.value), [row.value, grid]);
  const placedBeside = useMemo(() => beside && grid.together(beside), [beside, grid]);
  const most = useMemo(() => placed?.reduce((most, value) => Math.max(most, value), 0) ?? 0, [placed]);
  const reach = useMemo(() => placed?.reduce((far, value, at) => Math.max(far, Math.abs((placedBeside?.[at] ?? value) - value)), 0) ?? 0, [placed, placedBeside]);
  return (
    <>
      <div class="toolbar">
        <label>
          Metric{" "}
          <select value={metric.name} onChange={(event) => go({ metric: event.currentTarget.value, own: undefined })}>
            {models.metrics.list.map((it, at) => it.readable && (
              <option key={it.name} value={it.name}>{"\u00a0".repeat(2 * ancestors(models.metrics.tree, at).length)}{it.title}</option>
            ))}
          </select>
        </label>
        <span class="crumb">at <code>{selected.call === undefined ? "the whole program" : pathOf(models.calls, selected.call)}</code>
          {selected.call !== undefined && <> <a href={link({ call: undefined, self: undefined })}>all</a></>}</span>
        <SpanNote whole={metric.in_span && !selected.own ? undefined : `${metric.title} is of the whole run`} />
        <span class="grow" />
        {topologies && topologies.topologies.length > 0 && (
          <label>
            Arranged{" "}
            <select value={layout ?? "rows"} onChange={(event) => go({ map: event.currentTarget.value })}>
              {topologies.topologies.map((it, at) => (
                <option key={at} value={String(at)}>{it.name === NODES ? "one row a node" : it.name || "topology"} ({it.sizes.join(" × ")})</option>
              ))}
              <option value="rows">in rows</option>
            </select>
          </label>
        )}
        <label class="check"><input type="checkbox" checked={table} onChange={(event) => setTable(event.currentTarget.checked)} /> As a table</label>
        {row.value && <CopyTable rows={() => [["location", "value"], ...Array.from(row.value ?? [], (value, at) => [String(at), String(value)])]} />}
      </div>
      {spread.error && <p class="empty" role="alert">{spread.error}</p>}
      {!wanted && <p class="empty">{otherWanted ? `Only ${shown.names[1]} has this call path: select another, or exchange the runs.` : "No run has values here."}</p>}
      {spread.value && (
        <div class="spread">
          <section class="pane" aria-label="Five numbers" tabIndex={0}>
            <div class="pane-head"><h2>Spread over locations</h2></div>
            <div class="pad"><BoxPlot spread={spread.value} other={other.value} unit={metric.unit} /></div>
            {other.value && <p class="pad dim">above {shown.names[0]}, below {shown.names[1]}</p>}
            <Numbers spread={spread.value} other={other.value} names={shown.names} unit={metric.unit} />
            <h3 class="pad">Histogram</h3>
            {row.value && <Histogram rows={[row.value, ...(otherRow.value ? [otherRow.value] : [])]} names={shown.names} unit={metric.unit} />}
            <h3 class="pad">Locations with the most{shown.second && ` in ${shown.names[0]}`}</h3>
            <ol class="worst">
              {spread.value.worst.map((it) => (
                <li key={it.location}>
                  <a href={link({ view: "panes", sys: it.row })}>{it.name}</a>
                  <span class="meter" aria-hidden="true"><span style={{ width: `${(100 * it.value) / (spread.value?.locations.max || 1)}%` }} /></span>
                  <span class="num">{amount(it.value, metric.unit)}</span>
                </li>
              ))}
            </ol>
          </section>
          <section class={`pane${row.stale ? " stale" : ""}`} aria-label="Map of locations">
            <div class="pane-head"><h2>{beside ? "Change at every location" : "Every location"}{topology && !table && `, on ${topology.name || "a topology"}`}</h2>
              <span class="dim">{grouped(spread.value.locations.count)} locations{beside && `, from ${shown.names[0]} to ${shown.names[1]}`}</span><span class="grow" />
              {beside ? <ScaleKey low={change(-reach, metric.unit)} high={change(reach, metric.unit)} diverging />
                : <ScaleKey low="0" high={amount(most, metric.unit)} />}
            </div>
            {row.value && (table
              ? <LocationTable run={shown.first} row={row.value} other={beside} names={shown.names} unit={metric.unit} />
              : <HeatMap run={shown.first} row={placed ?? row.value} other={placedBeside} names={shown.names} reach={reach} unit={metric.unit} grid={grid} topology={topology} />)}
          </section>
        </div>
      )}
    </>
  );
}

export function BoxPlot(props: { spread: Spread; other?: Spread | undefined; unit: string; compact?: boolean }): JSX.Element {
  const boxes = [props.spread.locations, ...(props.other ? [props.other.locations] : [])];
  const low = Math.min(...boxes.map((it) => it.min), 0);
  const high = Math.max(...boxes.map((it) => it.max), low + 1e-300);
  const x = (value: number) => 4 + (192 * (value - low)) / (high - low);
  const rowHeight = 20;
  const text = (it: FiveNumbers) =>
    `least ${amount(it.min, props.unit)}, quartiles ${amount(it.q1, props.unit)}, ${amount(it.median, props.unit)}, ${amount(it.q3, props.unit)}, greatest ${amount(it.max, props.unit)}`;
  return (
    <figure class={`box${props.compact ? " compact" : ""}`}>
      <svg viewBox={`0 0 200 ${boxes.length * rowHeight}`} preserveAspectRatio="none" role="img" aria-label={`Spread over locations: ${boxes.map(text).join("; the other run: ")}`}>
        {boxes.map((it, at) => {
          const middle = at * rowHeight + rowHeight / 2;
          return (
            <g key={at} class={at === 0 ? "box-a" : "box-b"}>
              <line x1={x(it.min)} x2={x(it.max)} y1={middle} y2={middle} vector-effect="non-scaling-stroke" />
              <line x1={x(it.min)} x2={x(it.min)} y1={middle - 4} y2={middle + 4} vector-effect="non-scaling-stroke" />
              <line x1={x(it.max)} x2={x(it.max)} y1={middle - 4} y2={middle + 4} vector-effect="non-scaling-stroke" />
              <rect x={x(it.q1)} width={Math.max(0.6, x(it.q3) - x(it.q1))} y={middle - 6} height={12} vector-effect="non-scaling-stroke" />
              <line class="median" x1={x(it.median)} x2={x(it.median)} y1={middle - 6} y2={middle + 6} vector-effect="non-scaling-stroke" />
              <line class="mean" x1={x(it.mean)} x2={x(it.mean)} y1={middle - 8} y2={middle + 8} vector-effect="non-scaling-stroke" />
            </g>
          );
        })}
      </svg>
      <figcaption>
        <span class="num">{low === 0 ? "0" : amount(low, props.unit)}</span>
        <span class="dim">imbalance <span class="num">{boxes.map((it) => percent(it.imbalance)).join(", then ")}</span></span>
        <span class="num">{amount(high, props.unit)}</span>
      </figcaption>
    </figure>
  );
}

function Numbers({ spread, other, names, unit }: { spread: Spread; other: Spread | undefined; names: [string, string]; unit: string }): JSX.Element {
  const rows: [string, (it: FiveNumbers) => string][] = [
    ["count", (it) => grouped(it.count)],
    ["min", (it) => amount(it.min, unit)],
    ["q1", (it) => amount(it.q1, unit)],
    ["median", (it) => amount(it.median, unit)],
    ["q3", (it) => amount(it.q3, unit)],
    ["max", (it) => amount(it.max, unit)],
    ["mean", (it) => amount(it.mean, unit)],
    ["imbalance", (it) => percent(it.imbalance)],
  ];
  // Where every process is one location, both have the same numbers.
  const same = spread.processes.count === spread.locations.count;
  const columns: [string, FiveNumbers][] = other
    ? [[names[0], spread.locations], [names[1], other.locations]]
    : same ? [["processes", spread.processes]] : [["processes", spread.processes], ["locations", spread.locations]];
  return (
    <table class="numbers">
      <thead><tr><th scope="col">statistic</th>{columns.map(([name]) => <th key={name} scope="col">{name}</th>)}</tr></thead>
      <tbody>
        {rows.map(([name, text]) => (
          <tr key={name}><th scope="row">{name}</th>{columns.map(([column, it]) => <td key={column} class="num">{text(it)}</td>)}</tr>
        ))}
      </tbody>
    </table>
  );
}

/** Number of steps of a histogram. */
const STEPS = 32;

/** How many locations have how much, from 0 on; of both runs on the same scale. */
function Histogram({ rows, names, unit }: { rows: Float64Array[]; names: [string, string]; unit: string }): JSX.Element {
  const high = Math.max(...rows.map((row) => row.reduce((most, value) => Math.max(most, value), 0)));
  const counts = rows.map((row) => {
    const list = new Array<number>(STEPS).fill(0);
    row.forEach((value) => {
      const step = high > 0 ? Math.min(STEPS - 1, Math.max(0, Math.floor((STEPS * value) / high))) : 0;
      list[step] = (list[step] ?? 0) + 1;
    });
    return list;
  });
  const most = Math.max(...counts.flat(), 1);
  const step = 200 / STEPS;
  const wide = (step - 0.8) / rows.length;
  const text = counts.map((list, run) => `${rows.length > 1 ? `${names[run]}: ` : ""}${list.join(", ")}`).join("; ");
  return (
    <figure class="histogram">
      <svg viewBox="0 0 200 60" preserveAspectRatio="none" role="img" aria-label={`How many locations have how much, from 0 to ${amount(high, unit)}: ${text}`}>
        {counts.map((list, run) => list.map((count, at) => (
          <rect key={`${run} ${at}`} class={run === 0 ? "bar-a" : "bar-b"} x={at * step + 0.4 + run * wide} width={wide} y={60 - (58 * count) / most} height={(58 * count) / most}>
            <title>{grouped(count)} from {amount((at * high) / STEPS, unit)} to {amount(((at + 1) * high) / STEPS, unit)}{rows.length > 1 && `, ${names[run]}`}</title>
          </rect>
        )))}
      </svg>
      <figcaption><span class="num">0</span><span class="dim">at most {grouped(most)} {most === 1 ? "location" : "locations"}</span><span class="num">{amount(high, unit)}</span></figcaption>
    </figure>
  );
}

/** Names of locations near one, asked for when they are needed. */
function useName(run: string): (location: number) => string {
  const [first, setFirst] = useState(0);
  const names = useAnswer<LocationNames>(of(run, "locations"), { first: first || undefined }).value;
  return useCallback(
    (location: number) => {
      const chunk = Math.floor(location / 1024) * 1024;
      if (chunk !== first) queueMicrotask(() => setFirst(chunk));
      return names && names.first === chunk ? (names.names[location - chunk] ?? `location ${location}`) : `location ${location}`;
    },
    [names, first],
  );
}

/** Room for the coordinates beside a topology, and for the numbers of rows. */
const RIM = 34;

/** Up to so many locations have their names in their cells. */
const NAMED = 16;

function HeatMap(props: {
  run: string;
  row: Float64Array;
  other: Float64Array | undefined;
  names: [string, string];
  /** Greatest change of a location. */
  reach: number;
  unit: string;
  grid: Grid;
  topology: Topology | undefined;
}): JSX.Element {
  const { row, other, unit, reach, grid, topology } = props;
  // From 0, so that equal values look equal.
  const max = useMemo(() => row.reduce((most, value) => Math.max(most, value), 0), [row]);
  const partOf = (location: number): number => {
    const value = row[location] ?? 0;
    if (other) return reach === 0 ? 0.5 : 0.5 + ((other[location] ?? 0) - value) / (2 * reach);
    return max > 0 ? Math.max(0, value) / max : 0;
  };
  const name = useName(props.run);
  const [size, setSize] = useState({ width: 1, height: 1 });
  const scale = (width: number, height: number) => {
    const rim = topology || row.length > NAMED ? RIM : 8;
    const cell = Math.min((width - rim - 8) / grid.width, (height - rim - 8) / grid.height, row.length <= 16 ? 132 : 96);
    return { cell, left: Math.max(rim, (width - cell * grid.width) / 2), top: rim };
  };
  const draw = (context: CanvasRenderingContext2D, width: number, height: number) => {
    if (width !== size.width || height !== size.height) setSize({ width, height });
    const { cell, left, top } = scale(width, height);
    const image = new ImageData(grid.width, grid.height);
    const pixels = new Uint32Array(image.data.buffer);
    // A table of colours: there may be hundreds of thousands of cells.
    const palette = Uint32Array.from({ length: 256 }, (_, at) => {
      const [r, g, b] = other ? differenceRgb(at / 127.5 - 1) : amountRgb(at / 255);
      return (255 << 24) | (b << 16) | (g << 8) | r;
    });
    for (let y = 0; y < grid.height; y++) {
      for (let x = 0; x < grid.width; x++) {
        const location = grid.at(x, y);
        if (location < 0) continue;
        pixels[y * grid.width + x] = palette[Math.round(255 * partOf(location))] ?? 0;
      }
    }
    const tile = new OffscreenCanvas(grid.width, grid.height);
    tile.getContext("2d")?.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = cell < 1;
    context.drawImage(tile, left, top, cell * grid.width, cell * grid.height);
    if (cell > 6) {
      context.strokeStyle = colour("--panel");
      context.lineWidth = cell > 16 ? 2 : 1;
      context.beginPath();
      for (let x = 0; x <= grid.width; x++) {
        context.moveTo(left + x * cell, top);
        context.lineTo(left + x * cell, top + grid.height * cell);
      }
      for (let y = 0; y <= grid.height; y++) {
        context.moveTo(left, top + y * cell);
        context.lineTo(left + grid.width * cell, top + y * cell);
      }
      context.stroke();
    }
    if (!topology && row.length > NAMED) {
      context.font = `12px ${colour("--font")}`;
      context.fillStyle = colour("--text-dim");
      context.textAlign = "right";
      context.textBaseline = "middle";
      // The first location of a row.
      const every = Math.max(1, Math.ceil(15 / cell));
      for (let y = 0; y < grid.height; y += every) context.fillText(grouped(y * grid.width), left - 7, top + (y + 0.5) * cell);
    }
    if (topology) {
      context.font = `12px ${colour("--font")}`;
      context.fillStyle = colour("--text-dim");
      // Coordinates, as many as there is room for.
      const every = Math.max(1, Math.ceil(26 / cell));
      context.textAlign = "center";
      context.textBaseline = "bottom";
      for (let x = 0; x < grid.across; x += every) context.fillText(String(x), left + (x + 0.5) * cell, top - 5);
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (let y = 0; y < grid.down; y += every) context.fillText(String(y), left - 7, top + (y + 0.5) * cell);
    }
    if (cell > 60) {
      context.font = `12px ${colour("--font")}`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      row.forEach((_, location) => {
        const [x, y] = grid.place(location);
        if (grid.at(x, y) !== location) return;
        context.fillStyle = textOn(other ? differenceRgb(2 * partOf(location) - 1) : amountRgb(partOf(location)));
        if (x < 0) return;
        const delta = (other?.[location] ?? 0) - (row[location] ?? 0);
        const [across, down] = [left + (x + 0.5) * cell, top + (y + 0.5) * cell];
        context.fillText(name(location), across, down - 9, cell - 8);
        context.fillText(other ? change(delta, unit) : short(row[location] ?? 0, unit), across, down + 9, cell - 6);
      });
    }
  };
  const hitOf = (location: number): Hit | undefined => {
    if (location < 0 || location >= row.length) return undefined;
    const { cell, left, top } = scale(size.width, size.height);
    const [x, y] = grid.place(location);
    if (x < 0) return undefined;
    const value = row[location] ?? 0;
    const then = other?.[location] ?? 0;
    const told = other
      ? `${props.names[0]} ${amount(value, unit)}\n${props.names[1]} ${amount(then, unit)}\nchange ${change(then - value, unit)}`
      : amount(value, unit);
    return {
      text: `${name(location)}${topology ? `\nat ${grid.coordinates(location).join(", ")} of ${topology.sizes.join(" × ")}` : ""}\n${told}`,
      x: left + (x + 0.5) * cell,
      y: top + (y + 0.5) * cell,
      location,
      value,
    };
  };
  const find = (x: number, y: number) => {
    const { cell, left, top } = scale(size.width, size.height);
    return hitOf(grid.at(Math.floor((x - left) / cell), Math.floor((y - top) / cell)));
  };
  return (
    <Picture
      label="Map of locations"
      draw={draw}
      find={find}
      step={(from, dx, dy) => {
        const [x, y] = from ? grid.place(from["location"] as number) : [0, 0];
        return hitOf(grid.at(x + dx, y + dy)) ?? from;
      }}
      file="locations"
      depends={[row, other, grid, name]}
    />
  );
}

function LocationTable({ run, row, other, names: runs, unit }: {
  run: string;
  row: Float64Array;
  other: Float64Array | undefined;
  names: [string, string];
  unit: string;
}): JSX.Element {
  const [first, setFirst] = useState(0);
  const names = useAnswer<LocationNames>(of(run, "locations"), { first: first || undefined }).value;
  const end = Math.min(first + 1024, row.length);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Values of locations">
      {row.length > 1024 && (
        <p class="pad">
          <button type="button" class="small" disabled={first === 0} onClick={() => setFirst(first - 1024)}>Previous page</button>{" "}
          {grouped(first)} to {grouped(end - 1)} of {grouped(row.length)}{" "}
          <button type="button" class="small" disabled={end >= row.length} onClick={() => setFirst(first + 1024)}>Next page</button>
        </p>
      )}
      <table class="numbers">
        <thead><tr><th scope="col">location</th>{other ? <><th scope="col">{runs[0]}</th><th scope="col">{runs[1]}</th><th scope="col">change</th></> : <th scope="col">value</th>}</tr></thead>
        <tbody>
          {Array.from(row.subarray(first, end), (value, at) => (
            <tr key={at}><th scope="row">{names?.first === first ? names.names[at] : first + at}</th><td class="num">{amount(value, unit)}</td>
              {other && <td class="num">{amount(other[first + at] ?? 0, unit)}</td>}
              {other && <td class="num">{change((other[first + at] ?? 0) - value, unit)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
