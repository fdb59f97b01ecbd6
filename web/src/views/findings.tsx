// The first screen: what ran, where the time went, what waits longest and what to do about it.

import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isFile, useAnswer } from "../data";
import { CLASS_COLOURS, CLASS_NAMES } from "../colours";
import { below, bounds, change, fileName, grouped, percent, percents, seconds, share } from "../format";
import { isForControl } from "../keys";
import { type Models, of, type Shown, useModels } from "../runs";
import { chosenSpan, SpanNote } from "../span";
import { go, link, state } from "../state";
import { Explained, Term } from "../term";
import { CauseCard, PointCard } from "./cause";
import { FunctionCard } from "./functions";
import { IterationCard } from "./iterations";
import type { Doing, Efficiency, Entry, Instance, Point, Share, Verdict } from "../findings";
import type { Bars, Cause, Compared, Finding, Overview, PartOfTime, TimelineFindings } from "../types";

export function Findings({ shown }: { shown: Shown }): JSX.Element {
  const { value: overview, error } = useAnswer<Overview>(of(shown.first, "overview"));
  const other = useAnswer<Overview>(shown.second && of(shown.second, "overview"));
  const models = useModels(shown);
  const t = chosenSpan();
  const inSpan = useAnswer<TimelineFindings>(t && !isFile() ? of(shown.first, "timeline/findings") : undefined, { t });
  useFindingKeys(overview);
  const failed = error ?? other.error;
  if (failed) return <p class="empty" role="alert">{failed}</p>;
  // With two runs nothing is shown before it is known what belongs to what.
  const compared = models?.compared;
  if (!overview || (shown.second && (!other.value || other.stale || !compared))) return <p class="empty" aria-busy="true">Reading the report …</p>;
  const beside: Beside | undefined = compared && other.value && { overview: other.value, compared, names: shown.names };
  const chosen = chosenIn(overview);
  const all = overview.entries;
  const run = all.filter((entry) => entry.phase === "run" && !entry.small);
  const small = all.filter((entry) => entry.phase === "run" && entry.small);
  const apart = all.filter((entry) => entry.phase !== "run");
  const cards = (list: typeof all) => (
    <ol class="findings">
      {list.map((entry) => (
        <EntryCard key={entry.id} entry={entry} overview={overview} open={entry.id === chosen} models={models} beside={beside}
          inSpan={inSpan.value && secondsIn(inSpan.value, entry)} />
      ))}
    </ol>
  );
  // With two runs the change of every wait comes first.
  const causes = (
    <>
      {overview.causes.length > 0 && <Causes overview={overview} models={models} run={0} id={shown.first} of={beside && shown.names[0]} />}
      {beside && beside.overview.causes.length > 0 && <Causes overview={beside.overview} models={models} run={1} id={shown.second ?? shown.first} of={shown.names[1]} />}
    </>
  );
  const { iterations } = overview;
  const since = iterations && (
    <IterationCard iterations={iterations} other={beside?.overview.iterations ?? undefined} names={shown.names} beside={compared?.iterations ?? undefined} id="since-title" />
  );
  const computes = (
    <>
      {overview.functions && <FunctionCard functions={overview.functions} run={shown.first} name={beside && shown.names[0]} id="functions-title" />}
      {beside?.overview.functions && <FunctionCard functions={beside.overview.functions} run={shown.second ?? shown.first} name={shown.names[1]} id="functions-title-1" />}
    </>
  );
  // Where nothing changes over the run, it is no answer.
  const isAnswer = !beside && (iterations?.changes.length ?? 0) > 0;
  return (
    <div class={`overview${beside ? " two" : ""}`}>
      <div class="overview-main">
        <Headline overview={overview} beside={beside} />
        <WholeBar run={shown.first} beside={shown.second} names={shown.names} />
        {!beside && overview.verdict && <Answer verdict={overview.verdict} overview={overview} models={models} run={0} id={shown.first} />}
        {isAnswer && since}
        {!beside && causes}
        <section aria-labelledby="waits-title">
          <h2 id="waits-title">{beside ? <>What waits in {shown.names[0]}, and its change to {shown.names[1]}</> : "What waits, by what can be gained"}</h2>
          {t && <p><SpanNote whole={inSpan.error ?? "each finding says how long it waits there; all else is of the whole run"} /></p>}
          {all.length === 0 && <p class="empty">{overview.waits === null ? NOT_SEARCHED : "No call waits for another process."}</p>}
          {run.length > 0 && cards(run)}
          <Fold list={small} chosen={chosen} title={`${grouped(small.length)} more below 0.1 % of the run${small.length > 1 ? " each" : ""}, ${boundsOf(sumOf(small))} in all`}
            cards={cards} />
          {overview.more > 0 && <p class="dim">{grouped(overview.more)} more in findings.json.</p>}
          {beside && <OnlySecond beside={beside} />}
        </section>
        {beside && causes}
        {computes}
        {!isAnswer && since}
        {apart.length > 0 && (
          <section aria-labelledby="apart-title">
            <h2 id="apart-title">Start-up and shutdown</h2>
            {[overview, ...(beside ? [beside.overview] : [])].map((it, at) => (
              <p key={at} class="dim">
                {beside ? `${shown.names[at]}: ` : "Apart from the run: "}{seconds(it.startup)} of start-up, {seconds(it.shutdown)} of shutdown.
              </p>
            ))}
            <Fold list={apart} chosen={chosen} title={`${paths(apart.length)} with waits, ${boundsOf(sumOf(apart))} in all`} cards={cards} />
          </section>
        )}
      </div>
      <aside class="overview-side">
        <section aria-labelledby="ran-title">
          <h2 id="ran-title">What ran</h2>
          <Facts overview={overview} beside={beside} />
        </section>
        {(overview.efficiency || beside?.overview.efficiency) && (
          <section aria-labelledby="efficiency-title">
            <h2 id="efficiency-title">Efficiency</h2>
            <EfficiencyTree of_run={overview.efficiency} beside={beside && { names: beside.names, of_run: beside.overview.efficiency }} />
          </section>
        )}
        <section aria-labelledby="time-title">
          <h2 id="time-title">Where the time went</h2>
          <TimeTree overview={overview} beside={beside} models={models} />
        </section>
        {[overview, ...(beside ? [beside.overview] : [])].map((it, at) => it.notes.length > 0 && (
          <section key={at} aria-labelledby={`notes-title-${at}`}>
            <h2 id={`notes-title-${at}`}>{beside ? `Notes on ${shown.names[at]}` : "Notes"}</h2>
            <ul class="notes">
              {it.notes.map((note, n) => (
                <li key={n}><span class={`chip note-${note.kind.replace(" ", "-")}`}>{note.kind}</span> <Explained text={note.text} /></li>
              ))}
            </ul>
          </section>
        ))}
      </aside>
    </div>
  );
}

