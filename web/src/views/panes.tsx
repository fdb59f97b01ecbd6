// Metric, call and system pane, as in Cube: a selection refills the panes to its right; folded rows show
// values with what is below, unfolded ones without.

import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { ask, isFile, useAnswer } from "../data";
import { amountColour, CLASS_COLOURS, differenceColour } from "../colours";
import { amount, below, grouped, percent, share, signed, site } from "../format";
import { ScaleKey } from "../scale";
import { pathOf, pruned, type Tree } from "../model";
import { type Models, of, parameters, type Selected, type Shown, useModels, useSelected, useSystem } from "../runs";
import { go, link, state } from "../state";
import { Explained } from "../term";
import { useParts, useWide } from "../splitter";
import { TreeView, Twisty } from "../tree";
import type { Metric, Overview, Spread, SystemNames, SystemValues } from "../types";
import { ancestors, usePathValues } from "../values";
import { BoxPlot } from "./spread";

const MODES: [string, string][] = [
  ["abs", "Values"],
  ["root", "Percent of the whole"],
  ["sel", "Percent of the selection"],
  ["peer", "Percent of the largest"],
];

/** What percentages are of. */
interface Scale {
  mode: string;
  whole: number;
  selection: number;
  largest: number;
}

function written(value: number, unit: string, scale: Scale): string {
  switch (scale.mode) {
    case "root": return percent(share(value, scale.whole));
    case "sel": return percent(share(value, scale.selection));
    case "peer": return percent(share(value, scale.largest));
    default: return amount(value, unit);
  }
}

export function Panes({ shown }: { shown: Shown }): JSX.Element {
  const models = useModels(shown);
  if (!models) return <p class="empty" aria-busy="true">Reading the report …</p>;
  return <ThreePanes shown={shown} models={models} />;
}

