// The tree table: call paths with call sites, calls, self and total; and the source around a call.

import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { useAnswer } from "../data";
import { CLASS_COLOURS } from "../colours";
import { amount, number, percent, share, signed, site } from "../format";
import { pathOf, pruned } from "../model";
import { type Models, of, type Selected, type Shown, useModels, useSelected } from "../runs";
import { SpanNote } from "../span";
import { go, state } from "../state";
import { TreeView, Twisty } from "../tree";
import type { Metric, Source } from "../types";
import { ancestors, type PathValues, usePathValues } from "../values";

export function CallTable({ shown }: { shown: Shown }): JSX.Element {
  const models = useModels(shown);
  if (!models) return <p class="empty" aria-busy="true">Reading the report …</p>;
  return <Table shown={shown} models={models} />;
}

const SORTS: [string, string][] = [
  ["total", "Total"],
  ["self", "Self"],
  ["calls", "Calls"],
  ["order", "Order of the program"],
];

function Table({ shown, models }: { shown: Shown; models: Models }): JSX.Element {
  const selected = useSelected(models);
  const { calls, metrics } = models;
  const metric = metrics.list[selected.metric] as Metric;
  const visits = metrics.list.findIndex((it) => it.name === "visits");
  const values = usePathValues(shown, models, selected.metric, selected.own);
  const counts = usePathValues(shown, models, visits < 0 ? selected.metric : visits, false);
  const sort = state.value["sort"] ?? "total";
  const two = shown.second !== undefined;
  const [open, setOpen] = useState<Set<number>>(() => new Set(hottest(models, undefined)));
  useEffect(() => {
    if (values) setOpen((before) => new Set([...before, ...hottest(models, values)]));
  }, [models, metric.name, values === undefined]);
  useEffect(() => {
    const needed = ancestors(calls.tree, selected.call);
    setOpen((before) => (needed.every((it) => before.has(it)) ? before : new Set([...before, ...needed])));
  }, [calls, selected.call]);
  const zero = state.value["zero"] === "1";
  const tree = useMemo(() => {
    if (zero || !values) return calls.tree;
    return pruned(calls.tree, (item) =>
      item === selected.call || values.inclusive[0][item] !== 0 || values.inclusive[1][item] !== 0);
  }, [calls, zero, values, selected.call]);
  const order = useCallback(
    (items: number[]) => {
      const by = (item: number): number => {
        if (!values) return 0;
        if (sort === "calls") return counts?.exclusive[0][item] ?? 0;
        const list = sort === "self" ? values.exclusive : values.inclusive;
        return two ? Math.abs((list[1][item] ?? 0) - (list[0][item] ?? 0)) : (list[0][item] ?? 0);
      };
      return sort === "order" ? items : [...items].sort((a, b) => by(b) - by(a) || a - b);
    },
    [values, counts, sort, two],
  );
  const toggle = (item: number, to: boolean) =>
    setOpen((before) => {
      const next = new Set(before);
      if (to) next.add(item);
      else next.delete(item);
      return next;
    });
  const onAll = () => setOpen(open.size >= calls.list.length ? new Set() : new Set(calls.list.keys()));
  const total = Math.max(values?.total[0] ?? 0, values?.total[1] ?? 0);
  const cell = (value: number | undefined, strong = false) => (
    <span role="gridcell" class={`col num${value ? "" : " dim"}${strong ? " strong" : ""}`}>
      {value === undefined ? "…" : amount(value, metric.unit)}
    </span>
  );
  const deltaCell = (list: [Float64Array, Float64Array] | undefined, item: number) => {
    const delta = (list?.[1][item] ?? 0) - (list?.[0][item] ?? 0);
    return (
      <span role="gridcell" class={`col num delta ${delta > 0 ? "more" : delta < 0 ? "less" : "dim"}`}>
        {delta === 0 ? "=" : signed(amount(delta, metric.unit), delta)}
      </span>
    );
  };
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
          Sort by{" "}
          <select value={sort} onChange={(event) => go({ sort: event.currentTarget.value })}>
            {SORTS.map(([id, name]) => <option key={id} value={id}>{name}{two && id !== "order" && id !== "calls" ? ", most changed" : ""}</option>)}
          </select>
        </label>
        <button type="button" class="small" aria-keyshortcuts="*" onClick={onAll}>
          {open.size >= calls.list.length ? "Fold all" : "Unfold all"}
        </button>
        <button type="button" class="small" onClick={() => setOpen(new Set(hottest(models, values)))}>Hot path</button>
        <label class="check">
          <input type="checkbox" checked={zero} onChange={(event) => go({ zero: event.currentTarget.checked ? "1" : undefined })} />
          Rows without any
        </label>
        <SpanNote whole={metric.in_span && !selected.own ? "numbers of calls are of the whole run" : `${metric.title} is of the whole run`} />
      </div>
      <div class="split">
        <section class={`pane wide${values?.stale ? " stale" : ""}`} aria-label="Call paths">
          <TreeView
            grid
            label="Call paths"
            tree={tree}
            selected={selected.call}
            open={open}
            order={order}
            onAll={onAll}
            name={(item) => calls.list[item]?.name ?? ""}
            onSelect={(item) => go({ call: calls.list[item]?.key, self: undefined })}
            onToggle={toggle}
            head={
              <div class="tree-head" role="row">
                <span role="columnheader" class="name">Call</span>
                {!two && <span role="columnheader" class="col site-col">Called at</span>}
                <span role="columnheader" class="col num">Calls</span>
                <span role="columnheader" class="col num">Self</span>
                <span role="columnheader" class="col num">Total</span>
                {two ? (
                  <>
                    <span role="columnheader" class="col num">Self, other</span>
                    <span role="columnheader" class="col num">Difference</span>
                  </>
                ) : (
                  <span role="columnheader" class="col share-col num">Share</span>
                )}
              </div>
            }
            row={(item, depth, isOpen) => {
              const call = calls.list[item];
              const part = share(values?.inclusive[0][item] ?? 0, total);
              const often = visits < 0 ? undefined : counts?.exclusive[0][item];
              return (
                <>
                  <span role="gridcell" class="name">
                    <Twisty depth={depth} folds={tree.count(item) > 0} open={isOpen} toggle={() => toggle(item, !isOpen)} />
                    <span class="class-mark" style={{ backgroundColor: CLASS_COLOURS[call?.class ?? ""] ?? "" }} aria-hidden="true" />
                    <span class="text">{call?.name}</span>
                    {calls.only[item] !== undefined && <span class={`chip ${calls.only[item] === 1 ? "more" : "less"}`}>{calls.only[item] === 1 ? "new" : "gone"}</span>}
                  </span>
                  {!two && <span role="gridcell" class="col site-col site" title={call?.file ?? ""}>{site(call)}</span>}
                  <span role="gridcell" class="col num">{often === undefined ? "" : number(often)}</span>
                  {cell(values?.exclusive[0][item])}
                  {cell(values?.inclusive[0][item], true)}
                  {two ? (
                    <>
                      {cell(values?.exclusive[1][item])}
                      {deltaCell(values?.exclusive, item)}
                    </>
                  ) : (
                    <span role="gridcell" class="col share-col num">
                      <span class="meter" aria-hidden="true"><span style={{ width: `${100 * part}%` }} /></span>
                      {percent(part)}
                    </span>
                  )}
                </>
              );
            }}
          />
        </section>
        <SourcePane shown={shown} models={models} selected={selected} metric={metric} values={values} counts={visits < 0 ? undefined : counts} />
      </div>
    </>
  );
}

