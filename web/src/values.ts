// Values of call paths of one run or two.

import { useMemo } from "preact/hooks";
import { type Asked, useAnswer } from "./data";
import { type Models, of, parameters, type Selected, type Shown } from "./runs";
import type { CallValues } from "./types";

export interface PathValues {
  /** By call path of the model; for each run. */
  inclusive: [Float64Array, Float64Array];
  exclusive: [Float64Array, Float64Array];
  /** The whole program. */
  total: [number, number];
  stale: boolean;
}

/** Parameters that name a row of the system tree of the first run, in a run; nothing if the run lacks it. */
function partOf(models: Models, row: number | undefined, run: 0 | 1): { row?: number } | undefined {
  if (row === undefined) return {};
  const rows = models.compared?.rows;
  const here = run === 1 && rows ? (rows[row] ?? -1) : row;
  return here < 0 ? undefined : { row: here };
}

/** A metric at all call paths: over all locations, or those of a row of the system tree. */
export function usePathValues(shown: Shown, models: Models, metric: number, own: boolean, row?: number): PathValues | undefined {
  const selected: Selected = { metric, own, call: undefined, exclusive: false };
  const asked = ([0, 1] as const).map((run) => {
    const id = run === 0 ? shown.first : shown.second;
    const of_run = id === undefined ? undefined : parameters(models, selected, run);
    const part = partOf(models, row, run);
    return useAnswer<CallValues>(of_run && part && id ? of(id, "calls/values") : undefined, { ...of_run, ...part });
  });
  return useSums(models, asked as [Asked<CallValues>, Asked<CallValues>]);
}

/** Waits of all kinds at all call paths; nothing if no run was searched for waits. */
export function useWaits(shown: Shown, models: Models, wanted: boolean, row?: number): PathValues | undefined {
  const asked = [shown.first, shown.second].map((id, run) => {
    const part = partOf(models, row, run as 0 | 1);
    return useAnswer<CallValues>(wanted && part && id !== undefined ? of(id, "calls/waits") : undefined, part ?? {});
  });
  return useSums(models, asked as [Asked<CallValues>, Asked<CallValues>]);
}

/** Brings the values of call paths of both runs together. */
function useSums(models: Models, [a, b]: [Asked<CallValues>, Asked<CallValues>]): PathValues | undefined {
  return useMemo(() => {
    const count = models.calls.list.length;
    const fresh = () => new Float64Array(count);
    const values: PathValues = {
      inclusive: [fresh(), fresh()],
      exclusive: [fresh(), fresh()],
      total: [0, 0],
      stale: a.stale || b.stale,
    };
    if (!a.value && !b.value) return undefined;
    [a.value, b.value].forEach((answer, run) => {
      const from = models.calls.from[run as 0 | 1];
      answer?.calls.forEach((call, at) => {
        const here = from[call] ?? -1;
        if (here < 0) return;
        const [inclusive, exclusive] = [values.inclusive[run as 0 | 1], values.exclusive[run as 0 | 1]];
        inclusive[here] = (inclusive[here] ?? 0) + (answer.inclusive[at] ?? 0);
        exclusive[here] = (exclusive[here] ?? 0) + (answer.exclusive[at] ?? 0);
      });
      for (let at = 0; at < models.calls.tree.roots; at++) {
        values.total[run as 0 | 1] += values.inclusive[run as 0 | 1][models.calls.tree.root(at)] ?? 0;
      }
    });
    return values;
  }, [models, a.value, b.value, a.stale, b.stale]);
}

/** What is open in a tree, and how to fold and unfold. */
export function ancestors(tree: { parent(item: number): number }, item: number | undefined): number[] {
  const list: number[] = [];
  if (item === undefined) return list;
  for (let at = tree.parent(item); at >= 0; at = tree.parent(at)) list.push(at);
  return list;
}
