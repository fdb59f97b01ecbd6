// The first screen: what ran, where the time went, what waits longest and what to do about it.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isFile, useAnswer } from "../data";
import { CLASS_COLOURS, CLASS_NAMES } from "../colours";
import { below, bounds, fileName, grouped, percent, percents, seconds, share, signed } from "../format";
import { type Models, of, type Shown, useModels } from "../runs";
import { chosenSpan, SpanNote } from "../span";
import { go, link, state } from "../state";
import type { Doing, Entry, Instance, Share } from "../findings";
import type { Bars, Cause, Finding, Overview, TimelineFindings } from "../types";

export function Findings({ shown }: { shown: Shown }): JSX.Element {
  const { value: overview, error } = useAnswer<Overview>(of(shown.first, "overview"));
  const beside = useAnswer<Overview>(shown.second && of(shown.second, "overview")).value;
  const models = useModels(shown);
  const t = chosenSpan();
  const inSpan = useAnswer<TimelineFindings>(t && !isFile() ? of(shown.first, "timeline/findings") : undefined, { t });
  useFindingKeys(overview);
  if (error) return <p class="empty" role="alert">{error}</p>;
  if (!overview) return <p class="empty" aria-busy="true">Reading the report …</p>;
  const chosen = Number(state.value["finding"] ?? 0);
  const all = overview.entries.map((entry, at) => ({ entry, at }));
  const run = all.filter(({ entry }) => entry.phase === "run" && !entry.small);
  const small = all.filter(({ entry }) => entry.phase === "run" && entry.small);
  const apart = all.filter(({ entry }) => entry.phase !== "run");
  const cards = (list: typeof all) => (
    <ol class="findings">
      {list.map(({ entry, at }) => (
        <EntryCard key={at} entry={entry} overview={overview} at={at} open={at === chosen} models={models}
          beside={beside && sameEntry(beside, overview, entry)} compared={beside !== undefined}
          inSpan={inSpan.value && secondsIn(inSpan.value, entry)} />
      ))}
    </ol>
  );
  return (
    <div class="overview">
      <div class="overview-main">
        <Headline overview={overview} beside={beside} />
        <WholeBar run={shown.first} beside={shown.second} />
        {overview.causes.length > 0 && <Causes overview={overview} models={models} />}
        <section aria-labelledby="waits-title">
          <h2 id="waits-title">What waits, by what can be gained</h2>
          {t && <p><SpanNote whole={inSpan.error ?? "each finding says how long it waits there; all else is of the whole run"} /></p>}
          {all.length === 0 && (
            <p class="empty">
              {overview.waits === null ? "Nobody has looked for waits in this report." : "No call waits for another process."}
            </p>
          )}
          {run.length > 0 && cards(run)}
          <Fold list={small} chosen={chosen} title={`${paths(small.length)} below 0.1 % of the run${small.length > 1 ? " each" : ""}, ${boundsOf(sumOf(small))} in all`}
            cards={cards} />
          {overview.more > 0 && <p class="dim">{paths(overview.more)} more in findings.json.</p>}
          {beside && <Gone overview={overview} beside={beside} />}
        </section>
        {apart.length > 0 && (
          <section aria-labelledby="apart-title">
            <h2 id="apart-title">Start-up and shutdown</h2>
            <p class="dim">Apart from the run: {seconds(overview.startup)} of start-up, {seconds(overview.shutdown)} of shutdown.</p>
            <Fold list={apart} chosen={chosen} title={`${paths(apart.length)} with waits, ${boundsOf(sumOf(apart))} in all`} cards={cards} />
          </section>
        )}
      </div>
      <aside class="overview-side">
        <section aria-labelledby="ran-title">
          <h2 id="ran-title">What ran</h2>
          <dl class="facts">
            {overview.facts.map((fact) => {
              const other = beside?.facts.find((it) => it.label === fact.label);
              return [
                <dt key={fact.label}>{fact.label}</dt>,
                <dd key={`${fact.label}-is`}>
                  {fact.value}
                  {other && other.value !== fact.value && <span class="beside"> {other.value}</span>}
                </dd>,
              ];
            })}
          </dl>
        </section>
        <section aria-labelledby="time-title">
          <h2 id="time-title">Where the time went</h2>
          <TimeTree overview={overview} beside={beside} models={models} />
        </section>
        {overview.notes.length > 0 && (
          <section aria-labelledby="notes-title">
            <h2 id="notes-title">To know</h2>
            <ul class="notes">
              {overview.notes.map((note, at) => (
                <li key={at}><span class={`chip note-${note.kind.replace(" ", "-")}`}>{note.kind}</span> {note.text}</li>
              ))}
            </ul>
          </section>
        )}
      </aside>
    </div>
  );
}

