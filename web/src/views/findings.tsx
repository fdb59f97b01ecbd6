// The first screen: what ran, where the time went, what waits longest and what to do about it.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useAnswer } from "../data";
import { CLASS_COLOURS, CLASS_NAMES } from "../colours";
import { below, fileName, percent, seconds, share, signed } from "../format";
import { type Models, of, type Shown, useModels } from "../runs";
import { go, link, state } from "../state";
import type { Bars, Finding, Overview } from "../types";

export function Findings({ shown }: { shown: Shown }): JSX.Element {
  const { value: overview, error } = useAnswer<Overview>(of(shown.first, "overview"));
  const beside = useAnswer<Overview>(shown.second && of(shown.second, "overview")).value;
  const models = useModels(shown);
  useFindingKeys(overview);
  if (error) return <p class="empty" role="alert">{error}</p>;
  if (!overview) return <p class="empty" aria-busy="true">Reading the report …</p>;
  const chosen = Number(state.value["finding"] ?? 0);
  const [first, ...rest] = overview.findings;
  return (
    <div class="overview">
      <div class="overview-main">
        <Headline overview={overview} beside={beside} />
        <WholeBar run={shown.first} beside={shown.second} />
        <section aria-labelledby="waits-title">
          <h2 id="waits-title">What waits, the longest first</h2>
          {first === undefined ? (
            <p class="empty">No call waits for another process.</p>
          ) : (
            <ol class="findings">
              {[first, ...rest].map((finding, at) => (
                <FindingCard key={at} finding={finding} at={at} open={at === chosen} models={models}
                  beside={beside?.findings.find((it) => sameFinding(it, finding))} compared={beside !== undefined} />
              ))}
            </ol>
          )}
          {overview.more > 0 && <p class="dim">{overview.more} smaller ones are in findings.json.</p>}
          {beside && <Gone overview={overview} beside={beside} />}
        </section>
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

function Headline({ overview, beside }: { overview: Overview; beside: Overview | undefined }): JSX.Element {
  const part = share(overview.waits, overview.time);
  return (
    <div class="headline">
      <h1>{overview.title}</h1>
      <p class="headline-text">
        Waits take <strong>{seconds(overview.waits)}</strong> of {seconds(overview.time)} over all processes,{" "}
        <strong class={part > 0.05 ? "bad" : ""}>{percent(part)}</strong>.
        {beside && (
          <span class="beside-line">
            {" "}Beside it: {seconds(beside.waits)} of {seconds(beside.time)}, {percent(share(beside.waits, beside.time))}.
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

function sameFinding(a: Finding, b: Finding): boolean {
  return a.pattern === b.pattern && a.path.join(" / ") === b.path.join(" / ");
}

/** How sure a finding is, in words. */
function sure(finding: Finding): string {
  return [finding.confidence, finding.condition].filter(Boolean).join(", ");
}

function amountOf(finding: Finding): string {
  return finding.at_most > finding.seconds
    ? `${seconds(finding.seconds)} to ${seconds(finding.at_most)}`
    : seconds(finding.seconds);
}

function place(finding: Finding): string {
  if (finding.file && finding.line) return `${fileName(finding.file)}:${finding.line}`;
  return "";
}

function FindingCard(props: {
  finding: Finding;
  at: number;
  open: boolean;
  models: Models | undefined;
  beside: Finding | undefined;
  compared: boolean;
}): JSX.Element {
  const { finding, at, open, models } = props;
  const where = place(finding);
  const metric = finding.metric === null ? undefined : models?.metrics.list[finding.metric]?.name;
  const call = finding.call === null ? undefined : models?.calls.list[models.calls.from[0][finding.call] ?? -1]?.key;
  const to = (view: string) => link({ view, metric, call, own: undefined, self: undefined, finding: at });
  const delta = props.beside ? props.beside.seconds - finding.seconds : undefined;
  return (
    <li class={`finding${open ? " open" : ""}`}>
      <a class="finding-head" href={link({ finding: at })} aria-expanded={open}>
        <span class="finding-number">{at + 1}</span>
        <span class="finding-what">
          <span class="finding-call">
            <code>{finding.region}</code>
            <span class="finding-where">{where && ` at ${where}`}{finding.caller && ` in ${finding.caller}`}</span>
          </span>
          <span class="finding-title">{finding.title}</span>
        </span>
        <span class="finding-amount">
          <span class="num">{amountOf(finding)}</span>
          <span class="finding-share">
            <span class="meter" aria-hidden="true"><span style={{ width: `${Math.min(100, 100 * finding.share)}%` }} /></span>
            <span class="num">{percent(finding.share)}</span>
          </span>
          {props.compared && (
            <span class={`delta num ${delta === undefined ? "less" : delta > 0 ? "more" : "less"}`}>
              {delta === undefined ? "gone" : signed(seconds(delta), delta)}
            </span>
          )}
        </span>
      </a>
      {open && (
        <div class="finding-body">
          <p class="why">{sentence(finding.explanation)} <span class="remedy">{finding.remedy}</span></p>
          <dl class="finding-facts">
            <dt>Path</dt>
            <dd class="path">{finding.path.map((name, n) => [n > 0 && <span class="sep"> / </span>, <code>{name}</code>])}</dd>
            {finding.visits !== null && (
              <>
                <dt>How often</dt>
                <dd>{finding.visits.toLocaleString("en-US")} calls{finding.locations !== null && <>; {finding.locations.toLocaleString("en-US")} {finding.locations === 1 ? "location waits" : "locations wait"}</>}</dd>
              </>
            )}
            {finding.origins.length > 0 && <><dt>Who waits</dt><dd><Parties list={finding.origins} /></dd></>}
            {finding.targets.length > 0 && <><dt>On whom</dt><dd><Parties list={finding.targets} /></dd></>}
            {sure(finding) && <><dt>How sure</dt><dd>{sure(finding)}</dd></>}
          </dl>
          <p class="finding-links">
            <a href={to("panes")}>Where it waits</a>
            <a href={to("calls")}>Call path and source</a>
            <a href={to("spread")}>Which processes</a>
            <a href={link({ view: "matrix", measure: "wait", finding: at })}>Between whom</a>
          </p>
        </div>
      )}
    </li>
  );
}

function sentence(text: string): string {
  return text ? `${text[0]?.toUpperCase()}${text.slice(1)}.` : "";
}

function Parties({ list }: { list: Finding["origins"] }): JSX.Element {
  const most = Math.max(...list.map((party) => party.at_most), 1e-12);
  return (
    <span class="parties">
      {list.map((party) => (
        <span key={party.who} class="party">
          <span class="meter" aria-hidden="true"><span style={{ width: `${(100 * party.at_most) / most}%` }} /></span>
          {party.who} <span class="num dim">{seconds(party.seconds)}</span>
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
    const count = overview?.findings.length ?? 0;
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
