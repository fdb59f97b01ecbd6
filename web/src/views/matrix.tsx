// Who communicates with whom: rows are origins, columns are targets.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAnswer } from "../data";
import { amountColour, differenceColour } from "../colours";
import { amount, bytes, change, grouped, number, seconds, signed } from "../format";
import { ScaleKey } from "../scale";
import { colour, type Hit, Picture } from "../canvas";
import { of, type Shown } from "../runs";
import { chosenSpan, SpanNote } from "../span";
import { go, state } from "../state";
import type { Matrix } from "../types";

const MEASURES: [string, string, string][] = [
  ["wait", "Wait", "sec"],
  ["seconds", "Time", "sec"],
  ["operations", "Operations", "occ"],
  ["bytes", "Bytes", "bytes"],
  ["mean", "Mean size", "bytes"],
];

const KIND_NAMES: Record<string, string> = { put: "Puts", get: "Gets", atomic: "Atomics", message: "Messages" };

/** The values of the cells of a matrix, by row and column. */
function values(matrix: Matrix | undefined, measure: string): Map<number, number> {
  const cells = new Map<number, number>();
  if (!matrix) return cells;
  const width = matrix.column_names.length;
  matrix.origin.forEach((row, at) => {
    const value =
      measure === "mean"
        ? (matrix.operations[at] ?? 0) > 0 ? Math.round((matrix.bytes[at] ?? 0) / (matrix.operations[at] ?? 1)) : 0
        : ((matrix[measure as "wait"] ?? [])[at] ?? 0);
    cells.set(row * width + (matrix.target[at] ?? 0), value);
  });
  return cells;
}

export function MatrixView({ shown }: { shown: Shown }): JSX.Element {
  const { measure: wantedMeasure, kinds, fold, rows, columns } = state.value;
  const t = chosenSpan();
  const query = { kinds, fold, rows, columns, t };
  const { value: matrix, error, stale } = useAnswer<Matrix>(of(shown.first, "matrix"), query);
  const other = useAnswer<Matrix>(shown.second && of(shown.second, "matrix"), { ...query, t: undefined }).value;
  const [table, setTable] = useState(false);
  const hasWaits = matrix ? matrix.wait.some((it) => it > 0) : false;
  // In a span it is known who waited for whom, and nothing else.
  const measure = t ? "wait" : (wantedMeasure ?? (hasWaits ? "wait" : "operations"));
  const unit = MEASURES.find(([id]) => id === measure)?.[2] ?? "occ";
  const cells = useMemo(() => values(matrix, measure), [matrix, measure]);
  const beside = useMemo(() => {
    if (!matrix || !other?.present) return undefined;
    const names = (it: Matrix) => [...it.row_names, ...it.column_names].join("\n");
    return names(other) === names(matrix) ? values(other, measure) : undefined;
  }, [matrix, other, measure]);
  const most = useMemo(() => Math.max(...cells.values(), 0), [cells]);
  const reach = useMemo(() => {
    let far = 0;
    if (beside) for (const at of new Set([...cells.keys(), ...beside.keys()])) far = Math.max(far, Math.abs((beside.get(at) ?? 0) - (cells.get(at) ?? 0)));
    return far;
  }, [cells, beside]);
  if (error) return <p class="empty" role="alert">{error}</p>;
  if (!matrix) return <p class="empty" aria-busy="true">Reading the report …</p>;
  if (!matrix.present) {
    return (
      <p class="empty">
        This report does not say who communicates with whom: <code>dwell analyze</code> writes that into its own reports.
      </p>
    );
  }
  const chosen = kinds ? kinds.split(",") : matrix.kinds;
  const zoomed = rows !== undefined || columns !== undefined;
  return (
    <>
      <div class="toolbar">
        <label>
          Show{" "}
          <select value={measure} onChange={(event) => go({ measure: event.currentTarget.value })}>
            {MEASURES.filter(([id]) => !t || id === "wait").map(([id, name]) => <option key={id} value={id}>{name}</option>)}
          </select>
        </label>
        <fieldset class="checks" aria-label="Kinds">
          {matrix.kinds.map((kind) => (
            <label key={kind} class="check">
              <input type="checkbox" checked={chosen.includes(kind)} onChange={(event) => {
                const next = matrix.kinds.filter((it) => (it === kind ? event.currentTarget.checked : chosen.includes(it)));
                go({ kinds: next.length === matrix.kinds.length || next.length === 0 ? undefined : next.join() });
              }} />
              {KIND_NAMES[kind] ?? kind}
            </label>
          ))}
        </fieldset>
        <label class="check">
          <input type="checkbox" checked={fold === "node"} onChange={(event) =>
            go({ fold: event.currentTarget.checked ? "node" : undefined, rows: undefined, columns: undefined })} />
          Folded by node
        </label>
        <SpanNote whole="waits of all kinds, from the process that waits to the one that ended the wait" />
        <span class="grow" />
        {zoomed && <button type="button" class="small" onClick={() => go({ rows: undefined, columns: undefined })}>All {plural(matrix.unit)}</button>}
        <label class="check"><input type="checkbox" checked={table} onChange={(event) => setTable(event.currentTarget.checked)} /> As a table</label>
      </div>
      <div class="matrix">
        <section class={`pane${stale ? " stale" : ""}`} aria-label="Communication matrix">
          <div class="pane-head">
            <h2>{MEASURES.find(([id]) => id === measure)?.[1]} from origin to target</h2>
            <span class="dim">{grouped(matrix.parties)} {plural(matrix.unit)}{matrix.step > 1 && `, ${matrix.step} in a cell`}</span>
            <span class="grow" />
            {beside ? <ScaleKey low={signed(amount(-reach, unit), -reach)} high={`+${amount(reach, unit)}`} diverging /> : <ScaleKey low="0" high={amount(most, unit)} />}
          </div>
          {shown.second && !beside && (
            <p class="pane-line">
              {other ? `These are values of ${shown.names[0]} alone: ${shown.names[1]} has other processes.` : `These are values of ${shown.names[0]} alone.`}
            </p>
          )}
          {table ? <Cells matrix={matrix} cells={cells} beside={beside} names={shown.names} measure={measure} unit={unit} />
            : <Grid matrix={matrix} cells={cells} beside={beside} names={shown.names} most={most} reach={reach} unit={unit} />}
        </section>
        <Pair shown={shown} matrix={matrix} other={other} query={query} />
      </div>
    </>
  );
}