/** Number of causes that are shown at once. */
const CAUSES = 3;

/** What processes did that made others wait. */
function Causes({ overview, models }: { overview: Overview; models: Models | undefined }): JSX.Element {
  const all = overview.causes.map((cause, at) => ({ cause, letter: String.fromCharCode(65 + at) }));
  const list = (some: typeof all) => (
    <ol class="findings">
      {some.map(({ cause, letter }) => <CauseItem key={letter} cause={cause} letter={letter} models={models} />)}
    </ol>
  );
  const rest = all.slice(CAUSES);
  return (
    <section aria-labelledby="causes-title">
      <h2 id="causes-title">What makes others wait</h2>
      {list(all.slice(0, CAUSES))}
      {rest.length > 0 && (
        <details class="fold">
          <summary>{rest.length} more, {seconds(rest.reduce((sum, { cause }) => sum + cause.seconds, 0))} of waits in all</summary>
          {list(rest)}
        </details>
      )}
    </section>
  );
}

function CauseItem({ cause, letter, models }: { cause: Cause; letter: string; models: Models | undefined }): JSX.Element {
  const metric = cause.metric === null ? undefined : models?.metrics.list[cause.metric]?.name;
  const call = cause.call === null ? undefined : models?.calls.list[models.calls.from[0][cause.call] ?? -1]?.key;
  const to = (view: string) => link({ view, metric, call, own: undefined, self: undefined });
  return (
    <li>
      <details class="cause" open={letter === "A"}>
        <summary class="finding-head">
          <span class="finding-number">{letter}</span>
          <span class="cause-what">{cause.head}</span>
          <span class="finding-amount">
            <span class="num">{seconds(cause.seconds)}</span>
            {cause.share !== null && (
              <span class="finding-share">
                <span class="meter" aria-hidden="true"><span style={{ width: `${Math.min(100, 100 * cause.share)}%` }} /></span>
                <span class="num">{percent(cause.share)}</span>
              </span>
            )}
          </span>
        </summary>
        <div class="finding-body">
          <dl class="finding-facts">
            {cause.how_long && <><dt>How long</dt><dd>{cause.how_long}</dd></>}
            {cause.why_longer && <><dt>Why longer</dt><dd>{cause.why_longer}</dd></>}
            <dt>Costs</dt><dd>{cause.costs}</dd>
            {cause.passed_on && <><dt>Passed on</dt><dd>{cause.passed_on}</dd></>}
            {cause.processes.length > 1 && <><dt>Who</dt><dd><Parties list={cause.processes} /></dd></>}
          </dl>
          <p class="finding-links">
            <a href={to("panes")}>Where it is</a>
            <a href={to("calls")}>Call path and source</a>
            <a href={to("spread")}>Which processes</a>
          </p>
        </div>
      </details>
    </li>
  );
}

type Listed = { entry: Entry; at: number };

/** Entries that are shown when asked for, or when one of them is chosen. */
function Fold({ list, chosen, title, cards }: {
  list: Listed[];
  chosen: number;
  title: string;
  cards: (list: Listed[]) => JSX.Element;
}): JSX.Element | null {
  if (list.length === 0) return null;
  return (
    <details class="fold" open={list.some(({ at }) => at === chosen)}>
      <summary>{title}</summary>
      {cards(list)}
    </details>
  );
}

