// The table of call paths: where each is called, how often, how long, how long it waits; as a tree from the root down, from
// functions up to their callers, or as a flat list; with the source beside it.

import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { chosenSpan, SpanNote } from "../span";
import { CLASS_COLOURS } from "../colours";
import { isFile, useAnswer } from "../data";
import { CopyTable } from "../save";
import { amount, change, number, percent, share, site } from "../format";
import { type Lengths, useLengths } from "../lengths";
import { pruned, visible } from "../model";
import { type Arrangement, type Rows, rowsOf, siteOf } from "../rows";
import { type Models, of, type Shown, useModels, useSelected, useSystem } from "../runs";
import { useParts, useWide } from "../splitter";
import { go, state } from "../state";
import { TreeView, Twisty } from "../tree";
import type { Metric, SystemNames } from "../types";
import { ancestors, type PathValues, usePathValues, useWaits } from "../values";
import { SourcePane } from "./source";

export function CallTable({ shown }: { shown: Shown }): JSX.Element {
  const models = useModels(shown);
  if (!models) return <p class="empty" aria-busy="true">Reading the report …</p>;
  return <Table shown={shown} models={models} />;
}

const ARRANGEMENTS: [Arrangement, string][] = [
  ["tree", "Call tree"],
  ["bottom", "Bottom-up: functions and their callers"],
  ["flat", "Flat list of functions"],
];

/** A column of numbers. */
interface Column {
  id: string;
  title: string;
  /** The run that it is of, if there are two. */
  run?: string;
  /** What it says, for those who hover. */
  about: string;
  value: (row: number) => number | undefined;
  text: (value: number, row: number) => string;
  kind: "value" | "delta" | "share";
  /** Why a row has no value, if it should have one. */
  missing?: (row: number) => string | undefined;
  /** Width in pixels, if it is not that of its kind. */
  width?: number;
}

/** Values of rows in both runs. */
interface RowValues {
  inclusive: [Float64Array, Float64Array];
  exclusive: [Float64Array, Float64Array];
}

function summed(rows: Rows, values: PathValues | undefined): RowValues | undefined {
  if (!values) return undefined;
  const both = (list: [Float64Array, Float64Array], inclusive: boolean): [Float64Array, Float64Array] =>
    [rows.sum(list[0], inclusive), rows.sum(list[1], inclusive)];
  return { inclusive: both(values.inclusive, true), exclusive: both(values.exclusive, false) };
}

/** How wide a column is, and its class. */
function widthOf(column: Column): number {
  return column.width ?? usualWidth(column);
}

function usualWidth(column: Column): number {
  return column.kind === "share" ? 124 : column.id.startsWith("calls") ? 78 : 98;
}

function classOf(column: Column): string {
  return column.kind === "share" ? " share-col" : column.id.startsWith("calls") ? " calls-col" : "";
}

/** Names of two runs for the heads of columns: directories alone, if the program is the same. */
function headNames([one, other]: [string, string]): [string, string] {
  const [a, b] = [one, other].map((it) => /^(.*) \((.*)\)$/.exec(it));
  return a && b && a[1] === b[1] ? [a[2] as string, b[2] as string] : [one, other];
}

