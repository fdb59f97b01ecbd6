// Above the timeline: which rows it has, in which order, and which calls.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useAnswer } from "../../data";
import { grouped, seconds, site } from "../../format";
import { type Models, of } from "../../runs";
import { go, said, state } from "../../state";
import type { CallValues, TimelineAbout, TimelineRow, TimelineRows } from "../../types";
import { MOST_ROWS } from "./common";

/** Functions and call sites that can be chosen. */
const MOST_CHOICES = 60;

/** Orders of rows. */
const SORTS: [string, string][] = [
  ["alike", "that behave alike"],
  ["number", "by number"],
  ["wait", "that wait most"],
  ["blame", "that others wait for most"],
  ["node", "by node"],
];

/** How rows are ordered: what the address says of it. */
export interface Arrangement {
  sort: string;
  /** Nodes whose processes have rows, if the address says so. */
  open: string | undefined;
  /** A range of nodes. */
  nodes: string | undefined;
}

export function arrangementOf(locations: number): Arrangement {
  const { rowsort, open, nodes, rows, only } = state.value;
  // Links of earlier versions: all nodes are folded.
  if (rowsort === "nodes") return { sort: "node", open: open ?? "none", nodes };
  const sort = rowsort ?? (locations > MOST_ROWS && rows === undefined && only === undefined ? "alike" : "number");
  return sort === "node" ? { sort, open, nodes } : { sort, open: sort === "alike" ? open : undefined, nodes: undefined };
}

/** The parameters that ask for rows in an order. */
export function rowQuestion(
  { sort, open, nodes }: Arrangement,
  only: string | undefined,
  range: Record<string, number>,
): Record<string, string | number | undefined> {
  if (sort === "number" && only === undefined) return range;
  return { sort: sort === "number" ? undefined : sort, only, open, nodes };
}

/** Folds the processes of a node or group into one band, or shows them. */
export function toggle(row: TimelineRow, rows: TimelineRow[]): void {
  if (row.node === null) return;
  if (row.nodes > 1) {
    go({ rowsort: "node", nodes: `${row.node}-${row.node + row.nodes}`, open: undefined });
    return;
  }
  const open = new Set(rows.filter((it) => it.open && it.node !== null).map((it) => it.node as number));
  if (row.open) open.delete(row.node);
  else open.add(row.node);
  go({ rowsort: row.differ === null ? "node" : "alike", open: [...open].sort((a, b) => a - b).join(".") || "none" });
  said.value = `${row.name} is ${row.open ? "folded" : "open"}`;
}

/** Pins a row to the top, or takes it from there. */
export function pinned(pins: string[], key: string): string | undefined {
  return (pins.includes(key) ? pins.filter((it) => it !== key) : [...pins, key]).join(".") || undefined;
}

export function RowControls({ about, rows, arrangement, hasCall }: {
  about: TimelineAbout;
  rows: TimelineRows | undefined;
  arrangement: Arrangement;
  hasCall: boolean;
}): JSX.Element {
  const { sort, nodes } = arrangement;
  const list = rows?.rows ?? [];
  const shown = list.filter((it) => it.node === null || !it.open).reduce((sum, it) => sum + it.count, 0);
  const choose = (next: string) =>
    go({ rowsort: next === (about.locations > MOST_ROWS && !hasCall ? "alike" : "number") ? undefined : next, rows: undefined, open: undefined, nodes: undefined });
  const headers = list.filter((it) => it.open !== null);
  return (
    <>
      <label>
        Rows{" "}
        <select class="rows-choice" value={sort} onChange={(event) => choose(event.currentTarget.value)}>
          {SORTS.map(([id, name]) => (id !== "node" || about.nodes.length > 1) && <option key={id} value={id}>{name}</option>)}
          {hasCall && <option value="call">longest in the call</option>}
        </select>
      </label>
      {rows && rows.of > shown && <span class="dim">{grouped(shown)} of {grouped(rows.of)}</span>}
      {sort === "alike" && headers.some((it) => it.open) && (
        <button type="button" class="small" onClick={() => go({ open: "none" })}>Fold all groups</button>
      )}
      {sort === "node" && headers.some((it) => it.open) && (
        <button type="button" class="small" onClick={() => go({ rowsort: "node", open: "none" })}>Fold all nodes</button>
      )}
      {sort === "node" && headers.some((it) => !it.open) && (
        <button type="button" class="small" onClick={() => go({ rowsort: "node", open: "all" })}>Open all nodes</button>
      )}
      {nodes !== undefined && <button type="button" class="small" onClick={() => go({ nodes: undefined, open: undefined })}>All nodes</button>}
    </>
  );
}

