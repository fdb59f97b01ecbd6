// Functions in which the program computes, by samples: a table, with the source of the one that is chosen.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../data";
import { fileName, grouped, percent, seconds, short } from "../format";
import { of } from "../runs";
import { Excerpt } from "./excerpt";
import type { Computed, FunctionTime, FunctionTimes } from "../findings";
import type { Source } from "../types";

/** Rows that are shown at first. */
const ROWS = 8;
/** Lines before and after the line of a function. */
const AROUND = 4;

export function FunctionCard({ functions, run, name, id }: {
  functions: FunctionTimes;
  /** Id of the run. */
  run: string;
  /** Name of the run, if there are two. */
  name: string | undefined;
  id: string;
}): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const [chosen, choose] = useState<number>();
  const most = functions.list[0]?.seconds ?? 1;
  const shown = isWhole ? functions.list : functions.list.slice(0, ROWS);
  const more = functions.list.length - shown.length;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{name ? `Where ${name} computes` : "Where the program computes"}</h2>
      <div class="card">
        <p class="dim">{grouped(functions.samples)} samples of {seconds(functions.seconds)} on cores, outside of calls of the runtime. Choose a function to see its line.</p>
        <table class="functions times">
          <thead><tr><th>Function</th><th>Line</th><th class="num">On cores</th><th>Share</th><th>Most</th></tr></thead>
          <tbody>
            {shown.map((it, at) => (
              <tr key={at} class={at === chosen ? "chosen" : ""}>
                <td><button type="button" aria-expanded={at === chosen} onClick={() => choose(at === chosen ? undefined : at)}><code>{named(it)}</code></button></td>
                <td>{it.file && it.line ? `${fileName(it.file)}:${it.line}` : <span class="dim">not known</span>}</td>
                <td class="num">{short(it.seconds, "sec")} ± {short(it.margin_seconds, "sec")}</td>
                <td><span class="function-share"><span style={{ width: `${(100 * it.seconds) / most}%` }} /></span>{percent(it.share)}</td>
                <td>{it.most_process}, {short(it.most_seconds, "sec")}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {more > 0 && <button type="button" onClick={() => setWhole(true)}>{grouped(more)} more</button>}
        {chosen !== undefined && functions.list[chosen] && <Lines key={chosen} it={functions.list[chosen]} question={{ function: chosen }} run={run} />}
      </div>
    </section>
  );
}

/** Names a function, and the function of a library that it calls. */
export function named(it: FunctionTime | Computed): string {
  return it.inside ? `${it.inside}, called by ${it.function}` : it.function;
}

/** The lines around the one in which a function computes most. */
export function Lines({ it, question, run }: { it: FunctionTime | Computed; question: Record<string, string | number>; run: string }): JSX.Element | null {
  const source = useAnswer<Source>(it.line === null ? undefined : of(run, "source"), question).value;
  if (it.line === null) return null;
  const { line } = it;
  const lines = (source?.lines ?? []).map((text, at) => {
    const number = (source?.first ?? 0) + at;
    return { number, text, mark: number === line ? "computes here" : undefined };
  });
  return (
    <Excerpt
      title={`${it.function} at ${fileName(it.file ?? "")}:${line}`}
      file={it.file ?? ""}
      lines={lines.filter(({ number }) => Math.abs(number - line) <= AROUND)}
      missing={source?.missing ?? undefined}
    />
  );
}