type CellValues = Map<number, number>;

function Grid({ matrix, cells, beside, names: runs, most, reach, unit }: {
  matrix: Matrix;
  cells: CellValues;
  beside: CellValues | undefined;
  names: [string, string];
  most: number;
  reach: number;
  unit: string;
}): JSX.Element {
  const [size, setSize] = useState({ width: 1, height: 1 });
  const [wide, high] = [matrix.column_names.length, matrix.row_names.length];
  const room = (width: number, height: number) => {
    const names = Math.min(180, 24 + 7.2 * Math.max(6, ...matrix.row_names.map((it) => it.length)));
    const cell = Math.max(1, Math.min((width - names - 24) / wide, (height - 60) / high, 56));
    const left = names + Math.max(0, (width - names - 24 - cell * wide) / 2);
    return { cell, left, names, top: 40 };
  };
  const draw = (context: CanvasRenderingContext2D, width: number, height: number) => {
    if (width !== size.width || height !== size.height) setSize({ width, height });
    const { cell, left, names, top } = room(width, height);
    context.fillStyle = colour("--empty-cell");
    context.fillRect(left, top, cell * wide, cell * high);
    const gap = cell > 7 ? 1 : 0;
    const all = beside ? new Set([...cells.keys(), ...beside.keys()]) : cells.keys();
    for (const at of all) {
      const [row, column] = [Math.floor(at / wide), at % wide];
      const value = cells.get(at) ?? 0;
      context.fillStyle = beside
        ? differenceColour(reach === 0 ? 0 : ((beside.get(at) ?? 0) - value) / reach)
        : amountColour(most === 0 ? 0 : value / most);
      context.fillRect(left + column * cell, top + row * cell, cell - gap, cell - gap);
    }
    context.fillStyle = colour("--text-dim");
    context.font = `12px ${colour("--font")}`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const every = Math.max(1, Math.ceil(16 / cell));
    for (let row = 0; row < high; row += every) {
      context.fillText(fitting(context, matrix.row_names[row] ?? "", names - 16), left - 8, top + (row + 0.5) * cell);
    }
    context.textAlign = "left";
    const everyColumn = Math.max(1, Math.ceil(72 / cell));
    for (let column = 0; column < wide; column += everyColumn) {
      context.fillText(fitting(context, matrix.column_names[column] ?? "", everyColumn * cell - 6), left + column * cell, top - 10);
    }
    context.textAlign = "left";
    context.fillText("target →", left, 12);
    context.save();
    context.textAlign = "right";
    context.fillText("origin ↓", left - 8, top - 10);
    context.restore();
  };
  const hitOf = (row: number, column: number): Hit | undefined => {
    if (row < 0 || row >= high || column < 0 || column >= wide) return undefined;
    const { cell, left, top } = room(size.width, size.height);
    const at = row * wide + column;
    const value = cells.get(at) ?? 0;
    const other = beside?.get(at) ?? 0;
    const told = beside
      ? `${runs[0]} ${amount(value, unit)}\n${runs[1]} ${amount(other, unit)}\nchange ${change(other - value, unit)}`
      : amount(value, unit);
    return {
      text: `${matrix.row_names[row]} → ${matrix.column_names[column]}\n${told}`,
      x: left + (column + 0.5) * cell,
      y: top + (row + 0.5) * cell,
      row,
      column,
      origin: matrix.row_names[row],
      target: matrix.column_names[column],
      value,
    };
  };
  const find = (x: number, y: number) => {
    const { cell, left, top } = room(size.width, size.height);
    return hitOf(Math.floor((y - top) / cell), Math.floor((x - left) / cell));
  };
  const zoom = (row: number, rowCount: number, column: number, columnCount: number) =>
    go({
      rows: `${matrix.rows[0] + row * matrix.step}-${rowCount * matrix.step}`,
      columns: `${matrix.columns[0] + column * matrix.step}-${columnCount * matrix.step}`,
    });
  return (
    <Picture
      label="Communication matrix, origins down, targets across"
      draw={draw}
      find={find}
      step={(from, dx, dy) => (from ? (hitOf((from["row"] as number) + dy, (from["column"] as number) + dx) ?? from) : hitOf(0, 0))}
      onPick={(hit) => {
        const [row, column] = [hit["row"] as number, hit["column"] as number];
        if (matrix.step > 1) zoom(row, 1, column, 1);
        else go({ pair: `${matrix.rows[0] + row}-${matrix.columns[0] + column}` });
      }}
      onArea={(from, to) => {
        const low = (name: string) => Math.min(from[name] as number, to[name] as number);
        const count = (name: string) => Math.abs((from[name] as number) - (to[name] as number)) + 1;
        zoom(low("row"), count("row"), low("column"), count("column"));
      }}
      onClear={() => go({ rows: undefined, columns: undefined, pair: undefined })}
      depends={[matrix, cells, beside]}
    />
  );
}

