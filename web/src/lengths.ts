// How long single calls took, where that is known.

import { useEffect, useMemo, useState } from "preact/hooks";
import { isFile, useAnswer } from "./data";
import { type Models, of } from "./runs";
import type { CallLengths } from "./types";

export interface Lengths {
  /** By call path of the model: median and longest call in seconds. */
  of: Map<number, { median: number | undefined; longest: number }>;
  /** Why call paths have none. */
  why: string;
}

const UNSEEN = "Not computed: not every call of it is seen in the timeline by itself.";

/** Asks until the index of the timeline is made. */
export function useLengths(run: string, models: Models, wanted: boolean): Lengths | undefined {
  const [again, setAgain] = useState(0);
  const { value, error } = useAnswer<CallLengths>(wanted && !isFile() ? of(run, "calls/lengths") : undefined, { again: again || undefined });
  useEffect(() => {
    if (value?.state !== "making") return;
    const timer = setTimeout(() => setAgain(again + 1), 1000);
    return () => clearTimeout(timer);
  }, [value]);
  return useMemo(() => {
    if (!wanted) return undefined;
    const list: Lengths["of"] = new Map();
    value?.calls.forEach((call, at) => {
      const item = models.calls.from[0][call] ?? -1;
      list.set(item, { median: value.median[at] ?? undefined, longest: value.longest[at] as number });
    });
    const reason = isFile() ? "It is not part of the file." : (error ?? value?.why ?? "");
    const why = value?.state === "making" ? "The index of the timeline is being made." : value?.state === "ready" ? UNSEEN : `Not computed. ${reason}`.trim();
    return { of: list, why };
  }, [value, error, models, wanted]);
}
