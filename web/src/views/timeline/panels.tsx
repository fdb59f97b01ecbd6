// Beside and below the picture of the timeline: what is selected, what the rows did, the longest waits as a table, the legend.

import type { JSX } from "preact";
import { amountColour, CLASS_COLOURS, CLASS_NAMES, CLASS_TERMS } from "../../colours";
import { isFile, timelineUntil, useAnswer } from "../../data";
import { bytes, grouped, percent, seconds, share } from "../../format";
import { type Models, of } from "../../runs";
import { go, link } from "../../state";
import { Term } from "../../term";
import type {
  Bars, TimelineAbout, TimelineAt, TimelineComputing, TimelineDoing, TimelineRow, TimelineTotals, TimelineWaits,
} from "../../types";
import { type ChosenCalls, pinned } from "./controls";
import { callName, callSite, isHeat, rowParameters, type Span, time } from "./common";
import { CLASS_OF, KIND_NAMES } from "./operations";

/** What colours mean. */
export function Legend({ run, about, critical, hasHeld, missing }: {
  run: string;
  about: TimelineAbout;
  critical: boolean;
  /** Whether somebody holds a lock. */
  hasHeld: boolean;
  /** Why some of it is not shown. */
  missing: string[];
}): JSX.Element {
  const bars = useAnswer<Bars>(of(run, "bars"), { count: 0 }).value;
  const occurs = (name: string) => !bars || name === "wait" || (bars.whole[bars.classes.indexOf(name)] ?? 0) > 0;
  return (
    <p class="legend timeline-legend">
      {isHeat.value && (
        <span class="legend-item">
          0 <span class="heat" style={{ background: `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(amountColour).join(", ")})` }} aria-hidden="true" /> 100 % <Term name="wait">Waiting</Term>
        </span>
      )}
      {!isHeat.value && about.classes.filter(occurs).map((name) => (
        <span key={name} class="legend-item">
          <span class={`swatch${name === "wait" ? " hatched" : ""}`} style={{ backgroundColor: CLASS_COLOURS[name] ?? "" }} aria-hidden="true" />
          <Term name={CLASS_TERMS[name] ?? ""}>{CLASS_NAMES[name]}</Term>
        </span>
      ))}
      {hasHeld && <span class="legend-item"><span class="held" style={{ borderColor: CLASS_COLOURS["lock"] ?? "" }} aria-hidden="true" />Lock held</span>}
      {critical && <span class="legend-item"><span class="dashes" aria-hidden="true" /><Term name="critical path">Critical path</Term></span>}
      {missing.map((it) => <span key={it} class="legend-item dim">{it}</span>)}
    </p>
  );
}

/** What is selected: the call, the wait, who ended it, and what that one did meanwhile. */
export function Details({ run, at, models, length, pins }: { run: string; at: TimelineAt; models: Models; length: number; pins: string[] }): JSX.Element {
  const key = at.call === null ? undefined : models.calls.list[models.calls.from[0][at.call] ?? -1]?.key;
  const whole = at.meanwhile.reduce((sum, it) => sum + it.seconds, 0);
  const more = Math.floor((at.to - at.from) / 2) + 1;
  const near = `${Math.max(0, Math.round(at.from - more))}-${Math.min(length, Math.round(at.to + more))}`;
  const isPinned = pins.includes(String(at.location));
  const said_ = at.class === "wait" ? "waits in" : at.class === "compute" ? "computes in" : at.class === "none" ? "has not started or has ended" : "is in";
  return (
    <>
      <div class="pane-head"><h2>{at.name}</h2><button type="button" class="small" onClick={() => go({ sel: undefined })}>Close</button></div>
      <div class="pad details">
        <p>{said_} {at.class !== "none" && <code>{callName(models, at.call)}</code>}{callSite(models, at.call)}</p>
        <dl class="finding-facts">
          <dt>From</dt><dd class="num">{time(at.from)}</dd>
          <dt>Length</dt><dd class="num">{time(at.to - at.from)}</dd>
          {at.wait && (
            <>
              <dt>Wait</dt><dd>{at.wait.title}: {at.meaning}</dd>
              <dt>Ended by</dt>
              <dd><a href={link({ sel: `${at.wait.culprit}@${Math.max(0, at.wait.to - 1)}` })}>{at.culprit_name}</a> at <span class="num">{time(at.wait.to)}</span></dd>
            </>
          )}
        </dl>
        {at.operations.length > 0 && (
          <>
            <h3>Operations of the call</h3>
            <ul class="doings">
              {at.operations.map((it, n) => (
                <li key={n}>
                  <span class="swatch" style={{ backgroundColor: CLASS_COLOURS[CLASS_OF[it.kind] ?? it.kind] ?? "" }} aria-hidden="true" />
                  <span class="doing-what">
                    {KIND_NAMES[it.kind] ?? it.kind} of {bytes(it.bytes)}, {it.kind === "get" ? "from" : "to"}{" "}
                    <a href={link({ sel: `${it.partner}@${Math.floor((it.from + it.to) / 2)}` })}>{it.partner_name}</a>
                  </span>
                  <span class="num">{it.to > it.from ? time(it.to - it.from) : "not completed here"}</span>
                </li>
              ))}
            </ul>
            {at.operations_count > at.operations.length && <p class="dim">and {grouped(at.operations_count - at.operations.length)} more</p>}
          </>
        )}
        {at.wait && (
          <>
            <h3>Meanwhile {at.culprit_name}</h3>
            <DoingList list={at.meanwhile} whole={whole} models={models} />
          </>
        )}
        {at.computing.length > 0 && <ComputingList list={at.computing} of={at.wait ? at.culprit_name : null} />}
        <p class="finding-links">
          <a href={link({ t: near })}>Zoom to it</a>
          {key && <a href={link({ view: "calls", call: key, run })}>Call path and source</a>}
          {key && <a href={link({ only: key, rowsort: "call", rows: undefined })}>Only rows with this call</a>}
          <a href={link({ pin: pinned(pins, String(at.location)) })}>{isPinned ? "Unpin the row" : "Pin the row"}</a>
        </p>
      </div>
    </>
  );
}