function paths(count: number): string {
  return `${grouped(count)} call ${count === 1 ? "path" : "paths"}`;
}

function sumOf(list: Listed[]): { seconds: number; seconds_at_most: number } {
  return {
    seconds: list.reduce((sum, { entry }) => sum + entry.seconds, 0),
    seconds_at_most: list.reduce((sum, { entry }) => sum + entry.seconds_at_most, 0),
  };
}

/** The time of a finding, an entry or a process. */
function boundsOf(it: { seconds: number; seconds_at_most: number }): string {
  return bounds(it.seconds, it.seconds_at_most);
}

function Headline({ overview, beside }: { overview: Overview; beside: Overview | undefined }): JSX.Element {
  const line = (it: Overview) => percents(share(it.waits ?? 0, it.run), share(it.waits_at_most ?? 0, it.run));
  const amount = (it: Overview) => boundsOf({ seconds: it.waits ?? 0, seconds_at_most: it.waits_at_most ?? 0 });
  const much = share(overview.waits_at_most ?? 0, overview.run) > 0.05;
  return (
    <div class="headline">
      <h1>{overview.title}</h1>
      <p class="headline-text">
        {overview.waits === null ? (
          <>This report does not say what waits: it is a profile. It has {seconds(overview.run)} over all processes.</>
        ) : (
          <>
            Waits take <strong>{amount(overview)}</strong> of {seconds(overview.run)} over all processes,{" "}
            <strong class={much ? "bad" : ""}>{line(overview)}</strong>.
          </>
        )}
        {overview.startup + overview.shutdown > 0 && (
          <> Not counted: {seconds(overview.startup)} of start-up and {seconds(overview.shutdown)} of shutdown.</>
        )}
        {beside && beside.waits !== null && (
          <span class="beside-line">
            {" "}Beside it: {amount(beside)} of {seconds(beside.run)}, {line(beside)}.
          </span>
        )}
      </p>
    </div>
  );
}

/** The whole time in one line, by what it is spent for. */
function WholeBar({ run, beside }: { run: string; beside: string | undefined }): JSX.Element {
  const { value: bars } = useAnswer<Bars>(of(run, "bars"), { count: 0 });
  const other = useAnswer<Bars>(beside && of(beside, "bars"), { count: 0 }).value;
  const sum = (list: number[] | undefined) => list?.reduce((a, b) => a + b, 0) ?? 0;
  const longest = Math.max(sum(bars?.whole), sum(other?.whole), 1e-300);
  const total = bars?.whole.reduce((sum, value) => sum + value, 0) ?? 0;
  const parts = bars?.classes
    .map((name, at) => ({ name, value: bars.whole[at] ?? 0 }))
    .filter((part) => part.value > 0.0005 * total) ?? [];
  return (
    <a class="whole" href={link({ view: "processes" })} aria-label="The time by what it is spent for; opens processes">
      {[bars, other].map((one, which) => one && (
        <span key={which} class={`whole-bar${which === 1 ? " second" : ""}`} aria-hidden="true">
          {one.classes.map((name, at) => (
            <span key={name} class={`whole-part${name === "wait" ? " hatched" : ""}`}
              style={{ width: `${(100 * (one.whole[at] ?? 0)) / longest}%`, backgroundColor: CLASS_COLOURS[name] ?? "" }} />
          ))}
        </span>
      ))}
      <span class="legend">
        {parts.map((part) => (
          <span key={part.name} class="legend-item">
            <span class={`swatch${part.name === "wait" ? " hatched" : ""}`}
              style={{ backgroundColor: CLASS_COLOURS[part.name] ?? "" }} aria-hidden="true" />
            {CLASS_NAMES[part.name]} <span class="num">{percent(share(part.value, total))}</span>
          </span>
        ))}
      </span>
    </a>
  );
}