/** Said of a report in which nobody has looked for waits: what was not computed is not 0. */
const NOT_SEARCHED = "This report was not searched for waits: it is a profile. Record a trace and run dwell analyze to find them.";

/** The run that this one is compared with. */
interface Beside {
  overview: Overview;
  compared: Compared;
  names: [string, string];
}

/** Properties of one run or of both. */
function Facts({ overview, beside }: { overview: Overview; beside: Beside | undefined }): JSX.Element {
  const others = beside?.overview.facts ?? [];
  const labels = [...new Set([...overview.facts, ...others].map((it) => it.label))];
  const of_run = (list: Overview["facts"], label: string) => list.find((it) => it.label === label)?.value ?? "–";
  if (!beside) {
    return <dl class="facts">{overview.facts.map((fact) => [<dt key={fact.label}>{fact.label}</dt>, <dd key={`${fact.label}-is`}>{fact.value}</dd>])}</dl>;
  }
  return (
    <table class="facts-table">
      <thead><tr><td />{beside.names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
      <tbody>
        {labels.map((label) => {
          const [one, two] = [of_run(overview.facts, label), of_run(others, label)];
          return (
            <tr key={label}>
              <th scope="row">{label}</th>
              {one === two ? <td colSpan={2} class="dim">{one}</td> : [<td key={0}>{one}</td>, <td key={1}>{two}</td>]}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Number of causes that are shown at once. */
const CAUSES = 3;

interface CardsProps {
  overview: Overview;
  models: Models | undefined;
  run: 0 | 1;
  /** Id of the run. */
  id: string;
}

/** What the run loses time to, and what to change first. */
function Answer({ verdict, ...props }: CardsProps & { verdict: Verdict }): JSX.Element | null {
  const { overview } = props;
  if (verdict.points.length === 0) return null;
  return (
    <section class="answer" aria-labelledby="answer-title">
      <h2 id="answer-title">{verdict.head}</h2>
      <ol class="findings">
        {verdict.points.map((point, at) => {
          const cause = causeOf(overview, point);
          return cause
            ? <CauseCard key={at} cause={cause} {...props} open={at === 0} />
            : <PointCard key={at} point={point} places={overview.verdict_places[at] ?? []} models={props.models} id={props.id} open={at === 0} />;
        })}
      </ol>
    </section>
  );
}

/** The cause that a point of the verdict is about. */
function causeOf(overview: Overview, point: Point): Cause | undefined {
  return overview.causes.find((it) => it.id === point.id);
}

/** What processes did that made others wait. Those in the verdict are not shown again. */
function Causes({ of, ...props }: CardsProps & {
  /** Name of the run, if there are two. */
  of: string | undefined;
}): JSX.Element | null {
  const { overview, run } = props;
  const shown = of === undefined ? (overview.verdict?.points.map((it) => causeOf(overview, it)) ?? []) : [];
  const list = (some: Cause[], first: boolean) => (
    <ol class="findings">
      {some.map((cause, at) => <CauseCard key={cause.id} cause={cause} {...props} open={first && at === 0} />)}
    </ol>
  );
  const left = overview.causes.filter((it) => !shown.includes(it));
  const some = left.slice(0, Math.max(0, CAUSES - shown.filter((it) => it).length));
  const rest = left.slice(some.length);
  if (left.length === 0) return null;
  const more = rest.length > 0 && (
    <details class="fold">
      <summary>{rest.length} {shown.length + some.length > 0 ? "more" : ""} {rest.length === 1 ? "cause" : "causes"}, {seconds(rest.reduce((sum, cause) => sum + cause.seconds, 0))} of waits in all</summary>
      {list(rest, false)}
    </details>
  );
  if (some.length === 0) return <section aria-label="More causes">{more}</section>;
  return (
    <section aria-labelledby={`causes-title-${run}`}>
      <h2 id={`causes-title-${run}`}>What makes others wait{of && ` in ${of}`}</h2>
      {list(some, shown.length === 0 && of === undefined)}
      {more}
    </section>
  );
}

/** Id of the finding that is open: the one in the address, or the first. */
function chosenIn(overview: Overview): number {
  return Number(state.value["finding"] ?? overview.entries[0]?.id);
}

/** Entries that are shown when asked for, or when one of them is chosen. */
function Fold({ list, chosen, title, cards }: {
  list: Entry[];
  chosen: number;
  title: string;
  cards: (list: Entry[]) => JSX.Element;
}): JSX.Element | null {
  if (list.length === 0) return null;
  return (
    <details class="fold" open={list.some((entry) => entry.id === chosen)}>
      <summary>{title}</summary>
      {cards(list)}
    </details>
  );
}

function paths(count: number): string {
  return `${grouped(count)} call ${count === 1 ? "path" : "paths"}`;
}

function sumOf(list: Entry[]): { seconds: number; seconds_at_most: number } {
  return {
    seconds: list.reduce((sum, entry) => sum + entry.seconds, 0),
    seconds_at_most: list.reduce((sum, entry) => sum + entry.seconds_at_most, 0),
  };
}

/** The time of a finding, an entry or a process. */
function boundsOf(it: { seconds: number; seconds_at_most: number }): string {
  return bounds(it.seconds, it.seconds_at_most);
}

function Headline({ overview, beside }: { overview: Overview; beside: Beside | undefined }): JSX.Element {
  const line = (it: Overview) => percents(share(it.waits ?? 0, it.run), share(it.waits_at_most ?? 0, it.run));
  const amount = (it: Overview) => boundsOf({ seconds: it.waits ?? 0, seconds_at_most: it.waits_at_most ?? 0 });
  const much = (it: Overview) => share(it.waits_at_most ?? 0, it.run) > 0.05;
  const waits = (it: Overview) =>
    it.waits === null ? (
      <>{seconds(it.run)} over all processes, not searched for waits: it is a profile.</>
    ) : (
      <>
        Waits take <strong>{amount(it)}</strong> of {seconds(it.run)} over all processes,{" "}
        <strong class={much(it) ? "bad" : ""}>{line(it)}</strong>.
      </>
    );
  if (beside) {
    const [first, second] = beside.names;
    return (
      <div class="headline">
        <h1>{first} compared with {second}</h1>
        <p class="headline-text headline-sum">{unbroken(sentence(beside.compared.summary))}</p>
        <p class="headline-text beside-line">{first}: {waits(overview)}</p>
        <p class="headline-text beside-line">{second}: {waits(beside.overview)}</p>
      </div>
    );
  }
  return (
    <div class="headline">
      <h1>{overview.title}</h1>
      <p class="headline-text">
        {waits(overview)}
        {overview.startup + overview.shutdown > 0 && (
          <> Not counted: {seconds(overview.startup)} of start-up and {seconds(overview.shutdown)} of shutdown.</>
        )}
      </p>
    </div>
  );
}

/** The whole time in one line, by what it is spent for. */
function WholeBar({ run, beside, names }: { run: string; beside: string | undefined; names: [string, string] }): JSX.Element {
  const { value: bars } = useAnswer<Bars>(of(run, "bars"), { count: 0 });
  const other = useAnswer<Bars>(beside && of(beside, "bars"), { count: 0 }).value;
  const sum = (list: number[] | undefined) => list?.reduce((a, b) => a + b, 0) ?? 0;
  const totals = [sum(bars?.whole), sum(other?.whole)];
  const longest = Math.max(...totals, 1e-300);
  const parts = (bars?.classes ?? [])
    .map((name, at) => ({ name, values: [bars?.whole[at] ?? 0, other?.whole[at] ?? 0] }))
    .filter(({ values }) => values.some((value, at) => value > 0.0005 * (totals[at] ?? 0)));
  return (
    <a class="whole" href={link({ view: "processes" })} aria-label="The time by what it is spent for; opens processes">
      {[bars, other].map((one, which) => one && (
        <span key={which} class="whole-line">
          {other && <span class="whole-name">{names[which]}</span>}
          <span class="whole-bar" aria-hidden="true">
            {one.classes.map((name, at) => (
              <span key={name} class={`whole-part${name === "wait" ? " hatched" : ""}`}
                style={{ width: `${(100 * (one.whole[at] ?? 0)) / longest}%`, backgroundColor: CLASS_COLOURS[name] ?? "" }} />
            ))}
          </span>
        </span>
      ))}
      <span class="legend">
        {parts.map((part) => (
          <span key={part.name} class="legend-item">
            <span class={`swatch${part.name === "wait" ? " hatched" : ""}`}
              style={{ backgroundColor: CLASS_COLOURS[part.name] ?? "" }} aria-hidden="true" />
            {CLASS_NAMES[part.name]} <span class="num">{part.values.slice(0, other ? 2 : 1).map((value, at) => percent(share(value, totals[at] ?? 0))).join(" → ")}</span>
          </span>
        ))}
      </span>
    </a>
  );
}

/** Seconds of the same findings in the other run; nothing if that was not searched for waits. */
function secondsBeside(beside: Beside, entry: Entry): { seconds: number; seconds_at_most: number } | undefined {
  if (beside.overview.waits === null) return undefined;
  const found = entry.findings.flatMap((at) => beside.compared.findings[at] ?? []);
  return {
    seconds: found.reduce((sum, it) => sum + it.seconds, 0),
    seconds_at_most: found.reduce((sum, it) => sum + it.seconds_at_most, 0),
  };
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
function sure(finding: Finding): ComponentChildren {
  const { confidence, condition } = finding;
  return confidence ? <><Term name={confidence} />{condition && `, ${condition}`}</> : condition;
}

function place(finding: Finding): string {
  if (!finding.file || !finding.line) return "";
  const order = finding.nth ? ` (call ${finding.nth} on this line)` : "";
  return `${fileName(finding.file)}:${finding.line}${finding.column ? `:${finding.column}` : order}`;
}

function EntryCard(props: {
  entry: Entry;
  overview: Overview;
  open: boolean;
  models: Models | undefined;
  beside: Beside | undefined;
  /** Seconds in the span of the timeline; nothing if there is none or the timeline does not have these waits. */
  inSpan: number | undefined;
}): JSX.Element | null {
  const { entry, open } = props;
  const [main, ...others] = partsOf(props.overview, entry);
  if (main === undefined) return null;
  const where = place(main);
  const then = props.beside && secondsBeside(props.beside, entry);
  return (
    <li class={`finding${open ? " open" : ""}`}>
      <a class="finding-head" href={link({ finding: entry.id })} aria-expanded={open}>
        <span class="finding-number">{entry.id}</span>
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
          {props.beside && (
            <span class="finding-then">
              {then === undefined ? <span class="dim">not searched for waits</span> : <>
                <span class="num dim">then {then.seconds_at_most === 0 ? "none" : boundsOf(then)}</span>
                <Delta value={then.seconds - entry.seconds} />
              </>}
            </span>
          )}
        </span>
      </a>
      {open && (
        <div class="finding-body">
          <Part finding={main} id={entry.id} part={0} models={props.models} beside={props.beside && partBeside(props.beside, entry.findings[0])} />
          {others.map((finding, n) => (
            <details key={n} class="part">
              <summary>
                <span class="num">{boundsOf(finding)}</span> {finding.title}: {finding.explanation}
              </summary>
              <Part finding={finding} id={entry.id} part={n + 1} models={props.models} beside={props.beside && partBeside(props.beside, entry.findings[n + 1])} />
            </details>
          ))}
        </div>
      )}
    </li>
  );
}

/** A difference between two runs: less is blue, more is red. */
function Delta({ value }: { value: number }): JSX.Element {
  return <span class={`delta num ${value > 0 ? "more" : value < 0 ? "less" : "dim"}`}>{change(value, "sec")}</span>;
}

/** The same finding in the other run. */
interface PartBeside {
  names: [string, string];
  finding: Finding | undefined;
}

function partBeside(beside: Beside, at: number | undefined): PartBeside {
  const found = at === undefined ? undefined : beside.compared.findings[at];
  return { names: beside.names, finding: found ? beside.overview.findings[found.finding] : undefined };
}

/** A fact about a finding, of one run or of both. */
function Fact({ name, beside, of_finding, finding }: {
  name: string;
  finding: Finding;
  beside: PartBeside | undefined;
  of_finding: (finding: Finding) => ComponentChildren;
}): JSX.Element | null {
  const [one, two] = [of_finding(finding), beside?.finding && of_finding(beside.finding)];
  if (!one && !two) return null;
  if (!beside) return <><dt>{name}</dt><dd>{one}</dd></>;
  return (
    <>
      <dt>{name}</dt>
      <dd class="both"><span class="dim">{beside.names[0]}</span><span>{one || "–"}</span><span class="dim">{beside.names[1]}</span><span>{two || "–"}</span></dd>
    </>
  );
}

/** One kind of wait of an entry. */
function Part({ finding, id, part, models, beside }: {
  finding: Finding;
  id: number;
  part: number;
  models: Models | undefined;
  beside: PartBeside | undefined;
}): JSX.Element {
  const metric = finding.metric === null ? undefined : models?.metrics.list[finding.metric]?.name;
  const call = finding.call === null ? undefined : models?.calls.list[models.calls.from[0][finding.call] ?? -1]?.key;
  const to = (view: string) => link({ view, metric, call, own: undefined, self: undefined, finding: id });
  const facts = { finding, beside };
  return (
    <>
      <p class="why"><Explained text={sentence(finding.explanation)} /> <span class="remedy"><Explained text={finding.remedy} /></span></p>
      <dl class="finding-facts">
        <dt>Path</dt>
        <dd class="path">{finding.path.map((name, n) => [n > 0 && <span class="sep"> / </span>, <code>{name}</code>])}</dd>
        {beside && <Fact name="Called at" {...facts} of_finding={place} />}
        <Fact name="How often" {...facts} of_finding={(it) => it.how_often} />
        <Fact name="Worst" {...facts} of_finding={(it) => it.worst_text} />
        <Fact name="Meanwhile" {...facts} of_finding={(it) => it.worst?.meanwhile && <Doings worst={it.worst} progress={it.condition !== null} />} />
        <Fact name="Because" {...facts} of_finding={(it) => it.because} />
        <Fact name="Gain" {...facts} of_finding={(it) => it.gain && sentence(it.gain)} />
        <Fact name="Who waits" {...facts} of_finding={(it) => it.origins.length > 0 && <Parties list={it.origins} />} />
        <Fact name="On whom" {...facts} of_finding={(it) => it.targets.length > 0 && <Parties list={it.targets} />} />
        <Fact name="How sure" {...facts} of_finding={sure} />
      </dl>
      <p class="finding-links">
        <a href={to("panes")}>Where it waits</a>
        <a href={to("calls")}>Call path and source</a>
        <a href={to("spread")}>Which processes</a>
        {finding.targets.length > 0 && (
          <a href={link({ view: "matrix", measure: "wait", finding: id, part: part || undefined, waits: "finding", kinds: undefined, rows: undefined, columns: undefined, pair: undefined, t: undefined })}>Between whom</a>
        )}
        {finding.worst && (
          <a href={link({ view: "timeline", finding: id, part: part || undefined, instance: undefined, t: undefined, sel: "worst", pin: undefined, rows: undefined })}>When</a>
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

/** Keeps numbers and their units in one line. */
function unbroken(text: string): string {
  return text.replace(/ (s|ms|us|ns|min|h|%)(?=[\s,;:.])/g, "\u00a0$1");
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

/** Findings that only the run beside this one has. */
function OnlySecond({ beside }: { beside: Beside }): JSX.Element | null {
  const { overview, compared, names } = beside;
  const news = compared.only_second.flatMap((at) => overview.findings[at] ?? []);
  if (news.length === 0) return null;
  const rest = compared.only_second.length - Math.min(news.length, 10);
  return (
    <>
      <h3>Only in {names[1]}</h3>
      <ul class="plain">
        {news.slice(0, 10).map((finding, at) => (
          <li key={at}><Delta value={finding.seconds} />{" "}
            <code>{finding.region}</code> {place(finding)} <span class="dim">{finding.title}</span></li>
        ))}
      </ul>
      {rest > 0 && <p class="dim">{grouped(rest)} more.</p>}
    </>
  );
}

/** The factors of efficiency: each is the product of those below it. */
const FACTORS: [keyof Efficiency, string, number][] = [
  ["parallel", "Parallel efficiency", 0],
  ["load_balance", "Load balance", 1],
  ["communication", "Communication efficiency", 1],
  ["serialisation", "Serialisation", 2],
  ["progress", "Progress", 2],
  ["transfer", "Transfer", 2],
];

function EfficiencyTree({ of_run, beside }: {
  of_run: Efficiency | null;
  beside: { names: [string, string]; of_run: Efficiency | null } | undefined;
}): JSX.Element {
  const whole = (part: number | null | undefined) => (typeof part === "number" ? `${Math.round(100 * part)} %` : "–");
  const [one, two] = [of_run, beside?.of_run];
  return (
    <table class="time-tree">
      {beside && <thead><tr><td />{beside.names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>}
      <tbody>
        {FACTORS.filter(([name]) => typeof one?.[name] === "number" || typeof two?.[name] === "number").map(([name, title, depth]) => (
          <tr key={name}>
            <th scope="row" style={{ paddingLeft: `${depth * 14}px` }}>
              <Term name={`efficiency: ${name.replaceAll("_", " ")}`}>{title}</Term>
              <span class="meter wide" aria-hidden="true"><span style={{ width: `${Math.min(100, 100 * (one?.[name] ?? 0))}%` }} /></span>
            </th>
            <td class="num">{whole(one?.[name])}</td>
            {beside && <td class="num">{whole(two?.[name])}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function TimeTree({ overview, beside, models }: {
  overview: Overview;
  beside: Beside | undefined;
  models: Models | undefined;
}): JSX.Element {
  const metricOf = (part: PartOfTime, run: 0 | 1) =>
    models?.metrics.list.find((_, at) => models.metrics.of[at]?.[run] === part.metric)?.name;
  const others = beside?.overview.parts ?? [];
  // What only the other run has stands below what it is a part of.
  const rows = overview.parts.map((part) => ({ part, other: others.find((it) => it.title === part.title && it.depth === part.depth) as PartOfTime | undefined, name: metricOf(part, 0) }));
  others.forEach((part, at) => {
    if (rows.some((row) => row.other === part)) return;
    const above = others.slice(0, at).findLast((it) => rows.some((row) => row.other === it));
    rows.splice(rows.findIndex((row) => row.other === above) + 1, 0, { part: { ...part, seconds: 0, share: 0 }, other: part, name: metricOf(part, 1) });
  });
  // Below a layer its name need not be said again.
  const layer = (at: number) => rows.slice(0, at).findLast((it) => it.part.depth === 1)?.part.title;
  return (
    <table class="time-tree">
      <thead class={beside ? "" : "hidden"}>
        <tr><th scope="col"><span class={beside ? "hidden" : ""}>Part</span></th>{!beside && <th scope="col">Share</th>}<th scope="col">{beside ? beside.names[0] : "Time"}</th>
          {beside && <th scope="col">{beside.names[1]}</th>}{beside && <th scope="col">Change</th>}</tr>
      </thead>
      <tbody>
        {rows.map(({ part, other, name }, at) => (
          <tr key={`${part.title} ${part.depth}`}>
            <th scope="row" style={{ paddingLeft: `${part.depth * 14}px` }}>
              <a href={link({ view: "panes", metric: name, call: undefined })}>
                {part.depth > 1 ? below(part.title, layer(at)) : part.title}
              </a>
              <span class="meter wide" aria-hidden="true">
                <span class={part.wait ? "wait hatched" : ""} style={{ width: `${100 * part.share}%` }} />
              </span>
            </th>
            {!beside && <td class="num">{percent(part.share)}</td>}
            <td class="num">{seconds(part.seconds)}</td>
            {beside && <td class="num">{seconds(other?.seconds ?? 0)}</td>}
            {beside && <td><Delta value={(other?.seconds ?? 0) - part.seconds} /></td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Next and previous finding by `.` and `,`. */
function useFindingKeys(overview: Overview | undefined): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isForControl(event) || !overview?.entries.length) return;
      const by = event.code === "Period" ? 1 : event.code === "Comma" ? -1 : 0;
      if (by === 0) return;
      const now = overview.entries.findIndex((it) => it.id === chosenIn(overview));
      const next = overview.entries[Math.min(Math.max(now + by, 0), overview.entries.length - 1)];
      go({ finding: next?.id });
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [overview]);
}