/** Least number of samples whose shares are told. */
const FEWEST = 20;

/** Where samples found a process, with its name unless it is the one that is selected. */
function ComputingList({ list, of }: { list: TimelineComputing[]; of: string | null }): JSX.Element {
  const whole = list.reduce((sum, it) => sum + it.samples, 0);
  return (
    <>
      <h3>{of ? `Where ${of} computes` : "Where it computes"}</h3>
      <ul class="doings">
        {list.map((it, n) => (
          <li key={n}>
            <span class="swatch" style={{ backgroundColor: CLASS_COLOURS["compute"] ?? "" }} aria-hidden="true" />
            <span class="doing-what"><code>{it.place}</code></span>
            <span class="num">{grouped(it.samples)} {it.samples === 1 ? "sample" : "samples"}{whole >= FEWEST && <><br /><span class="dim">{percent(share(it.samples, whole))}</span></>}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What was done, what took longest first. */
function DoingList({ list, whole, models }: { list: TimelineDoing[]; whole: number; models: Models }): JSX.Element {
  return (
    <ul class="doings">
      {list.map((it, n) => (
        <li key={n}>
          <span class={`swatch${it.class === "wait" ? " hatched" : ""}`} style={{ backgroundColor: CLASS_COLOURS[it.class] ?? "" }} aria-hidden="true" />
          <span class="doing-what">
            {it.class === "compute" ? "computes in " : it.class === "wait" ? "waits in " : ""}
            <code>{callName(models, it.call)}</code>{callSite(models, it.call)}
            {it.count > 1 && <span class="dim"> × {grouped(it.count)}</span>}
          </span>
          <span class="num">{seconds(it.seconds)}<br /><span class="dim">{percent(share(it.seconds, whole))}</span></span>
        </li>
      ))}
    </ul>
  );
}

/** What all rows did in the span. */
export function Totals({ run, rows, span, about, models, only }: {
  run: string;
  rows: TimelineRow[] | undefined;
  span: Span;
  about: TimelineAbout;
  models: Models;
  only: ChosenCalls | undefined;
}): JSX.Element {
  const { value: totals } = useAnswer<TimelineTotals>(rows && (!isFile() || timelineUntil(run) !== undefined) ? of(run, "timeline/totals") : undefined, { ...(rows && rowParameters(rows)), ...span, only: only?.text }, { late: true });
  const whole = totals?.totals.reduce((sum, it) => sum + it.seconds, 0) ?? 0;
  return (
    <>
      <div class="pane-head"><h2>In this span</h2><span class="dim num">{time(span.to - span.from)}</span></div>
      <div class="pad details">
        <p class="dim">Click on something to see its call, who ended a wait, and what that process did meanwhile.</p>
        {totals?.too_many && <p>More happened here than can be added up at once: zoom in, or see the other views for the whole run.</p>}
        {totals && !totals.too_many && (
          <DoingList list={totals.totals.slice(0, 14).map((it) => ({ ...it, class: about.classes[it.class] ?? "" }))} whole={whole} models={models} />
        )}
      </div>
    </>
  );
}

/** The longest waits of the view, for those who cannot see the picture. */
export function WaitTable({ waits, models, rows }: { waits: TimelineWaits | undefined; models: Models; rows: TimelineRow[] | undefined }): JSX.Element {
  const name = (location: number) => rows?.find((row) => row.first === location && row.end === location + 1)?.name ?? `location ${location}`;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="The longest waits">
      <table class="numbers">
        <thead><tr><th scope="col">Who</th><th scope="col">Waits in</th><th scope="col">From</th><th scope="col">Wait</th><th scope="col">For</th><th scope="col">Kind</th></tr></thead>
        <tbody>
          {waits?.waits.map((it, n) => (
            <tr key={n}>
              <th scope="row"><a href={link({ sel: `${it.location}@${Math.floor((it.from + it.to) / 2)}` })}>{name(it.location)}</a></th>
              <td><code>{callName(models, it.call)}</code>{callSite(models, it.call)}</td>
              <td class="num">{time(it.from)}</td>
              <td class="num">{time(it.to - it.from)}</td>
              <td>{name(it.culprit)}</td>
              <td>{it.title}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