/** Whether two findings are of the same call: by its place where both have one, otherwise by the names of the path. */
function sameFinding(a: Finding, b: Finding): boolean {
  if (a.pattern !== b.pattern || a.region !== b.region) return false;
  const where = (it: Finding) => (it.file && it.line ? `${fileName(it.file)}:${it.line}` : "");
  // The root is the program, which may have another name.
  if (!where(a) || !where(b)) return a.path.slice(1).join(" / ") === b.path.slice(1).join(" / ");
  const [one, other] = [a.column ?? a.nth, b.column ?? b.nth];
  return where(a) === where(b) && (one === null || other === null || one === other);
}

/** Seconds of the same findings in another run; nothing if it has none of them. */
function sameEntry(beside: Overview, overview: Overview, entry: Entry): number | undefined {
  const own = partsOf(overview, entry);
  const found = beside.findings.filter((it) => own.some((known) => sameFinding(known, it)));
  return found.length > 0 ? found.reduce((sum, it) => sum + it.seconds, 0) : undefined;
}

/** Seconds of all findings of an entry in a span. */
function secondsIn(all: TimelineFindings, entry: Entry): number | undefined {
  const known = entry.findings.map((at) => all.seconds[at]).filter((it) => it !== null && it !== undefined);
  return known.length > 0 ? known.reduce((sum, it) => sum + it, 0) : undefined;
}

function partsOf(overview: Overview, entry: Entry): Finding[] {
  return entry.findings.flatMap((at) => overview.findings[at] ?? []);
}

/** How sure a finding is, in words. */
function sure(finding: Finding): string {
  return [finding.confidence, finding.condition].filter(Boolean).join(", ");
}

function place(finding: Finding): string {
  if (!finding.file || !finding.line) return "";
  const order = finding.nth ? ` (call ${finding.nth} on this line)` : "";
  return `${fileName(finding.file)}:${finding.line}${finding.column ? `:${finding.column}` : order}`;
}

function EntryCard(props: {
  entry: Entry;
  overview: Overview;
  at: number;
  open: boolean;
  models: Models | undefined;
  /** Seconds in the other run. */
  beside: number | undefined;
  compared: boolean;
  /** Seconds in the span of the timeline; nothing if there is none or the timeline does not have these waits. */
  inSpan: number | undefined;
}): JSX.Element | null {
  const { entry, at, open } = props;
  const [main, ...others] = partsOf(props.overview, entry);
  if (main === undefined) return null;
  const where = place(main);
  const delta = props.beside === undefined ? undefined : props.beside - entry.seconds;
  return (
    <li class={`finding${open ? " open" : ""}`}>
      <a class="finding-head" href={link({ finding: at })} aria-expanded={open}>
        <span class="finding-number">{at + 1}</span>
        <span class="finding-what">
          <span class="finding-call">
            <code>{main.region}</code>
            <span class="finding-where">{where && ` at ${where}`}{main.caller && ` in ${main.caller}`}</span>
          </span>
          <span class="finding-title">{[main, ...others].map((it) => it.title).join(", ")}</span>
        </span>
        <span class="finding-amount">
          <span class="num">{boundsOf(entry)}</span>
          {entry.share !== null && (
            <span class="finding-share">
              <span class="meter" aria-hidden="true"><span style={{ width: `${Math.min(100, 50 * (entry.share + (entry.share_at_most ?? entry.share)))}%` }} /></span>
              <span class="num">{percents(entry.share, entry.share_at_most ?? entry.share)}</span>
            </span>
          )}
          {props.inSpan !== undefined && (
            <span class={`num in-span${props.inSpan === 0 ? " dim" : ""}`}>{props.inSpan === 0 ? "none in the span" : `${seconds(props.inSpan)} in the span`}</span>
          )}
          {props.compared && (
            <span class={`delta num ${delta === undefined ? "less" : delta > 0 ? "more" : "less"}`}>
              {delta === undefined ? "gone" : signed(seconds(delta), delta)}
            </span>
          )}
        </span>
      </a>
      {open && (
        <div class="finding-body">
          <Part finding={main} at={at} part={0} models={props.models} />
          {others.map((finding, n) => (
            <details key={n} class="part">
              <summary>
                <span class="num">{boundsOf(finding)}</span> {finding.title}: {finding.explanation}
              </summary>
              <Part finding={finding} at={at} part={n + 1} models={props.models} />
            </details>
          ))}
        </div>
      )}
    </li>
  );
}