function ThreePanes({ shown, models }: { shown: Shown; models: Models }): JSX.Element {
  const overview = useAnswer<Overview>(of(shown.first, "overview")).value;
  const worst = overview?.findings[overview.entries[0]?.findings[0] ?? -1];
  const call = worst?.call == null ? undefined : models.calls.from[0][worst.call];
  const selected = useSelected(models, worst?.metric ?? undefined, call);
  const metric = models.metrics.list[selected.metric] as Metric;
  const mode = state.value["mode"] ?? "abs";
  const across = useWide(1000);
  const parts = useParts("panes", [1.1, 1.15, 0.75], !across, ["metrics", "call paths", "system"]);
  return (
    <>
      <div class="toolbar">
        <label>
          Show{" "}
          <select value={mode} onChange={(event) => go({ mode: event.currentTarget.value === "abs" ? undefined : event.currentTarget.value })}>
            {MODES.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={state.value["zero"] === "1"}
            onChange={(event) => go({ zero: event.currentTarget.checked ? "1" : undefined })} />
          Show zero rows
        </label>
        {shown.second !== undefined && <span class="dim">Values of {shown.names[0]}, and the change to {shown.names[1]}</span>}
        {shown.second === undefined
          ? <ScaleKey low="0 %" high="100 % of the whole" />
          : <ScaleKey low="-25 %" high="+25 % of the whole" diverging />}
      </div>
      <div class="panes" style={parts.style}>
        <MetricPane shown={shown} models={models} selected={selected} mode={mode} />
        {parts.line(0)}
        <CallPane shown={shown} models={models} selected={selected} mode={mode} />
        {parts.line(1)}
        <SystemPane shown={shown} models={models} selected={selected} mode={mode} />
      </div>
      <Detail models={models} selected={selected} metric={metric} />
    </>
  );
}

function Pane(props: { title: string; unit?: string; tools?: ComponentChildren; children: ComponentChildren; stale?: boolean }): JSX.Element {
  return (
    <section class={`pane${props.stale ? " stale" : ""}`} aria-label={props.title}>
      <div class="pane-head"><h2>{props.title}</h2><span class="dim">{props.unit}</span><span class="grow" />{props.tools}</div>
      {props.children}
    </section>
  );
}

/** A row of a pane: triangle, square, number, name. */
function Cells(props: {
  depth: number;
  folds: boolean;
  open: boolean;
  toggle: () => void;
  value: number | undefined;
  other: number | undefined;
  unit: string;
  scale: Scale;
  name: ComponentChildren;
  mark?: string | undefined;
  /** Whether the row has no value of its own. */
  blank?: boolean;
}): JSX.Element {
  const { value, other, scale } = props;
  if (props.blank) {
    return <><Twisty depth={props.depth} folds={props.folds} open={props.open} toggle={props.toggle} /><span class="name dim">{props.name}</span></>;
  }
  const compared = other !== undefined;
  const delta = compared && value !== undefined ? other - value : 0;
  const part = value === undefined ? 0 : share(value, scale.whole);
  const fill = compared ? differenceColour(Math.max(-1, Math.min(1, 4 * share(delta, scale.whole)))) : amountColour(part);
  // A whole is all of itself: that says nothing.
  const none = value === undefined || (value === 0 && !other) || (!compared && value === scale.whole && props.depth === 0);
  return (
    <>
      <Twisty depth={props.depth} folds={props.folds} open={props.open} toggle={props.toggle} />
      <span class={`square${none ? " none" : ""}`} style={none ? {} : { backgroundColor: fill }} aria-hidden="true" />
      <span class={`value num${value ? "" : " dim"}`}>{value === undefined ? "…" : written(value, props.unit, scale)}</span>
      {compared && <span class={`value num delta ${delta > 0 ? "more" : delta < 0 ? "less" : "dim"}`}>{delta === 0 ? "=" : signed(written(delta, props.unit, scale), delta)}</span>}
      <span class="name">
        {props.mark && <span class="class-mark" style={{ backgroundColor: CLASS_COLOURS[props.mark] ?? "" }} aria-hidden="true" />}
        {props.name}
      </span>
    </>
  );
}

interface PaneProps {
  shown: Shown;
  models: Models;
  selected: Selected;
  mode: string;
}

/** What is open: what was opened by hand, what leads to the selection, the selection if its own value counts. */
function useOpen(
  tree: { parent(item: number): number; count(item: number): number },
  item: number | undefined,
  isOpen: boolean,
  initial: () => Iterable<number>,
): [Set<number>, (item: number, open: boolean) => void, (set: Set<number>) => void] {
  const [open, setOpen] = useState<Set<number>>(() => new Set(initial()));
  useEffect(() => {
    setOpen((before) => {
      const needed = ancestors(tree, item);
      const state = item !== undefined && tree.count(item) > 0 ? before.has(item) : isOpen;
      if (needed.every((it) => before.has(it)) && state === isOpen) return before;
      const next = new Set([...before, ...needed]);
      if (item !== undefined && tree.count(item) > 0) {
        if (isOpen) next.add(item);
        else next.delete(item);
      }
      return next;
    });
  }, [tree, item, isOpen]);
  const toggle = useCallback((at: number, to: boolean) => {
    setOpen((before) => {
      const next = new Set(before);
      if (to) next.add(at);
      else next.delete(at);
      return next;
    });
  }, []);
  return [open, toggle, setOpen];
}

function MetricPane({ shown, models, selected, mode }: PaneProps): JSX.Element {
  const { metrics } = models;
  const zero = state.value["zero"] === "1";
  const tree = useMemo(
    () =>
      zero
        ? metrics.tree
        : pruned(metrics.tree, (item) => {
            const metric = metrics.list[item] as Metric;
            return item === selected.metric || metric.value !== 0 || (metrics.other[item]?.value ?? 0) !== 0;
          }),
    [metrics, zero, selected.metric],
  );
  const [open, toggle] = useOpen(tree, selected.metric, selected.own, () =>
    metrics.list.flatMap((metric, at) => (metric.name === "time" && selected.metric !== at ? [at] : [])));
  const root = (item: number): number => {
    const above = metrics.tree.parent(item);
    return above < 0 ? item : root(above);
  };
  // Below a layer its name need not be said again.
  const titleOf = (item: number): string => {
    const chain = ancestors(metrics.tree, item);
    const layer = chain.length > 1 ? metrics.list[chain.at(-2) as number]?.title : undefined;
    return below(metrics.list[item]?.title ?? "", layer);
  };
  const onToggle = (item: number, to: boolean) => {
    toggle(item, to);
    if (item === selected.metric) go({ own: to ? "1" : undefined });
  };
  const two = shown.second !== undefined;
  return (
    <Pane title="Metrics">
      <TreeView
        label="Metrics"
        tree={tree}
        selected={selected.metric}
        open={open}
        name={(item) => metrics.list[item]?.title ?? ""}
        onSelect={(item) => go({
          metric: metrics.list[item]?.name,
          own: open.has(item) && tree.count(item) > 0 ? "1" : undefined,
        })}
        onToggle={onToggle}
        row={(item, depth, isOpen) => {
          const metric = metrics.list[item] as Metric;
          const other = metrics.other[item];
          const pick = (it: Metric | undefined) => (it ? (isOpen ? it.own : it.value) : 0);
          const whole = metrics.list[root(item)]?.value ?? 0;
          return (
            <Cells depth={depth} folds={tree.count(item) > 0} open={isOpen} toggle={() => onToggle(item, !isOpen)}
              value={metric.readable ? pick(metric) : 0} other={two ? pick(other) : undefined} unit={metric.unit}
              scale={{ mode: mode === "sel" ? "root" : mode, whole, selection: whole, largest: whole }}
              name={<span class={metric.wait ? "is-wait" : ""} title={`${metric.title}\n${metric.description}`}>{titleOf(item)}{!metric.readable && <span class="dim"> (computed)</span>}</span>} />
          );
        }}
      />
    </Pane>
  );
}

function CallPane({ shown, models, selected, mode }: PaneProps): JSX.Element {
  const { calls } = models;
  const metric = models.metrics.list[selected.metric] as Metric;
  const values = usePathValues(shown, models, selected.metric, selected.own);
  const zero = state.value["zero"] === "1";
  const tree = useMemo(() => {
    if (zero || !values) return calls.tree;
    return pruned(calls.tree, (item) =>
      item === selected.call || values.inclusive[0][item] !== 0 || values.inclusive[1][item] !== 0);
  }, [calls, zero, values]);
  const [open, toggle, setOpen] = useOpen(tree, selected.call, selected.exclusive, () =>
    opening(calls.tree).filter((it) => it !== selected.call || selected.exclusive));
  const onToggle = (item: number, to: boolean) => {
    toggle(item, to);
    if (item === selected.call) go({ self: to ? "1" : undefined });
  };
  const two = shown.second !== undefined;
  const selection = metricValue(metric, selected.own);
  const scale: Scale = {
    mode,
    whole: metric.value || (models.metrics.other[selected.metric]?.value ?? 0),
    selection,
    largest: Math.max(values?.total[0] ?? 0, 1e-300),
  };
  const all = open.size > 0 && calls.list.every((_, at) => tree.count(at) === 0 || open.has(at));
  const onAll = () => setOpen(all ? new Set() : new Set(calls.list.keys()));
  return (
    <Pane title="Call paths" unit={metric.title} stale={values?.stale ?? true}
      tools={<button type="button" class="small" aria-keyshortcuts="*" onClick={onAll}>{all ? "Fold all" : "Unfold all"}</button>}>
      <TreeView
        label="Call paths"
        tree={tree}
        selected={selected.call}
        open={open}
        onAll={onAll}
        name={(item) => calls.list[item]?.name ?? ""}
        onSelect={(item) => go({
          call: calls.list[item]?.key,
          self: open.has(item) && tree.count(item) > 0 ? "1" : undefined,
        })}
        onToggle={onToggle}
        row={(item, depth, isOpen) => {
          const call = calls.list[item];
          const from = values && (isOpen && tree.count(item) > 0 ? values.exclusive : values.inclusive);
          const where = site(call);
          return (
            <Cells depth={depth} folds={tree.count(item) > 0} open={isOpen} toggle={() => onToggle(item, !isOpen)}
              value={from?.[0][item]} other={two ? (from?.[1][item] ?? 0) : undefined} unit={metric.unit} scale={scale}
              mark={call?.class}
              name={<>{call?.name}{where && <span class="site"> {where}</span>}</>} />
          );
        }}
      />
    </Pane>
  );
}

/** Level by level, as long as all of it fits a screen. */
function opening(tree: Tree): number[] {
  const open: number[] = [];
  let level = Array.from({ length: tree.roots }, (_, at) => tree.root(at));
  for (let rows = level.length; level.length > 0; ) {
    const below = level.flatMap((item) => Array.from({ length: tree.count(item) }, (_, at) => tree.child(item, at)));
    rows += below.length;
    if (rows > 24 && open.length > 0) break;
    open.push(...level.filter((item) => tree.count(item) > 0));
    level = below;
  }
  return open;
}

export function metricValue(metric: Metric, own: boolean): number {
  return own ? metric.own : metric.value;
}

function SystemPane({ shown, models, selected, mode }: PaneProps): JSX.Element {
  const system = useSystem(shown.first);
  const metric = models.metrics.list[selected.metric] as Metric;
  const wanted = parameters(models, selected, 0);
  const spread = useAnswer<Spread>(wanted ? of(shown.first, "spread") : undefined, wanted ?? {});
  const otherWanted = shown.second === undefined ? undefined : parameters(models, selected, 1);
  const other = useAnswer<Spread>(otherWanted && shown.second ? of(shown.second, "spread") : undefined, otherWanted ?? {});
  return (
    <Pane title="System" unit={selected.call === undefined ? "the whole program" : (models.calls.list[selected.call]?.name ?? "")}
      stale={spread.stale}
      tools={<>
        {state.value["sys"] !== undefined && !isFile() && <a class="small" href={link({ view: "calls", who: state.value["sys"] })}>Its call tree</a>}
        <a class="small" href={link({ view: "spread" })}>Open in Spread</a>
      </>}>
      {shown.second !== undefined && !otherWanted && wanted && <p class="pane-line">Only {shown.names[0]} has this.</p>}
      {system && wanted && (
        <SystemRows shown={shown} models={models} system={system} wanted={wanted} otherWanted={otherWanted} metric={metric} mode={mode} total={spread.value?.total} />
      )}
      {!wanted && <p class="empty">{otherWanted ? `Only ${shown.names[1]} has this: ${amount(other.value?.total ?? 0, metric.unit)} over all locations.` : "No run has values here."}</p>}
      {spread.value && (
        <div class="pane-foot">
          <BoxPlot spread={spread.value} other={other.value} unit={metric.unit} compact />
        </div>
      )}
    </Pane>
  );
}

/** Names and values of the rows that are shown, in chunks. */
function useChunks<T>(run: string | undefined, path: string, wanted: Record<string, unknown> | undefined, chunks: number[]): Map<number, T> {
  const [, setCount] = useState(0);
  const key = `${run}/${path}/${JSON.stringify(wanted)}`;
  const store = useMemo(() => new Map<number, T>(), [key]);
  useEffect(() => {
    if (run === undefined) return;
    let current = true;
    for (const chunk of chunks) {
      if (store.has(chunk)) continue;
      ask<T>(of(run, path), { ...(wanted as Record<string, string>), chunk: chunk || undefined }).then((answer) => {
        store.set(chunk, answer);
        if (current) setCount((count) => count + 1);
      }, () => undefined);
    }
    return () => void (current = false);
  }, [key, chunks.join()]);
  return store;
}

function SystemRows(props: {
  shown: Shown;
  models: Models;
  system: NonNullable<ReturnType<typeof useSystem>>;
  wanted: Record<string, unknown>;
  otherWanted: Record<string, unknown> | undefined;
  metric: Metric;
  mode: string;
  total: number | undefined;
}): JSX.Element {
  const { system, metric } = props;
  const { tree, about } = system;
  const [chunks, setChunks] = useState<number[]>([0]);
  const names = useChunks<SystemNames>(props.shown.first, "system/names", {}, chunks);
  const values = useChunks<SystemValues>(props.shown.first, "system/values", props.wanted, chunks);
  // Processes of the other run may have other numbers.
  const rows = props.models.compared?.rows ?? undefined;
  const otherRow = (item: number) => (rows ? (rows[item] ?? -1) : item);
  const otherChunks = useMemo(() => {
    if (!rows) return chunks;
    const items = chunks.flatMap((chunk) => rows.slice(chunk * about.chunk, (chunk + 1) * about.chunk));
    return [...new Set(items.filter((it) => it >= 0).map((it) => Math.floor(it / about.chunk)))];
  }, [rows, chunks]);
  const others = useChunks<SystemValues>(props.otherWanted && props.shown.second, "system/values", props.otherWanted, otherChunks);
  const picked = state.value["sys"] === undefined ? undefined : Number(state.value["sys"]);
  const small = about.rows <= 200;
  const [open, toggle] = useOpen(tree, picked, false, () =>
    small ? Array.from({ length: about.rows }, (_, at) => at) : [0]);
  const [all, setAll] = useState(false);
  const at = <T,>(store: Map<number, T>, item: number, list: (chunk: T) => unknown[]) => {
    const chunk = store.get(Math.floor(item / about.chunk));
    return chunk && list(chunk)[item % about.chunk];
  };
  const valueOf = (item: number) => at(values, item, (chunk) => chunk.values) as number | undefined;
  const nameOf = (item: number) => (at(names, item, (chunk) => chunk.names) as string | undefined) ?? "…";
  const onShown = useCallback((items: Int32Array) => {
    const needed = [...new Set(Array.from(items, (item) => Math.floor(item / about.chunk)))].sort((a, b) => a - b);
    setChunks((before) => (before.join() === needed.join() ? before : needed));
  }, [about]);
  const whole = props.total ?? 0;
  const largest = useMemo(() => Math.max(...(values.get(0)?.values.slice(tree.roots) ?? [0]), 1e-300), [values.get(0)]);
  const scale: Scale = { mode: props.mode, whole, selection: whole, largest };
  const row = (item: number, depth: number, isOpen: boolean) => {
    const folds = tree.count(item) > 0;
    // Values live at the leaves: what is unfolded has none of its own.
    const own = isOpen && folds;
    const other = otherRow(item) < 0 ? 0 : (at(others, otherRow(item), (chunk) => chunk.values) as number | undefined);
    return (
      <Cells depth={depth} folds={folds} open={isOpen} toggle={() => toggle(item, !isOpen)} blank={own}
        value={own ? 0 : valueOf(item)} other={props.otherWanted ? (own ? 0 : (other ?? 0)) : undefined}
        unit={metric.unit} scale={scale} name={nameOf(item)} />
    );
  };
  return (
    <>
      {!small && (
        <div class="pane-line">
          <button type="button" class="small" onClick={() => setAll(!all)}>{all ? "Fold" : "Unfold all"}</button>
          <span class="dim">{grouped(about.processes)} processes</span>
        </div>
      )}
      <TreeView
        label="System"
        tree={tree}
        selected={picked}
        open={all ? "all" : open}
        onAll={() => setAll(!all)}
        name={nameOf}
        onSelect={(item) => go({ sys: item }, true)}
        onToggle={(item, to) => {
          setAll(false);
          toggle(item, to);
        }}
        onShown={onShown}
        row={row}
      />
    </>
  );
}

function Detail({ models, selected, metric }: { models: Models; selected: Selected; metric: Metric }): JSX.Element {
  const path = selected.call === undefined ? "the whole program" : pathOf(models.calls, selected.call);
  const call = selected.call === undefined ? undefined : models.calls.list[selected.call];
  return (
    <footer class="detail">
      <div>
        <strong>{metric.title}</strong>
        {selected.own && <span class="dim"> without its parts</span>}
        {metric.meaning ? <span>: <Explained text={`${metric.meaning}.`} /> <span class="remedy">{metric.remedy && <Explained text={metric.remedy} />}</span></span> : metric.description && <span>: {metric.description}</span>}
      </div>
      <div class="path dim">
        <code>{path}</code>{selected.exclusive && " without what it calls"}
        {call?.file && <> · <a href={link({ view: "calls" })}>{site(call)}</a></>}
      </div>
    </footer>
  );
}