function columnsOf(given: {
  lengths: Lengths | undefined;
  rows: Rows;
  shown: Shown;
  metric: Metric;
  values: RowValues | undefined;
  counts: RowValues | undefined;
  waits: RowValues | undefined;
  total: number;
}): Column[] {
  const { shown, metric, values, counts, waits, total, lengths, rows } = given;
  const two = shown.second !== undefined;
  const names = headNames(shown.names);
  const of_metric = (value: number) => amount(value, metric.unit);
  const runs = two ? ([0, 1] as const) : ([0] as const);
  const column = (id: string, title: string, about: string, list: [Float64Array, Float64Array] | undefined, run: 0 | 1, text: Column["text"]): Column => ({
    id: run === 1 ? `${id}-other` : id,
    title,
    ...(two && { run: names[run] }),
    about,
    value: (row) => list?.[run][row],
    text,
    kind: "value",
  });
  const delta = (id: string, title: string, list: [Float64Array, Float64Array] | undefined): Column => ({
    id: `${id}-change`,
    title: "Change",
    run: title,
    about: `Change of ${title.toLowerCase()}`,
    value: (row) => list && (list[1][row] ?? 0) - (list[0][row] ?? 0),
    text: (value) => change(value, metric.unit),
    kind: "delta",
  });
  const columns: Column[] = [];
  if (counts) for (const run of runs) columns.push(column("calls", "Calls", "Number of calls", counts.exclusive, run, number));
  for (const run of runs) columns.push(column("total", "Total", `${metric.title} with all that is called`, values?.inclusive, run, of_metric));
  if (two) columns.push(delta("total", "Total", values?.inclusive));
  else columns.push({
    id: "share",
    title: "Share",
    about: "Total as a part of the whole",
    value: (row) => share(values?.inclusive[0][row] ?? 0, total),
    text: percent,
    kind: "share",
  });
  for (const run of runs) columns.push(column("self", "Self", `${metric.title} without what is called`, values?.exclusive, run, of_metric));
  if (two) columns.push(delta("self", "Self", values?.exclusive));
  if (waits) for (const run of runs) columns.push(column("waits", "Waits", "Waits of all kinds, with all that is called", waits.inclusive, run, (value) => amount(value, "sec")));
  if (counts && !two && metric.name !== "visits") columns.push({
    id: "mean",
    title: "Mean",
    about: "Total divided by the number of calls",
    value: (row) => {
      const often = counts.exclusive[0][row] ?? 0;
      return often > 0 ? (values?.inclusive[0][row] ?? 0) / often : undefined;
    },
    text: of_metric,
    kind: "value",
  });
  if (lengths && counts && !two) columns.push(...lengthColumns(lengths, counts, rows));
  if (two) {
    // The name of a run is never cut where there is room: the pane scrolls where there is none.
    const widest = 7 * Math.max(...names.map((it) => it.length)) + 16;
    for (const it of columns) if (it.kind === "value") it.width = Math.min(240, Math.max(usualWidth(it), widest));
  }
  return columns;
}

/** The median and the longest call. A row of several call paths has no median, since medians cannot be added up. */
function lengthColumns(lengths: Lengths, counts: RowValues, rows: Rows): Column[] {
  const known = (row: number) => (rows.paths[row] ?? []).map((it) => lengths.of.get(it));
  const missing = (row: number) => ((counts.exclusive[0][row] ?? 0) > 0 ? lengths.why : undefined);
  const isOne = (row: number) => known(row).length === 1;
  return [
    {
      id: "median",
      title: "Median",
      about: "Median length of a call: half of the calls are shorter",
      value: (row) => (isOne(row) ? known(row)[0]?.median : undefined),
      text: (value) => amount(value, "sec"),
      kind: "value",
      missing: (row) => (isOne(row) ? missing(row) : "Not computed for calls in several places."),
    },
    {
      id: "longest",
      title: "Longest",
      about: "Length of the longest call",
      value: (row) => {
        const list = known(row);
        return list.length > 0 && list.every((it) => it) ? Math.max(...list.map((it) => it?.longest ?? 0)) : undefined;
      },
      text: (value) => amount(value, "sec"),
      kind: "value",
      missing,
    },
  ];
}

