// Who communicates with whom, and who waits for whom: rows are origins, columns are targets.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, isFile, useAnswer } from "../data";
import { amountColour, amountRgb, differenceColour, differenceRgb, textOn } from "../colours";
import { amount, bytes, change, fileName, grouped, number, percent, seconds, short, signed, withoutCommon } from "../format";
import { CopyTable } from "../save";
import { ScaleKey } from "../scale";
import { colour, type Hit, Picture } from "../canvas";
import { of, type Shown } from "../runs";
import { chosenSpan, SpanNote } from "../span";
import { go, link, state } from "../state";
import type { Finding, Matrix, Overview, TimelineAbout } from "../types";

const MEASURES: [string, string, string][] = [
  ["wait", "Waits", "sec"],
  ["seconds", "Time of issuing calls", "sec"],
  ["operations", "Operations", "occ"],
  ["bytes", "Bytes", "bytes"],
  ["mean", "Mean size", "bytes"],
  ["duration", "Mean time of an issuing call", "sec"],
  ["rate", "Bytes per second of issuing calls", "bytes/s"],
];

/** Measures that are one amount of a cell by another, so that they cannot be added up. */
const QUOTIENTS: Record<string, [Figure, Figure]> = {
  mean: ["bytes", "operations"],
  duration: ["seconds", "operations"],
  rate: ["bytes", "seconds"],
};

/** A quotient of amounts; bytes are whole. Nothing where there is nothing to divide by. */
function quotient(measure: string, of_cell: (name: Figure) => number): number {
  const [above, below] = QUOTIENTS[measure] ?? ["bytes", "operations"];
  const value = of_cell(below) > 0 ? of_cell(above) / of_cell(below) : 0;
  return above === "bytes" ? Math.round(value) : value;
}

const KIND_NAMES: Record<string, string> = { put: "Puts", get: "Gets", atomic: "Atomics", message: "Messages" };

/** Up to so many processes cells have their values written in them. */
const WRITTEN = 16;

type CellValues = Map<number, number>;

/** The values of the cells of a matrix, by row and column. */
function values(matrix: Matrix | undefined, measure: string): CellValues {
  const cells = new Map<number, number>();
  if (!matrix) return cells;
  const width = matrix.column_names.length;
  matrix.origin.forEach((row, at) => {
    const value = measure in QUOTIENTS ? quotient(measure, (name) => matrix[name][at] ?? 0) : ((matrix[measure as "wait"] ?? [])[at] ?? 0);
    if (value !== 0) cells.set(row * width + (matrix.target[at] ?? 0), value);
  });
  return cells;
}

/** The finding whose waits are shown, and its number; nothing for all waits. */
function useFinding(shown: Shown): { at: number; finding: Finding } | undefined {
  const overview = useAnswer<Overview>(of(shown.first, "overview")).value;
  const { finding, part, waits } = state.value;
  if (waits !== "finding" || finding === undefined || !overview) return undefined;
  const at = overview.entries.find((it) => String(it.id) === finding)?.findings[Number(part ?? 0)];
  const found = at === undefined ? undefined : overview.findings[at];
  return found && at !== undefined ? { at, finding: found } : undefined;
}

/** How far the index is that has all waits: it is made when somebody asks for it. */
function useIndex(run: string | undefined): { state: string; done: number } {
  const [about, setAbout] = useState({ state: "asking", done: 0 });
  useEffect(() => {
    let current = run !== undefined;
    setAbout({ state: "asking", done: 0 });
    const look = () => {
      if (!current || run === undefined) return;
      // Not remembered: the answer changes while the index is made.
      ask<TimelineAbout>(of(run, "timeline"), isFile() ? {} : { now: Date.now() }).then((about) => {
        if (!current) return;
        setAbout(about);
        if (about.state === "making") setTimeout(look, 300);
      }, () => current && setAbout({ state: "missing", done: 0 }));
    };
    look();
    return () => void (current = false);
  }, [run]);
  return about;
}