function plural(unit: string): string {
  return unit === "process" ? "processes" : `${unit}s`;
}

/** A text that fits; the end of a name tells more. */
function fitting(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  for (let from = 1; from < text.length; from++) {
    const short = `…${text.slice(from)}`;
    if (context.measureText(short).width <= room) return short;
  }
  return "";
}

/** The largest cells as a table. */
function Cells({ matrix, cells, beside, names, measure, unit }: {
  matrix: Matrix;
  cells: CellValues;
  beside: CellValues | undefined;
  names: [string, string];
  measure: string;
  unit: string;
}): JSX.Element {
  const wide = matrix.column_names.length;
  const all = [...new Set([...cells.keys(), ...(beside?.keys() ?? [])])].map((at) => ({ at, value: cells.get(at) ?? 0, other: beside?.get(at) ?? 0 }));
  const size = (it: (typeof all)[number]) => (beside ? Math.abs(it.other - it.value) : it.value);
  const list = all.sort((a, b) => size(b) - size(a) || a.at - b.at).slice(0, 500);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Largest cells">
      <table class="numbers">
        <thead><tr><th scope="col">origin</th><th scope="col">target</th>{beside ? <><th scope="col">{names[0]}</th><th scope="col">{names[1]}</th><th scope="col">change</th></> : <th scope="col">{measure}</th>}</tr></thead>
        <tbody>
          {list.map(({ at, value, other }) => (
            <tr key={at}>
              <th scope="row">{matrix.row_names[Math.floor(at / wide)]}</th>
              <td>{matrix.column_names[at % wide]}</td>
              <td class="num">{amount(value, unit)}</td>
              {beside && <td class="num">{amount(other, unit)}</td>}
              {beside && <td class={`num delta ${other > value ? "more" : "less"}`}>{change(other - value, unit)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** One pair in full, by kind; of both runs, if there are two. */
function Pair({ shown, matrix, other, query }: { shown: Shown; matrix: Matrix; other: Matrix | undefined; query: Record<string, string | undefined> }): JSX.Element {
  const pair = /^(\d+)-(\d+)$/.exec(state.value["pair"] ?? "");
  const [row, column] = pair ? [Number(pair[1]), Number(pair[2])] : [undefined, undefined];
  const asked = ["put", "get", "atomic", "message"].map((kind) => ({
    kind,
    answers: [shown.first, shown.second].map((run) =>
      useAnswer<Matrix>(pair && run !== undefined && matrix.kinds.includes(kind) ? of(run, "matrix") : undefined, {
        fold: query["fold"],
        kinds: kind,
        rows: `${row}-1`,
        columns: `${column}-1`,
      }).value),
  }));
  const total = (it: Matrix | undefined, name: Figure) => it?.[name].reduce((sum, value) => sum + value, 0) ?? 0;
  return (
    <section class="pane pair" aria-label="Selected pair" tabIndex={0}>
      <div class="pane-head"><h2>{pair ? "Pair" : "All that is shown"}</h2></div>
      {!pair && (
        <>
          <Figures names={shown.names} list={[(name) => total(matrix, name), ...(other ? [(name: Figure) => total(other, name)] : [])]} />
          <p class="empty">Select a cell to see the pair by kind; drag over cells to zoom.</p>
        </>
      )}
      {asked.map(({ kind, answers: [first, second] }) => first && pair && (
        <div key={kind}>
          <h3 class="pad">{KIND_NAMES[kind]}</h3>
          <p class="pad dim">{first.row_names[0]} → {first.column_names[0]}</p>
          <Figures names={shown.names} list={[(name) => total(first, name), ...(second ? [(name: Figure) => total(second, name)] : [])]} />
        </div>
      ))}
    </section>
  );
}

type Figure = "operations" | "bytes" | "seconds" | "wait";

/** The figures of a cell, or of all cells, in each run. */
function Figures({ names, list }: { names: [string, string]; list: ((name: Figure) => number)[] }): JSX.Element {
  const mean = (of_cell: (name: Figure) => number) => (of_cell("operations") > 0 ? bytes(Math.round(of_cell("bytes") / of_cell("operations"))) : "–");
  const rows: [string, (of_cell: (name: Figure) => number) => string][] = [
    ["Operations", (it) => number(it("operations"))],
    ["Bytes", (it) => bytes(it("bytes"))],
    ["Mean size", mean],
    ["Time", (it) => seconds(it("seconds"))],
    ["Wait", (it) => seconds(it("wait"))],
  ];
  return (
    <table class="numbers">
      {list.length > 1 && <thead><tr><td />{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>}
      <tbody>
        {rows.map(([name, text]) => (
          <tr key={name}><th scope="row">{name}</th>{list.map((of_cell, at) => <td key={at} class="num">{text(of_cell)}</td>)}</tr>
        ))}
      </tbody>
    </table>
  );
}