/** One kind of wait of an entry. */
function Part({ finding, at, part, models }: {
  finding: Finding;
  at: number;
  part: number;
  models: Models | undefined;
}): JSX.Element {
  const metric = finding.metric === null ? undefined : models?.metrics.list[finding.metric]?.name;
  const call = finding.call === null ? undefined : models?.calls.list[models.calls.from[0][finding.call] ?? -1]?.key;
  const to = (view: string) => link({ view, metric, call, own: undefined, self: undefined, finding: at });
  return (
    <>
      <p class="why">{sentence(finding.explanation)} <span class="remedy">{finding.remedy}</span></p>
      <dl class="finding-facts">
        <dt>Path</dt>
        <dd class="path">{finding.path.map((name, n) => [n > 0 && <span class="sep"> / </span>, <code>{name}</code>])}</dd>
        {finding.how_often && <><dt>How often</dt><dd>{finding.how_often}</dd></>}
        {finding.worst_text && <><dt>Worst</dt><dd>{finding.worst_text}</dd></>}
        {finding.worst?.meanwhile && (
          <>
            <dt>Meanwhile</dt>
            <dd><Doings worst={finding.worst} progress={finding.condition !== null} /></dd>
          </>
        )}
        {finding.because && <><dt>Because</dt><dd>{finding.because}</dd></>}
        {finding.gain && <><dt>Gain</dt><dd>{sentence(finding.gain)}</dd></>}
        {finding.origins.length > 0 && <><dt>Who waits</dt><dd><Parties list={finding.origins} /></dd></>}
        {finding.targets.length > 0 && <><dt>On whom</dt><dd><Parties list={finding.targets} /></dd></>}
        {sure(finding) && <><dt>How sure</dt><dd>{sure(finding)}</dd></>}
      </dl>
      <p class="finding-links">
        <a href={to("panes")}>Where it waits</a>
        <a href={to("calls")}>Call path and source</a>
        <a href={to("spread")}>Which processes</a>
        <a href={link({ view: "matrix", measure: "wait", finding: at })}>Between whom</a>
        {finding.worst && (
          <a href={link({ view: "timeline", finding: at, part: part || undefined, instance: undefined, t: undefined, sel: undefined, rows: undefined })}>When</a>
        )}
      </p>
    </>
  );
}

/** What the process that was waited for did meanwhile. */
function Doings({ worst, progress }: { worst: Instance; progress: boolean }): JSX.Element | null {
  const doing = worst.meanwhile;
  if (!doing) return null;
  const whole = doing.calls.reduce((sum, it) => sum + it.seconds, doing.computing_seconds);
  const calls = doing.calls.filter((it) => it.seconds >= 0.01 * whole || (progress && it.serves_others === "no"));
  return (
    <>
      {worst.on_whom}{" "}
      {doing.computing_seconds >= 0.01 * whole && <span class="doing">computed for <span class="num">{seconds(doing.computing_seconds)}</span></span>}
      {calls.map((it) => (
        <span key={doingPlace(it)} class="doing">
          made {grouped(it.calls)} {it.calls === 1 ? "call" : "calls"} of <code>{it.region}</code>{doingPlace(it)}{progress && it.on_itself && " on itself"}
          {progress && it.serves_others === "no" && servesNobody(it)}
          {progress && it.serves_others === "maybe" && ", which may serve nobody"} (<span class="num">{seconds(it.seconds)}</span>)
        </span>
      ))}
    </>
  );
}