export function MatrixView({ shown }: { shown: Shown }): JSX.Element {
  const { measure: wantedMeasure, kinds, fold, rows, columns } = state.value;
  const t = chosenSpan();
  const found = useFinding(shown);
  const [index, indexBeside] = [useIndex(shown.first), useIndex(shown.second)];
  const [ready, readyBeside] = [index.state === "ready", indexBeside.state === "ready"];
  const query = { kinds, fold, rows, columns, t, waits: ready && !t, finding: ready || t ? found?.at : undefined };
  const { value: matrix, error, stale } = useAnswer<Matrix>(index.state === "asking" ? undefined : of(shown.first, "matrix"), query);
  // A finding and a span are those of the first run.
  const queryBeside = { ...query, t: undefined, finding: undefined, waits: readyBeside };
  const other = useAnswer<Matrix>(shown.second && !found && indexBeside.state !== "asking" ? of(shown.second, "matrix") : undefined, queryBeside).value;
  const [table, setTable] = useState(false);
  const searched = matrix?.waits !== "none";
  // In a span it is known who waited for whom, and nothing else.
  const measure = t || found ? "wait" : (wantedMeasure ?? (index.state === "making" || matrix?.wait.some((it) => it > 0) ? "wait" : "operations"));
  const unit = MEASURES.find(([id]) => id === measure)?.[2] ?? "occ";
  const cells = useMemo(() => values(matrix, measure), [matrix, measure]);
  const beside = useMemo(() => {
    if (!matrix || !other?.present) return undefined;
    // Some waits of one run and all of the other are not the same thing.
    if (measure === "wait" && matrix.waits !== other.waits) return undefined;
    const names = (it: Matrix) => [...it.row_names, ...it.column_names].join("\n");
    return names(other) === names(matrix) ? values(other, measure) : undefined;
  }, [matrix, other, measure]);
  const [least, most] = useMemo(() => [Math.min(...cells.values(), Infinity), Math.max(...cells.values(), 0)], [cells]);
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
  const isLog = state.value["scale"] === "log" && !beside;
  const title = measure === "wait" ? `Waits of each ${matrix.unit} (row) for another (column)` : `${MEASURES.find(([id]) => id === measure)?.[1]} from origin (row) to target (column)`;
  return (
    <>
      <div class="toolbar">
        {!found && (
          <label>
            Show{" "}
            <select value={measure} onChange={(event) => go({ measure: event.currentTarget.value })}>
              {MEASURES.filter(([id]) => (id === "wait" ? searched : !t)).map(([id, name]) => <option key={id} value={id}>{name}</option>)}
            </select>
          </label>
        )}
        {measure !== "wait" && (
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
        )}
        {found && (
          <span class="pager">
            <span>Only <strong>{found.finding.title}</strong> of <code>{found.finding.region}</code>
              {found.finding.file && found.finding.line && <> at {fileName(found.finding.file)}:{found.finding.line}</>}</span>
            <a class="small" href={link({ waits: undefined, part: undefined })}>Show all waits</a>
          </span>
        )}
        <label class="check">
          <input type="checkbox" checked={fold === "node"} onChange={(event) =>
            go({ fold: event.currentTarget.checked ? "node" : undefined, rows: undefined, columns: undefined, pair: undefined })} />
          By node
        </label>
        {!beside && (
          <label class="check">
            <input type="checkbox" checked={isLog} onChange={(event) => go({ scale: event.currentTarget.checked ? "log" : undefined })} />
            Logarithmic colours
          </label>
        )}
        <SpanNote whole="waits of all kinds" />
        <span class="grow" />
        {zoomed && <button type="button" class="small" onClick={() => go({ rows: undefined, columns: undefined })}>All {plural(matrix.unit)}</button>}
        <label class="check"><input type="checkbox" checked={table} onChange={(event) => setTable(event.currentTarget.checked)} /> As a table</label>
        <CopyTable rows={() => [["origin", "target", measure], ...[...cells].map(([at, value]) => [
          matrix.row_names[Math.floor(at / matrix.column_names.length)] ?? "", matrix.column_names[at % matrix.column_names.length] ?? "", String(value)])]} />
      </div>
      <div class={`matrix${shown.second ? " two" : ""}`}>
        <section class={`pane${stale ? " stale" : ""}`} aria-label="Communication matrix">
          <div class="pane-head">
            <h2>{title}</h2>
            <span class="dim">{grouped(matrix.parties)} {matrix.parties === 1 ? matrix.unit : plural(matrix.unit)}{matrix.step > 1 && `, ${matrix.step} by ${matrix.step} in a cell`}</span>
            <span class="grow" />
            {beside ? <ScaleKey low={signed(amount(-reach, unit), -reach)} high={`+${amount(reach, unit)}`} diverging />
              : <ScaleKey low={isLog && most > 0 ? amount(least, unit) : "0"} high={amount(most, unit)} />}
          </div>
          {shown.second && !beside && (
            <p class="pane-line" aria-busy={indexBeside.state === "making" ? "true" : undefined}>
              {indexBeside.state === "making" ? `These are values of ${shown.names[0]} alone, until those of ${shown.names[1]} are read: ${percent(indexBeside.done)}.`
                : measure === "wait" && other && other.waits !== matrix.waits ? `These are waits of ${shown.names[0]} alone: ${other.waits === "none" ? `${shown.names[1]} was not searched for waits` : "only one of the runs has waits of all kinds"}.`
                : found ? `These are waits of ${shown.names[0]} alone.`
                : other ? `These are values of ${shown.names[0]} alone: ${shown.names[1]} has other processes.` : `These are values of ${shown.names[0]} alone.`}
            </p>
          )}
          {measure === "wait" && index.state === "making" && (
            <p class="pane-line" aria-busy="true">Waits of all kinds are being read: {percent(index.done)}. Until then there are waits for progress only.</p>
          )}
          {measure === "wait" && matrix.waits === "progress" && index.state === "missing" && (
            <p class="pane-line"><span>Only waits for progress are shown. <code>dwell timeline</code> builds the timeline, which has all.</span></p>
          )}
          {cells.size === 0 && !beside ? (
            <p class="empty">{found ? "It is not known for whom these calls waited." : measure === "wait" ? "No process waited for another." : "Nothing was communicated."}{" "}
              {measure === "wait" && matrix.operations.some((it) => it > 0) && <a href={link({ measure: "operations", waits: undefined, part: undefined })}>Show operations</a>}</p>
          ) : table ? <Cells matrix={matrix} cells={cells} beside={beside} names={shown.names} measure={measure} unit={unit} />
            : <Grid matrix={matrix} cells={cells} beside={beside} names={shown.names} least={isLog ? least : 0} most={most} reach={reach} unit={unit} isWait={measure === "wait"} />}
        </section>
        <Pair shown={shown} matrix={matrix} other={other} query={query} />
      </div>
    </>
  );
}

