// The span of the timeline, which restricts the other views.

import type { JSX } from "preact";
import { seconds } from "./format";
import { go, link, state } from "./state";

/** The span in the address, if it is one. */
export function chosenSpan(): string | undefined {
  const text = state.value["t"];
  return text !== undefined && /^\d+-\d+$/.test(text) ? text : undefined;
}

/** Says that a view shows a span only, and what of it is of the whole run. */
export function SpanNote({ whole }: { whole?: string | undefined }): JSX.Element | null {
  const span = chosenSpan();
  if (!span) return null;
  const ends = span.split("-").map((it) => seconds(Number(it) / 1e9)).join(" to ");
  return (
    <span class="pager span-note">
      <span>Only <a href={link({ view: "timeline" })}>{ends}</a>{whole && <span class="dim">; {whole}</span>}</span>
      <button type="button" class="small" onClick={() => go({ t: undefined })}>Whole run</button>
    </span>
  );
}
