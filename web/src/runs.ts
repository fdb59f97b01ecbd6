// The runs that are shown: one, or two side by side.

import { useMemo } from "preact/hooks";
import { type Asked, useAnswer } from "./data";
import { type CallModel, callModel, type MetricModel, metricModel, systemTree, type Tree } from "./model";
import { chosenSpan } from "./span";
import { isFirst, isMany, state } from "./state";
import type { Calls, Compared, Metrics, Runs, SystemTree } from "./types";

export interface Shown {
  runs: Runs;
  /** Numbers of the run that is shown, and of the one that it is compared with. */
  first: string;
  second: string | undefined;
  /** What the two are called, so that they can be told apart. */
  names: [string, string];
}

/** What a run is called: its title, and its directory where several have the same title. */
export function runName(runs: Runs, id: string | undefined): string {
  const run = runs.runs.find((it) => it.id === id);
  if (!run) return "";
  const same = runs.runs.filter((it) => it.title === run.title).length > 1;
  if (!same) return run.title;
  const parts = run.path.split("/").filter((part) => part && !part.endsWith(".cubex"));
  return `${run.title} (${parts.at(-1) ?? run.path})`;
}

export function useRuns(): { shown: Shown | undefined; error: string | undefined } {
  const { value: runs, error } = useAnswer<Runs>("runs");
  const wanted = state.value["run"] ?? "0";
  if (!runs) return { shown: undefined, error };
  isMany.value = runs.many;
  const has = (id: string | undefined) => runs.runs.some((run) => run.id === id);
  const first = has(wanted) ? wanted : "0";
  // Who names two runs wants to see both.
  const beside = state.value["with"] ?? (isFirst() && !runs.many ? runs.runs.find((run) => run.id !== first)?.id : undefined);
  const second = has(beside) && beside !== first ? beside : undefined;
  const names: [string, string] = [runName(runs, first), runName(runs, second)];
  return { shown: { runs, first, second, names }, error };
}

export function of(run: string, question: string): string {
  return `runs/${run}/${question}`;
}

export interface Models {
  metrics: MetricModel;
  calls: CallModel;
  /** How the two runs belong together; nothing if one is shown. */
  compared: Compared | undefined;
}

/** Metrics and call paths. */
export function useModels(shown: Shown): Models | undefined {
  const two = shown.second;
  const fresh = <T,>(asked: Asked<T>) => (asked.stale ? undefined : asked.value);
  const metricsA = fresh(useAnswer<Metrics>(of(shown.first, "metrics")));
  const callsA = fresh(useAnswer<Calls>(of(shown.first, "calls")));
  const metricsB = fresh(useAnswer<Metrics>(two && of(two, "metrics")));
  const callsB = fresh(useAnswer<Calls>(two && of(two, "calls")));
  const compared = fresh(useAnswer<Compared>(two && of(shown.first, "compare"), { with: two }));
  const ready = metricsA && callsA && (!two || (metricsB && callsB && compared));
  return useMemo(
    () =>
      ready
        ? {
            metrics: metricModel(metricsA, two ? metricsB : undefined),
            calls: callModel(callsA, two ? callsB : undefined, compared),
            compared: two ? compared : undefined,
          }
        : undefined,
    [metricsA, callsA, metricsB, callsB, compared, two],
  );
}

export function useSystem(run: string): { tree: Tree; about: SystemTree } | undefined {
  const about = useAnswer<SystemTree>(of(run, "system")).value;
  return useMemo(() => (about ? { tree: systemTree(about), about } : undefined), [about]);
}

/** What is selected, as numbers of the models. */
export interface Selected {
  metric: number;
  own: boolean;
  /** Nothing for the whole program. */
  call: number | undefined;
  exclusive: boolean;
}

/** The metric that most is waited in, so that views open where there is something to see. */
export function useInterest(models: Models): { metric: number } | undefined {
  return useMemo(() => {
    const { list, tree } = models.metrics;
    const waits = list.map((_, at) => at).filter((at) => list[at]?.wait && list[at]?.readable && tree.count(at) === 0);
    const best = waits.sort((a, b) => (list[b]?.value ?? 0) - (list[a]?.value ?? 0))[0];
    return best === undefined || !list[best]?.value ? undefined : { metric: best };
  }, [models]);
}

/** What the address selects; where it names no metric, the one that is given, or time. */
export function useSelected(models: Models, fallback?: number, fallbackCall?: number): Selected {
  const { metric, own, call, self } = state.value;
  return useMemo(() => {
    const { list } = models.metrics;
    if (metric === undefined && call === undefined && fallback !== undefined && list[fallback]?.readable) {
      return { metric: fallback, own: own === "1", call: fallbackCall === undefined || fallbackCall < 0 ? undefined : fallbackCall, exclusive: false };
    }
    let at = list.findIndex((it) => it.name === metric);
    if (at < 0) at = list.findIndex((it) => it.name === "time" && it.readable);
    if (at < 0) at = Math.max(0, list.findIndex((it) => it.readable));
    const item = call === undefined ? undefined : models.calls.byKey.get(call);
    return { metric: at, own: own === "1", call: item, exclusive: self === "1" && item !== undefined };
  }, [models, metric, own, call, self, fallback, fallbackCall]);
}

/** The parameters of a selection for a run; nothing if the run lacks it. */
export function parameters(
  models: Models,
  selected: Selected,
  run: 0 | 1,
): Record<string, string | number | boolean | undefined> | undefined {
  const metric = models.metrics.of[selected.metric]?.[run];
  if (metric === undefined || !models.metrics.list[selected.metric]?.readable) return undefined;
  // A span of the timeline is one of the first run.
  const t = run === 0 && models.metrics.list[selected.metric]?.in_span && !selected.own ? chosenSpan() : undefined;
  if (selected.call === undefined) return { metric, own: selected.own, t };
  const call = models.calls.of[selected.call]?.[run];
  if (call === undefined) return undefined;
  const flavour = selected.exclusive ? "exclusive" : "inclusive";
  return { metric, own: selected.own, call, flavour, t };
}