function Grid({ matrix, cells, beside, names: runs, least, most, reach, unit, isWait }: {
  matrix: Matrix;
  cells: CellValues;
  beside: CellValues | undefined;
  names: [string, string];
  /** Where colours begin: above 0 they are logarithmic. */
  least: number;
  most: number;
  reach: number;
  unit: string;
  isWait: boolean;
}): JSX.Element {
  const [size, setSize] = useState({ width: 1, height: 1 });
  const [wide, high] = [matrix.column_names.length, matrix.row_names.length];
  const hasSums = !beside && !((state.value["measure"] ?? "") in QUOTIENTS);
  const sums = useMemo(() => {
    const [ofRow, ofColumn] = [new Float64Array(high), new Float64Array(wide)];
    for (const [at, value] of cells) {
      const [row, column] = [Math.floor(at / wide), at % wide];
      ofRow[row] = (ofRow[row] ?? 0) + value;
      ofColumn[column] = (ofColumn[column] ?? 0) + value;
    }
    // One target of all would make every row pale on a common scale.
    return { ofRow, ofColumn, mostOfRow: Math.max(...ofRow, 0), mostOfColumn: Math.max(...ofColumn, 0) };
  }, [cells, wide, high]);
  const [rowNames, columnNames] = useMemo(() => [withoutCommon(matrix.row_names), withoutCommon(matrix.column_names)], [matrix]);
  const isWritten = Math.max(wide, high) <= WRITTEN;
  const widest = (list: string[]) => Math.max(2, ...list.map((it) => it.length));
  const room = (width: number, height: number) => {
    const names = Math.min(180, 18 + 7.2 * widest(rowNames.rest));
    const sumRoom = hasSums ? (isWritten ? 76 : 26) : 0;
    const least = Math.max(1, Math.min((width - names - 40 - sumRoom) / wide, 110));
    // Column names stand upright where they do not fit.
    const isUpright = 7.2 * widest(columnNames.rest) + 6 > least && widest(columnNames.rest) > 3;
    const top = isUpright ? Math.min(150, 44 + 7.2 * widest(columnNames.rest)) : 48;
    const down = hasSums ? (isWritten ? 34 : 26) : 0;
    const tall = Math.max(1, Math.min((height - top - down - 16) / high, 110));
    const square = Math.min(least, tall);
    // A few processes have room for numbers in cells that are not square.
    const [cell, rise] = isWritten ? [least, Math.min(tall, high <= 8 ? 96 : 64)] : [square, square];
    const left = names + Math.max(18, (width - names - sumRoom - cell * wide) / 2);
    return { cell, rise, left, names, top, isUpright };
  };
  const colourOf = (value: number, of_most: number): readonly [number, number, number] => {
    if (of_most <= 0 || value <= 0) return amountRgb(0);
    if (least > 0 && of_most > least) return amountRgb(0.12 + (0.88 * Math.log(Math.max(value, least) / least)) / Math.log(of_most / least));
    return amountRgb(value / of_most);
  };
  const css = ([r, g, b]: readonly [number, number, number]) => `rgb(${r},${g},${b})`;
  const draw = (context: CanvasRenderingContext2D, width: number, height: number) => {
    if (width !== size.width || height !== size.height) setSize({ width, height });
    const { cell, rise, left, names, top, isUpright } = room(width, height);
    const [endX, endY] = [left + cell * wide, top + rise * high];
    context.fillStyle = amountColour(0);
    if (beside) context.fillStyle = differenceColour(0);
    const gap = Math.min(cell, rise) > 7 ? 1 : 0;
    if (gap === 0) context.fillRect(left, top, cell * wide, rise * high);
    else for (let row = 0; row < high; row++) for (let column = 0; column < wide; column++) context.fillRect(left + column * cell, top + row * rise, cell - gap, rise - gap);
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.font = `12px ${colour("--font")}`;
    const all = beside ? new Set([...cells.keys(), ...beside.keys()]) : cells.keys();
    for (const at of all) {
      const [row, column] = [Math.floor(at / wide), at % wide];
      const value = cells.get(at) ?? 0;
      const delta = (beside?.get(at) ?? 0) - value;
      const fill = beside ? differenceRgb(reach === 0 ? 0 : delta / reach) : colourOf(value, most);
      context.fillStyle = css(fill);
      context.fillRect(left + column * cell, top + row * rise, cell - gap, rise - gap);
      if (isWritten && rise >= 16) {
        const text = beside ? signed(short(delta, unit), delta) : short(value, unit);
        context.fillStyle = textOn(fill);
        if (context.measureText(text).width < cell - 4) context.fillText(text, left + (column + 0.5) * cell, top + (row + 0.5) * rise);
      }
    }
    context.fillStyle = colour("--text-dim");
    context.textAlign = "right";
    const every = Math.max(1, Math.ceil(15 / rise));
    for (let row = 0; row < high; row += every) {
      context.fillText(fitting(context, rowNames.rest[row] ?? "", names - 10), left - 8, top + (row + 0.5) * rise);
    }
    const everyColumn = Math.max(1, Math.ceil((isUpright ? 15 : 7.2 * widest(columnNames.rest) + 8) / cell));
    for (let column = 0; column < wide; column += everyColumn) {
      const x = left + (column + 0.5) * cell;
      if (isUpright) {
        context.save();
        context.translate(x, top - 6);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(fitting(context, columnNames.rest[column] ?? "", top - 30), 0, 0);
        context.restore();
      } else {
        context.textAlign = "center";
        context.fillText(columnNames.rest[column] ?? "", x, top - 11);
      }
    }
    context.textAlign = "left";
    context.fillText(`${isWait ? "waited for" : "target"}${columnNames.common && ` (${columnNames.common})`} →`, left, 12);
    context.textAlign = "right";
    context.fillText(`${isWait ? "waits" : "origin"}${rowNames.common && ` (${rowNames.common})`} ↓`, left - 8, 12);
    if (!hasSums) return;
    // Sums: of rows at the right, of columns below.
    const strip = isWritten ? 66 : 14;
    context.font = `12px ${colour("--font")}`;
    const sum = (value: number, most: number, x: number, y: number, w: number, h: number) => {
      const fill = colourOf(value, most);
      context.fillStyle = css(fill);
      context.fillRect(x, y, Math.max(w - gap, 0.5), Math.max(h - gap, 0.5));
      if (!isWritten || h < 16) return;
      context.fillStyle = textOn(fill);
      context.textAlign = "center";
      const text = short(value, unit);
      if (context.measureText(text).width < w - 2) context.fillText(text, x + w / 2, y + h / 2);
    };
    sums.ofRow.forEach((value, row) => sum(value, sums.mostOfRow, endX + 10, top + row * rise, strip, rise));
    sums.ofColumn.forEach((value, column) => sum(value, sums.mostOfColumn, left + column * cell, endY + 10, cell, isWritten ? 22 : 14));
    context.fillStyle = colour("--text-dim");
    context.textAlign = "left";
    context.fillText("sum", endX + 10, top - 11);
    context.textAlign = "right";
    context.fillText("sum", left - 8, endY + 10 + (isWritten ? 11 : 7));
  };
  const hitOf = (row: number, column: number): Hit | undefined => {
    if (row < 0 || row >= high || column < 0 || column >= wide) return undefined;
    const { cell, rise, left, top } = room(size.width, size.height);
    const at = row * wide + column;
    const value = cells.get(at) ?? 0;
    const other = beside?.get(at) ?? 0;
    const told = beside
      ? `${runs[0]} ${amount(value, unit)}\n${runs[1]} ${amount(other, unit)}\nchange ${change(other - value, unit)}`
      : amount(value, unit);
    return {
      text: `${matrix.row_names[row]} ${isWait ? "waits for" : "→"} ${matrix.column_names[column]}\n${told}`,
      x: left + (column + 0.5) * cell,
      y: top + (row + 0.5) * rise,
      row,
      column,
      origin: matrix.row_names[row],
      target: matrix.column_names[column],
      value,
    };
  };
  const find = (x: number, y: number): Hit | undefined => {
    const { cell, rise, left, top } = room(size.width, size.height);
    const [row, column] = [Math.floor((y - top) / rise), Math.floor((x - left) / cell)];
    const strip = isWritten ? 76 : 24;
    if (hasSums && row >= 0 && row < high && column >= wide && x < left + cell * wide + strip) {
      return { text: `${matrix.row_names[row]} ${isWait ? "waits for" : "→"} all\n${amount(sums.ofRow[row] ?? 0, unit)}`, x, y: top + (row + 0.5) * rise, sum: sums.ofRow[row] };
    }
    if (hasSums && column >= 0 && column < wide && row >= high && y < top + rise * high + 32) {
      return { text: `all ${isWait ? "wait for" : "→"} ${matrix.column_names[column]}\n${amount(sums.ofColumn[column] ?? 0, unit)}`, x: left + (column + 0.5) * cell, y, sum: sums.ofColumn[column] };
    }
    return hitOf(row, column);
  };
  const zoom = (row: number, rowCount: number, column: number, columnCount: number) =>
    go({
      rows: `${matrix.rows[0] + row * matrix.step}-${rowCount * matrix.step}`,
      columns: `${matrix.columns[0] + column * matrix.step}-${columnCount * matrix.step}`,
    });
  return (
    <Picture
      label={isWait ? "Matrix of waits, those who wait down, those who are waited for across" : "Communication matrix, origins down, targets across"}
      file="matrix"
      draw={draw}
      find={find}
      step={(from, dx, dy) => (from && from["row"] !== undefined ? (hitOf((from["row"] as number) + dy, (from["column"] as number) + dx) ?? from) : hitOf(0, 0))}
      onPick={(hit) => {
        if (hit["row"] === undefined) return;
        const [row, column] = [hit["row"] as number, hit["column"] as number];
        if (matrix.step > 1) zoom(row, 1, column, 1);
        else go({ pair: `${matrix.rows[0] + row}-${matrix.columns[0] + column}` });
      }}
      onArea={(from, to) => {
        if (from["row"] === undefined || to["row"] === undefined) return;
        const low = (name: string) => Math.min(from[name] as number, to[name] as number);
        const count = (name: string) => Math.abs((from[name] as number) - (to[name] as number)) + 1;
        zoom(low("row"), count("row"), low("column"), count("column"));
      }}
      onClear={() => go({ rows: undefined, columns: undefined, pair: undefined })}
      depends={[matrix, cells, beside, least]}
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
    const cut = `…${text.slice(from)}`;
    if (context.measureText(cut).width <= room) return cut;
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
        <thead><tr>{measure === "wait" ? <><th scope="col">who waits</th><th scope="col">for whom</th></> : <><th scope="col">origin</th><th scope="col">target</th></>}{beside ? <><th scope="col">{names[0]}</th><th scope="col">{names[1]}</th><th scope="col">change</th></> : <th scope="col">{MEASURES.find(([id]) => id === measure)?.[1]}</th>}</tr></thead>
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
function Pair({ shown, matrix, other, query }: {
  shown: Shown;
  matrix: Matrix;
  other: Matrix | undefined;
  query: Record<string, string | number | boolean | undefined>;
}): JSX.Element {
  const pair = /^(\d+)-(\d+)$/.exec(state.value["pair"] ?? "");
  const [row, column] = pair ? [Number(pair[1]), Number(pair[2])] : [undefined, undefined];
  const cell = { fold: query["fold"], rows: `${row}-1`, columns: `${column}-1` };
  const runs = [shown.first, shown.second];
  const asked = ["put", "get", "atomic", "message"].map((kind) => ({
    kind,
    answers: runs.map((run) =>
      useAnswer<Matrix>(pair && run !== undefined && matrix.kinds.includes(kind) ? of(run, "matrix") : undefined, { ...cell, kinds: kind }).value),
  }));
  const total = (it: Matrix | undefined, name: Figure) => it?.[name].reduce((sum, value) => sum + value, 0) ?? 0;
  // All waits of the pair, of whatever kind.
  const inCell = (it: Matrix | undefined, name: Figure) => {
    const at = it?.origin.findIndex((origin, n) => origin + (it.rows[0] ?? 0) === row && (it.target[n] ?? 0) + (it.columns[0] ?? 0) === column) ?? -1;
    return at < 0 ? 0 : (it?.[name][at] ?? 0);
  };
  const both = (of_run: (it: Matrix, name: Figure) => number) =>
    [(name: Figure) => of_run(matrix, name), ...(other ? [(name: Figure) => of_run(other, name)] : [])];
  const first = asked.map(({ answers }) => answers[0]).find((it) => it !== undefined);
  const hasWaits = matrix.waits !== "none";
  return (
    <section class="pane pair" aria-label="Selected pair" tabIndex={0}>
      <div class="pane-head"><h2>{pair ? (first ? `${first.row_names[0]} → ${first.column_names[0]}` : "Pair") : "All that is shown"}</h2></div>
      {!pair && (
        <>
          <Figures names={shown.names} list={both(total)} waits={matrix.waits} />
          <p class="empty">Select a cell to see the pair by kind; drag over cells to zoom.</p>
        </>
      )}
      {pair && hasWaits && matrix.step === 1 && <Figures names={shown.names} list={both(inCell)} waits={matrix.waits} only="wait" />}
      {asked.map(({ kind, answers: [one, two] }) => one && pair && (
        <div key={kind}>
          <h3 class="pad">{KIND_NAMES[kind]}</h3>
          <Figures names={shown.names} list={[(name) => total(one, name), ...(two ? [(name: Figure) => total(two, name)] : [])]} waits="none" />
        </div>
      ))}
      {pair && <p class="pad"><a href={link({ pair: undefined })}>All that is shown</a></p>}
    </section>
  );
}

type Figure = "operations" | "bytes" | "seconds" | "wait";

/** The figures of a cell, or of all cells, in each run. What was not computed is left out. */
function Figures({ names, list, waits, only }: { names: [string, string]; list: ((name: Figure) => number)[]; waits: string; only?: Figure }): JSX.Element {
  const of_quotient = (measure: string, unit: string) => (of_cell: (name: Figure) => number) => {
    const value = quotient(measure, of_cell);
    return value > 0 ? amount(value, unit) : "–";
  };
  const all: [Figure, string, (of_cell: (name: Figure) => number) => string][] = [
    ["wait", waits === "progress" ? "Waits for progress" : "Waits", (it) => seconds(it("wait"))],
    ["operations", "Operations", (it) => number(it("operations"))],
    ["bytes", "Bytes", (it) => bytes(it("bytes"))],
    ["bytes", "Mean size", of_quotient("mean", "bytes")],
    ["seconds", "Time of issuing calls", (it) => seconds(it("seconds"))],
    ["seconds", "Mean time of one", of_quotient("duration", "sec")],
    ["seconds", "Bytes per second of them", of_quotient("rate", "bytes/s")],
  ];
  const rows = all.filter(([figure]) => (only ? figure === only : figure !== "wait" || waits !== "none"));
  return (
    <table class="numbers">
      {list.length > 1 && <thead><tr><td />{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>}
      <tbody>
        {rows.map(([, name, text]) => (
          <tr key={name}><th scope="row">{name}</th>{list.map((of_cell, at) => <td key={at} class="num">{text(of_cell)}</td>)}</tr>
        ))}
      </tbody>
    </table>
  );
}