/** Calls that the address restricts the timeline to. */
export interface ChosenCalls {
  /** Call paths of the run, as questions list them. */
  text: string;
  /** These and all that they call. */
  all: Set<number>;
  name: string;
}

/** The calls of the address: a call path by its key, or all calls of a function by its name. */
export function useChosenCalls(models: Models): ChosenCalls | undefined {
  const only = state.value["only"];
  return useMemo(() => {
    const { calls } = models;
    if (only === undefined) return undefined;
    const name = only.startsWith("name:") ? only.slice(5) : undefined;
    const items = name === undefined
      ? [calls.byKey.get(only)].filter((it) => it !== undefined)
      : calls.list.flatMap((it, at) => (it.name === name ? [at] : []));
    const numbers = items.flatMap((it) => { const own = calls.of[it]?.[0]; return own === undefined ? [] : [own]; });
    if (numbers.length === 0) return undefined;
    const chosen = new Set(items);
    const all = new Set<number>();
    calls.list.forEach((_, at) => {
      let up = at;
      while (up >= 0 && !chosen.has(up)) up = calls.tree.parent(up);
      const own = calls.of[at]?.[0];
      if (up >= 0 && own !== undefined) all.add(own);
    });
    const first = calls.list[items[0] as number];
    const where = name === undefined ? site(first) : "";
    return { text: numbers.join("."), all, name: `${first?.name ?? ""}${where ? ` at ${where}` : ""}` };
  }, [models, only]);
}

/** Chooses calls: functions, and the places of those that are called in several, what takes most time first. */
export function CallFilter({ run, models, chosen }: { run: string; models: Models; chosen: ChosenCalls | undefined }): JSX.Element {
  const metric = models.metrics.of[models.metrics.list.findIndex((it) => it.name === "time")]?.[0];
  const values = useAnswer<CallValues>(metric === undefined ? undefined : of(run, "calls/values"), { metric }).value;
  const { functions, sites } = useMemo(() => {
    const { calls } = models;
    const sums = new Map<string, { seconds: number; items: [number, number][] }>();
    values?.calls.forEach((call, at) => {
      const item = calls.from[0][call] ?? -1;
      const name = calls.list[item]?.name;
      const own = values.exclusive[at] ?? 0;
      if (name === undefined || own <= 0) return;
      const sum = sums.get(name) ?? { seconds: 0, items: [] };
      sum.seconds += own;
      sum.items.push([item, own]);
      sums.set(name, sum);
    });
    const functions = [...sums].sort((a, b) => b[1].seconds - a[1].seconds).slice(0, MOST_CHOICES);
    const sites = functions.flatMap(([name, it]) => (it.items.length > 1 ? it.items.map(([item, own]) => ({ name, item, own })) : []))
      .sort((a, b) => b.own - a.own).slice(0, MOST_CHOICES);
    return { functions, sites };
  }, [models, values]);
  const value = chosen ? (state.value["only"] ?? "") : "";
  const isListed = value === "" || functions.some(([name]) => `name:${name}` === value) || sites.some((it) => models.calls.list[it.item]?.key === value);
  const choose = (only: string) =>
    go({ only: only || undefined, ...(!only && state.value["rowsort"] === "call" && { rowsort: undefined }), rows: undefined });
  return (
    <label>
      Calls{" "}
      <select class="calls-choice" value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">all</option>
        {!isListed && <option value={value}>{chosen?.name}</option>}
        <optgroup label="Functions">
          {functions.map(([name, it]) => <option key={name} value={`name:${name}`}>{name}, {seconds(it.seconds)}</option>)}
        </optgroup>
        {sites.length > 0 && (
          <optgroup label="Call sites">
            {sites.map((it) => {
              const call = models.calls.list[it.item];
              return <option key={call?.key} value={call?.key}>{it.name} {site(call) || `in ${models.calls.list[models.calls.tree.parent(it.item)]?.name ?? "?"}`}, {seconds(it.own)}</option>;
            })}
          </optgroup>
        )}
      </select>
    </label>
  );
}