function Table({ shown, models }: { shown: Shown; models: Models }): JSX.Element {
  const selected = useSelected(models);
  const { calls, metrics } = models;
  const metric = metrics.list[selected.metric] as Metric;
  const visits = metrics.list.findIndex((it) => it.name === "visits");
  const who = chosenRow();
  const values = usePathValues(shown, models, selected.metric, selected.own, who);
  const counts = usePathValues(shown, models, visits < 0 ? selected.metric : visits, false, who);
  const hasWaits = metrics.list.some((it) => it.wait && it.readable) && metric.name === "time" && !chosenSpan();
  const waits = useWaits(shown, models, hasWaits, who);
  const two = shown.second !== undefined;
  const arrangement = (ARRANGEMENTS.find(([id]) => id === state.value["as"])?.[0] ?? "tree");
  const rows = useMemo(() => rowsOf(calls, arrangement), [calls, arrangement]);
  const total = Math.max(values?.total[0] ?? 0, values?.total[1] ?? 0);
  const of_rows = useMemo(() => summed(rows, values), [rows, values]);
  const countsOfRows = useMemo(() => (visits < 0 ? undefined : summed(rows, counts)), [rows, counts, visits]);
  const waitsOfRows = useMemo(() => (hasWaits ? summed(rows, waits) : undefined), [rows, waits, hasWaits]);
  const lengths = useLengths(shown.first, models, !two && who === undefined && metric.name === "time" && !selected.own && visits >= 0);
  const columns = columnsOf({ lengths, rows, shown, metric, values: of_rows, counts: countsOfRows, waits: waitsOfRows, total });
  // Without a choice the source is that of the largest wait, or of the most time.
  const worst = useMemo(() => largest(models, (hasWaits && waits) || values), [models, values, waits, hasWaits]);
  const shownCall = selected.call ?? worst;
  const row = useMemo(() => {
    if (selected.call === undefined) return undefined;
    if (arrangement === "tree") return selected.call;
    const at = rows.keys.indexOf(calls.list[selected.call]?.name ?? "");
    return at < 0 ? undefined : at;
  }, [rows, arrangement, selected.call]);

  const sorted = state.value["sort"] ?? (two ? "total-change" : arrangement === "tree" ? "total" : "self");
  const column = columns.find((it) => it.id === sorted);
  const order = useCallback(
    (items: number[]) => {
      if (sorted === "name") return [...items].sort((a, b) => (rows.names[a] ?? "").localeCompare(rows.names[b] ?? "") || a - b);
      if (sorted === "order" || !column) return items;
      const by = (item: number) => (column.kind === "delta" ? Math.abs(column.value(item) ?? 0) : (column.value(item) ?? -1));
      return [...items].sort((a, b) => by(b) - by(a) || a - b);
    },
    [of_rows, countsOfRows, waitsOfRows, lengths, sorted, rows],
  );

  const [open, setOpen] = useState<Set<number>>(new Set());
  useEffect(() => setOpen(new Set(arrangement === "tree" ? hottest(models, values) : [])), [rows]);
  useEffect(() => {
    if (values && arrangement === "tree") setOpen((before) => new Set([...before, ...hottest(models, values)]));
  }, [models, metric.name, values === undefined]);
  useEffect(() => {
    const needed = ancestors(rows.tree, row);
    setOpen((before) => (needed.every((it) => before.has(it)) ? before : new Set([...before, ...needed])));
  }, [rows, row]);
  const zero = state.value["zero"] === "1";
  const tree = useMemo(() => {
    if (zero || !of_rows) return rows.tree;
    return pruned(rows.tree, (item) => item === row || of_rows.inclusive[0][item] !== 0 || of_rows.inclusive[1][item] !== 0);
  }, [rows, zero, of_rows, row]);
  const toggle = (item: number, to: boolean) =>
    setOpen((before) => {
      const next = new Set(before);
      if (to) next.add(item);
      else next.delete(item);
      return next;
    });
  const isAll = open.size >= rows.names.length;
  const onAll = () => setOpen(isAll ? new Set() : new Set(rows.names.keys()));

  const marked = useMemo(() => {
    const wanted = new Set((state.value["marks"] ?? "").split("|").filter(Boolean));
    return new Set(rows.keys.flatMap((key, at) => (wanted.has(key) ? [at] : [])));
  }, [rows, state.value["marks"]]);
  const onMark = (items: number[], toggles: boolean) => {
    const next = new Set(marked.size === 0 && row !== undefined ? [row] : marked);
    for (const item of items) {
      if (toggles && next.has(item)) next.delete(item);
      else next.add(item);
    }
    go({ marks: [...next].map((item) => rows.keys[item]).join("|") }, true);
  };
  const pick = (item: number) => {
    const list = rows.paths[item] ?? [];
    const best = list.reduce((a, b) => ((values?.inclusive[0][b] ?? 0) > (values?.inclusive[0][a] ?? 0) ? b : a), list[0] ?? -1);
    go({ call: calls.list[best]?.key, self: undefined, marks: undefined });
  };

  // Names are never cut: the table is wider than its pane where it must be.
  const nameWidth = useMemo(() => {
    let widest = 0;
    rows.names.forEach((name, at) => {
      let depth = 0;
      for (let up = rows.tree.parent(at); up >= 0; up = rows.tree.parent(up)) depth += 1;
      if (depth < 40) widest = Math.max(widest, 14 * depth + 7.4 * name.length);
    });
    return Math.min(900, Math.ceil(widest) + 48 + (two ? 40 : 0));
  }, [rows, two]);
  const wide = useWide(1600);
  const parts = useParts("calls", wide ? [1.75, 1] : [1.25, 1], !wide, ["call paths", "source"]);
  const copied = () => [
    ["Call", "Called at", ...columns.map((it) => [it.title, it.run].filter(Boolean).join(", "))],
    ...order(Array.from({ length: rows.names.length }, (_, at) => at)).map((item) => [
      rows.names[item] ?? "",
      site(siteOf(rows, calls, item)),
      ...columns.map((it) => String(it.value(item) ?? (it.missing?.(item) ? "not computed" : ""))),
    ]),
  ];
  return (
    <>
      <div class="toolbar">
        <label>
          Metric{" "}
          <select value={metric.name} onChange={(event) => go({ metric: event.currentTarget.value, own: undefined })}>
            {metrics.list.map((it, at) => it.readable && (
              <option key={it.name} value={it.name}>
                {"\u00a0".repeat(2 * ancestors(metrics.tree, at).length)}{it.title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Show{" "}
          <select value={arrangement} onChange={(event) => go({ as: event.currentTarget.value === "tree" ? undefined : event.currentTarget.value, marks: undefined, sort: undefined })}>
            {ARRANGEMENTS.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
          </select>
        </label>
        <RowChoice run={shown.first} />
        {arrangement !== "flat" && (
          <button type="button" class="small" aria-keyshortcuts="*" onClick={onAll}>{isAll ? "Fold all" : "Unfold all"}</button>
        )}
        {arrangement === "tree" && <button type="button" class="small" onClick={() => setOpen(new Set(hottest(models, values)))}>Hot path</button>}
        <label class="check">
          <input type="checkbox" checked={zero} onChange={(event) => go({ zero: event.currentTarget.checked ? "1" : undefined })} />
          Show zero rows
        </label>
        <SpanNote whole={metric.in_span && !selected.own ? "numbers of calls are of the whole run" : `${metric.title} is of the whole run`} />
        <span class="grow" />
        <CopyTable rows={copied} />
      </div>
      <div class="split" style={parts.style}>
        <section class={`pane wide${values?.stale ? " stale" : ""}`} aria-label="Call paths">
          <div class="calls-table" style={{ "--name": `${nameWidth}px`, "--columns": `${128 + columns.reduce((sum, it) => sum + widthOf(it), 0)}px` }}>
            <TreeView
              grid
              label="Call paths"
              tree={tree}
              selected={row}
              open={open}
              order={order}
              onAll={onAll}
              marked={marked}
              onMark={onMark}
              headHeight={two ? 44 : 30}
              name={(item) => rows.names[item] ?? ""}
              onSelect={pick}
              onToggle={toggle}
              head={
                <div class={`tree-head${two ? " tall" : ""}`} role="row">
                  <HeadCell id="name" title="Call" about="Function or call" sorted={sorted} class="name" />
                  <span role="columnheader" class="col site-col">Called at</span>
                  {columns.map((it) => <HeadCell key={it.id} id={it.id} title={it.title} run={it.run} about={it.about} sorted={sorted} class={`col num${classOf(it)}`} width={it.width} />)}
                </div>
              }
              row={(item, depth, isOpen) => {
                const paths = rows.paths[item] ?? [];
                const only = arrangement === "tree" ? calls.only[item] : undefined;
                const call = calls.list[paths[0] ?? -1];
                const at = siteOf(rows, calls, item);
                return (
                  <>
                    <span role="gridcell" class="name">
                      <Twisty depth={depth} folds={tree.count(item) > 0} open={isOpen} toggle={() => toggle(item, !isOpen)} />
                      <span class="class-mark" style={{ backgroundColor: CLASS_COLOURS[call?.class ?? ""] ?? "" }} aria-hidden="true" />
                      <span class="text">{rows.names[item]}</span>
                      {only !== undefined && <span class={`chip ${only === 1 ? "more" : "less"}`}>{only === 1 ? "new" : "gone"}</span>}
                    </span>
                    <span role="gridcell" class="col site-col site" title={at?.file ?? ""}>{at ? site(at) : paths.length > 1 ? `${paths.length} places` : ""}</span>
                    {columns.map((it) => <Cell key={it.id} column={it} row={item} />)}
                  </>
                );
              }}
            />
          </div>
          {marked.size > 1 && <Marked rows={rows} columns={columns} marked={marked} />}
        </section>
        {parts.line(0)}
        <SourcePane shown={shown} models={models} call={shownCall} isChosen={selected.call !== undefined} metric={metric} values={values} counts={visits < 0 ? undefined : counts} waits={hasWaits ? waits : undefined} lengths={lengths} />
      </div>
    </>
  );
}

/** Row of the system tree whose call tree is wanted: a process, a thread or a node; nothing for all of them. */
function chosenRow(): number | undefined {
  const text = state.value["who"];
  return text !== undefined && /^\d+$/.test(text) && !isFile() ? Number(text) : undefined;
}

/** Chooses the process, thread or node whose calls are shown. Of large systems the first rows can be chosen here, and all others in the panes. */
function RowChoice({ run }: { run: string }): JSX.Element | null {
  const system = useSystem(run);
  const chosen = chosenRow();
  const chunk = system && chosen !== undefined ? Math.floor(chosen / system.about.chunk) : 0;
  const first = useAnswer<SystemNames>(of(run, "system/names")).value;
  const names = useAnswer<SystemNames>(of(run, "system/names"), { chunk: chunk || undefined }).value;
  // Rows have their numbers level by level; here each stands below its own.
  const rows = useMemo(() => {
    if (!system || !first || system.about.rows > first.names.length) return first?.names.map((_, row) => ({ row, depth: 0 })) ?? [];
    const { items, depths } = visible(system.tree, "all");
    return [...items].map((row, at) => ({ row, depth: depths[at] ?? 0 }));
  }, [system, first]);
  if (isFile() || !system || !first || first.names.length < 2) return null;
  return (
    <label>
      Of{" "}
      <select value={chosen ?? ""} onChange={(event) => go({ who: event.currentTarget.value })}>
        <option value="">all processes</option>
        {chosen !== undefined && chunk > 0 && <option value={chosen}>{names?.names[chosen % system.about.chunk] ?? "…"}</option>}
        {rows.map(({ row, depth }) => <option key={row} value={row}>{"\u00a0".repeat(2 * depth)}{first.names[row]}</option>)}
      </select>
    </label>
  );
}

/** Title of a column; a click sorts by it, another one brings the order of the program back. */
function HeadCell(props: { id: string; title: string; run?: string | undefined; about: string; sorted: string; class: string; width?: number | undefined }): JSX.Element {
  const isSorted = props.sorted === props.id;
  return (
    <span role="columnheader" class={props.class} aria-sort={isSorted ? (props.id === "name" ? "ascending" : "descending") : "none"} title={props.about} style={props.width ? { width: `${props.width}px` } : undefined}>
      <button type="button" class="sorter" onClick={(event) => {
        event.stopPropagation();
        go({ sort: isSorted ? "order" : props.id });
      }}>
        {props.title}{isSorted && <span aria-hidden="true"> {props.id === "name" ? "▴" : "▾"}</span>}
      </button>
      {props.run && <span class="head-run" title={props.run}>{props.run}</span>}
    </span>
  );
}

function Cell({ column, row }: { column: Column; row: number }): JSX.Element {
  const value = column.value(row);
  const text = value === undefined ? "" : column.text(value, row);
  if (column.kind === "delta") {
    return <span role="gridcell" class={`col num delta ${(value ?? 0) > 0 ? "more" : (value ?? 0) < 0 ? "less" : "dim"}`}>{text}</span>;
  }
  if (column.kind === "share") {
    return (
      <span role="gridcell" class="col share-col num">
        <span class="meter" aria-hidden="true"><span style={{ width: `${100 * (value ?? 0)}%` }} /></span>
        {text}
      </span>
    );
  }
  const style = column.width ? { width: `${column.width}px` } : undefined;
  const why = value === undefined ? column.missing?.(row) : undefined;
  if (why) return <span role="gridcell" class="col num dim" style={style} title={why}><span aria-hidden="true">–</span><span class="unseen">not computed</span></span>;
  return <span role="gridcell" style={style} class={`col num${classOf(column)}${value ? "" : " dim"}${column.id.startsWith("total") ? " strong" : ""}`}>{text}</span>;
}

/** The sum of several rows. What is below another of them is not counted twice. */
function Marked({ rows, columns, marked }: { rows: Rows; columns: Column[]; marked: ReadonlySet<number> }): JSX.Element {
  const list = [...marked];
  const outer = list.filter((item) => !ancestors(rows.tree, item).some((it) => marked.has(it)));
  const sum = (column: Column) => {
    if (["mean", "median", "longest"].includes(column.id)) return undefined;
    const isInclusive = !column.id.startsWith("self") && !column.id.startsWith("calls");
    return (isInclusive ? outer : list).reduce((all, item) => all + (column.value(item) ?? 0), 0);
  };
  return (
    <div class="marked-sum" role="status">
      <strong>{list.length} rows together</strong>
      {columns.map((column) => {
        const value = sum(column);
        return value !== undefined && (
          <span key={column.id}><span class="dim">{[column.title, column.run].filter(Boolean).join(", ")}</span> <span class="num">{column.text(value, -1)}</span></span>
        );
      })}
      <button type="button" class="small" onClick={() => go({ marks: undefined }, true)}>Clear</button>
    </div>
  );
}

/** The call path with the largest value of its own. */
function largest(models: Models, values: PathValues | undefined): number | undefined {
  if (!values) return undefined;
  let best: number | undefined;
  models.calls.list.forEach((call, at) => {
    if (call.line && (best === undefined || (values.exclusive[0][at] ?? 0) > (values.exclusive[0][best] ?? 0))) best = at;
  });
  return best;
}

/** From the root down, always the largest: where the time is. */
function hottest(models: Models, values: PathValues | undefined): number[] {
  const { tree } = models.calls;
  const list: number[] = [];
  const best = (count: number, of: (at: number) => number): number | undefined => {
    let found: number | undefined;
    for (let at = 0; at < count; at++) {
      const item = of(at);
      if (found === undefined || (values?.inclusive[0][item] ?? 0) > (values?.inclusive[0][found] ?? 0)) found = item;
    }
    return found;
  };
  for (let at = best(tree.roots, tree.root); at !== undefined; ) {
    const here: number = at;
    if (tree.count(here) > 0) list.push(here);
    if (list.length > 1 && !values) break;
    at = best(tree.count(here), (n) => tree.child(here, n));
    if (at !== undefined && values && (values.inclusive[0][at] ?? 0) <= 0.2 * (values.inclusive[0][here] ?? 0)) break;
  }
  return list;
}
