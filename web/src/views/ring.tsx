// The whole time as a ring: by class of activity, or by function.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { CLASS_COLOURS, CLASS_NAMES } from "../colours";
import { grouped, percent, share, short } from "../format";
import { type Models, type Shown, useModels } from "../runs";
import { chosenSpan } from "../span";
import { link } from "../state";
import { type PathValues, usePathValues, useWaits } from "../values";

/** A part of a ring. */
interface Slice {
  value: number;
  fill: string;
  opacity?: number;
}

export function Pie({ whole, classes, searched, small }: { whole: number[]; classes: string[]; searched: boolean; small: boolean }): JSX.Element {
  const total = whole.reduce((sum, value) => sum + value, 0);
  const text = classes.filter((name) => searched || name !== "wait").map((name, at) => `${CLASS_NAMES[name]} ${percent(share(whole[at] ?? 0, total))}`).join(", ");
  const slices = classes.map((name, at) => ({ value: whole[at] ?? 0, fill: fillOf(name) }));
  return (
    <Ring slices={slices} small={small} label={`The whole time: ${text}`}
      words={searched ? [percent(share(whole[classes.indexOf("wait")] ?? 0, total)), "waiting"] : ["not searched", "for waits"]} />
  );
}

/** Colour of a class in a ring: waits are hatched. */
function fillOf(name: string): string {
  return name === "wait" ? "url(#hatch)" : (CLASS_COLOURS[name] ?? "#888");
}

function Ring({ slices, words, label, small }: { slices: Slice[]; words: [string, string]; label: string; small: boolean }): JSX.Element {
  const total = slices.reduce((sum, it) => sum + it.value, 0);
  let from = 0;
  const point = (part: number, radius: number) => {
    const angle = 2 * Math.PI * part - Math.PI / 2;
    return `${(50 + radius * Math.cos(angle)).toFixed(3)} ${(50 + radius * Math.sin(angle)).toFixed(3)}`;
  };
  return (
    <svg class={`pie${small ? " small-pie" : ""}`} viewBox="0 0 100 100" role="img" aria-label={label}>
      <defs>
        <pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="4" height="4" fill={CLASS_COLOURS["wait"]} />
          <line x1="0" y1="0" x2="0" y2="4" stroke="#fff" stroke-opacity="0.45" stroke-width="1.6" />
        </pattern>
      </defs>
      {slices.map(({ value, fill, opacity }, at) => {
        const part = share(value, total);
        if (part <= 0) return null;
        const to = Math.min(from + part, 1);
        const large = to - from > 0.5 ? 1 : 0;
        const shape =
          part >= 0.9999
            ? <circle key={at} cx="50" cy="50" r="37" fill="none" stroke={fill} stroke-opacity={opacity} stroke-width="22" />
            : <path key={at} class="slice" fill={fill} fill-opacity={opacity} d={`M ${point(from, 48)} A 48 48 0 ${large} 1 ${point(to, 48)} L ${point(to, 26)} A 26 26 0 ${large} 0 ${point(from, 26)} Z`} />;
        from = to;
        return shape;
      })}
      <text x="50" y="49" text-anchor="middle" class="pie-number">{words[0]}</text>
      <text x="50" y="57" text-anchor="middle" class="pie-word">{words[1]}</text>
    </svg>
  );
}

/** Functions with a part of the ring. */
const FUNCTIONS = 9;
/** How strongly the functions of a class are coloured, the longest first. */
const STRENGTHS = [1, 0.72, 0.5, 0.36];

/** The own time of a function in both runs, and what of it are waits. */
interface OfFunction {
  name: string;
  class: string;
  time: [number, number];
  waits: [number, number];
}

/** The own times of functions: what they call is theirs. */
function functionsOf(models: Models, values: PathValues, waits: PathValues | undefined, isWhole: boolean): OfFunction[] {
  const known = new Map<string, OfFunction>();
  models.calls.list.forEach((call, at) => {
    // As in the ring by class.
    if (call.outside && !isWhole) return;
    let one = known.get(call.name);
    if (!one) {
      one = { name: call.name, class: call.class, time: [0, 0], waits: [0, 0] };
      known.set(call.name, one);
    }
    for (const run of [0, 1] as const) {
      one.time[run] += values.exclusive[run][at] ?? 0;
      one.waits[run] += waits?.exclusive[run][at] ?? 0;
    }
  });
  return [...known.values()].filter((it) => it.time[0] + it.time[1] > 0).sort((a, b) => b.time[0] - a.time[0] || b.time[1] - a.time[1]);
}