/** What to say of calls that served nobody. Those that an operation outlived would serve others. */
function servesNobody(it: Doing): string {
  if (it.outlived) return ", none of which served it";
  return it.calls === 1 ? ", which serves nobody" : ", which serve nobody";
}

function doingPlace(it: Doing): string {
  if (!it.file || !it.line) return "";
  return ` at ${fileName(it.file)}:${it.line}${it.column ? `:${it.column}` : ""}`;
}

function sentence(text: string): string {
  return text ? `${text[0]?.toUpperCase()}${text.slice(1)}.` : "";
}

function Parties({ list }: { list: Share[] }): JSX.Element {
  const most = Math.max(...list.map((party) => party.seconds_at_most), 1e-12);
  return (
    <span class="parties">
      {list.map((party) => (
        <span key={party.who} class="party">
          <span class="meter" aria-hidden="true"><span style={{ width: `${(100 * party.seconds_at_most) / most}%` }} /></span>
          {party.who} <span class="num dim">{boundsOf(party)}</span>
        </span>
      ))}
    </span>
  );
}

function Gone({ overview, beside }: { overview: Overview; beside: Overview }): JSX.Element | null {
  const news = beside.findings.filter((it) => !overview.findings.some((known) => sameFinding(known, it)));
  if (news.length === 0) return null;
  return (
    <>
      <h3>Only in the other run</h3>
      <ul class="plain">
        {news.slice(0, 10).map((finding, at) => (
          <li key={at}><span class="delta more num">{signed(seconds(finding.seconds), finding.seconds)}</span>{" "}
            <code>{finding.region}</code> {place(finding)} <span class="dim">{finding.title}</span></li>
        ))}
      </ul>
    </>
  );
}

function TimeTree({ overview, beside, models }: {
  overview: Overview;
  beside: Overview | undefined;
  models: Models | undefined;
}): JSX.Element {
  // Below a layer its name need not be said again.
  const layer = (at: number) => overview.parts.slice(0, at).findLast((it) => it.depth === 1)?.title;
  return (
    <table class="time-tree">
      <thead class="hidden"><tr><th>Part</th>{!beside && <th>Share</th>}<th>Time</th>{beside && <th>Difference</th>}</tr></thead>
      <tbody>
        {overview.parts.map((part, at) => {
          const other = beside?.parts.find((it) => it.title === part.title);
          const delta = beside && (other?.seconds ?? 0) - part.seconds;
          return (
            <tr key={part.metric}>
              <th scope="row" style={{ paddingLeft: `${part.depth * 14}px` }}>
                <a href={link({ view: "panes", metric: models?.metrics.list[part.metric]?.name, call: undefined })}>
                  {part.depth > 1 ? below(part.title, layer(at)) : part.title}
                </a>
                <span class="meter wide" aria-hidden="true">
                  <span class={part.wait ? "wait hatched" : ""} style={{ width: `${100 * part.share}%` }} />
                </span>
              </th>
              {!beside && <td class="num">{percent(part.share)}</td>}
              <td class="num">{seconds(part.seconds)}</td>
              {delta !== undefined && <td class={`num delta ${delta > 0 ? "more" : "less"}`}>{signed(seconds(delta), delta)}</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Next and previous finding by `.` and `,`. */
function useFindingKeys(overview: Overview | undefined): void {
  useEffect(() => {
    const count = overview?.entries.length ?? 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || count === 0) return;
      if ((event.target as HTMLElement).matches("input, select, textarea")) return;
      const by = event.code === "Period" ? 1 : event.code === "Comma" ? -1 : 0;
      if (by === 0) return;
      const now = Number(state.value["finding"] ?? 0);
      go({ finding: Math.min(Math.max(now + by, 0), count - 1) });
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [overview]);
}