/** From the root down, always the largest: where the time is. */
function hottest(models: Models, values: PathValues | undefined): number[] {
  const { tree } = models.calls;
  const list: number[] = [];
  const largest = (count: number, of: (at: number) => number): number | undefined => {
    let best: number | undefined;
    for (let at = 0; at < count; at++) {
      const item = of(at);
      if (best === undefined || (values?.inclusive[0][item] ?? 0) > (values?.inclusive[0][best] ?? 0)) best = item;
    }
    return best;
  };
  for (let at = largest(tree.roots, tree.root); at !== undefined; ) {
    const here: number = at;
    if (tree.count(here) > 0) list.push(here);
    if (list.length > 1 && !values) break;
    at = largest(tree.count(here), (n) => tree.child(here, n));
    if (at !== undefined && values && (values.inclusive[0][at] ?? 0) <= 0.2 * (values.inclusive[0][here] ?? 0)) break;
  }
  return list;
}

function SourcePane(props: {
  shown: Shown;
  models: Models;
  selected: Selected;
  metric: Metric;
  values: PathValues | undefined;
  counts: PathValues | undefined;
}): JSX.Element {
  const { models, selected, metric } = props;
  const number_of = selected.call === undefined ? undefined : models.calls.of[selected.call]?.[0];
  const { value: source } = useAnswer<Source>(number_of === undefined ? undefined : of(props.shown.first, "source"), { call: number_of });
  const call = selected.call === undefined ? undefined : models.calls.list[selected.call];
  const lines = useMemo(() => source?.lines ?? [], [source]);
  if (!call || selected.call === undefined) {
    return (
      <section class="pane source" aria-label="Source">
        <div class="pane-head"><h2>Source</h2></div>
        <p class="empty">Select a call to see where it stands in the program.</p>
      </section>
    );
  }
  const at = selected.call;
  return (
    <section class="pane source" aria-label="Source">
      <div class="pane-head">
        <h2>{call.name}</h2>
        <span class="dim">{site(call)}</span>
      </div>
      <dl class="finding-facts pad">
        <dt>Self</dt><dd class="num">{amount(props.values?.exclusive[0][at] ?? 0, metric.unit)}</dd>
        <dt>Total</dt><dd class="num">{amount(props.values?.inclusive[0][at] ?? 0, metric.unit)}</dd>
        {props.counts && <><dt>Calls</dt><dd class="num">{number(props.counts.exclusive[0][at] ?? 0)}</dd></>}
        <dt>Path</dt><dd class="path"><code>{pathOf(models.calls, at)}</code></dd>
      </dl>
      {source?.missing ? (
        <p class="empty">No source: {source.missing}.</p>
      ) : (
        <ol class="code" start={source?.first ?? 1} tabIndex={0} aria-label={`Source around line ${source?.line ?? ""}`}>
          {lines.map((line, offset) => {
            const n = (source?.first ?? 1) + offset;
            return (
              <li key={n} class={n === source?.line ? "here" : ""} aria-current={n === source?.line ? "true" : undefined}>
                <span class="line-number" aria-hidden="true">{n}</span><code>{line || " "}</code>
              </li>
            );
          })}
        </ol>
      )}
    </section>
  );
}