/** The whole time as a ring with a part for each function. */
export function ByFunction({ shown }: { shown: Shown }): JSX.Element | null {
  const models = useModels(shown);
  return models ? <Functions shown={shown} models={models} /> : null;
}

function Functions({ shown, models }: { shown: Shown; models: Models }): JSX.Element | null {
  const metric = Math.max(0, models.metrics.list.findIndex((it) => it.name === "time"));
  const t = chosenSpan();
  const values = usePathValues(shown, models, metric, false);
  // Waits at call paths are those of the whole run.
  const waits = useWaits(shown, models, !t);
  const all = useMemo(() => (values ? functionsOf(models, values, waits, t !== undefined) : []), [models, values, waits, t]);
  if (!values) return null;
  const two = shown.second !== undefined;
  const rest = all.slice(FUNCTIONS);
  const sum = (of: (it: OfFunction) => number, list = all) => list.reduce((all, it) => all + of(it), 0);
  const used = new Map<string, number>();
  const shownOnes = all.slice(0, FUNCTIONS).map((it) => {
    const place = used.get(it.class) ?? 0;
    used.set(it.class, place + 1);
    return { ...it, strength: STRENGTHS[Math.min(place, STRENGTHS.length - 1)] as number };
  });
  const rows: (OfFunction & { strength: number })[] = [...shownOnes];
  if (rest.length > 0) {
    const both = (of: (it: OfFunction) => [number, number]): [number, number] => [sum((it) => of(it)[0], rest), sum((it) => of(it)[1], rest)];
    rows.push({ name: `${grouped(rest.length)} more`, class: "", time: both((it) => it.time), waits: both((it) => it.waits), strength: 1 });
  }
  const other = "#8a98a8";
  const ring = (run: 0 | 1): Slice[] => rows.flatMap((it) => {
    const wait = Math.min(it.waits[run], it.time[run]);
    return [{ value: it.time[run] - wait, fill: CLASS_COLOURS[it.class] ?? other, opacity: it.strength }, { value: wait, fill: fillOf("wait") }];
  });
  const total = sum((it) => it.time[0]);
  const first = rows[0];
  return (
    <>
      <div class="pies">
        {([0, 1] as const).slice(0, two ? 2 : 1).map((run) => (
          <figure key={run}>
            <Ring slices={ring(run)} small={two} words={[grouped(all.length), "functions"]}
              label={`The whole time by function: ${rows.slice(0, 5).map((it) => `${it.name} ${percent(share(it.time[run], sum((it) => it.time[run])))}`).join(", ")}`} />
            {two && <figcaption>{shown.names[run]}</figcaption>}
          </figure>
        ))}
      </div>
      {first && (
        <table class="numbers legend-table by-function">
          <thead><tr><th scope="col"><span class="hidden">function</span></th>{!two && <th scope="col">share</th>}<th scope="col">{two ? shown.names[0] : "own time"}</th>{two ? <th scope="col">{shown.names[1]}</th> : !t && <th scope="col">waits</th>}</tr></thead>
          <tbody>
            {rows.map((it) => {
              const call = models.calls.list.find((call) => call.name === it.name && !call.outside) ?? models.calls.list.find((call) => call.name === it.name);
              return (
                <tr key={it.name}>
                  <th scope="row">
                    <span class="swatch" style={{ backgroundColor: CLASS_COLOURS[it.class] ?? other, opacity: it.strength }} aria-hidden="true" />{" "}
                    {call ? <a href={link({ view: "calls", as: "flat", call: call.key, metric: undefined })} title={it.name}>{it.name}</a> : it.name}
                  </th>
                  {!two && <td class="num">{percent(share(it.time[0], total))}</td>}
                  <td class="num">{short(it.time[0], "sec")}</td>
                  {two ? <td class="num">{short(it.time[1], "sec")}</td> : !t && <td class="num">{it.waits[0] > 0 ? short(it.waits[0], "sec") : "–"}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </>
  );
}
