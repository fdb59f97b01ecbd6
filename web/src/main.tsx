// The page: a head, one of the views, help.

import { render, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import "./style.css";
import { admit, admitted, ended, enter, pending, refusal } from "./data";
import { hit } from "./canvas";
import { isForControl } from "./keys";
import { runName, type Shown, useRuns } from "./runs";
import { go, isDark, isFirst, isMany, link, said, theme, view, type View, VIEWS } from "./state";
import { CopyLink, saveView } from "./save";
import { Search } from "./search";
import { Glossary, TermBox } from "./term";
import { Findings } from "./views/findings";
import { ManyView } from "./views/many";
import { Panes } from "./views/panes";
import { CallTable } from "./views/calls";
import { MatrixView } from "./views/matrix";
import { Processes } from "./views/processes";
import { SpreadView } from "./views/spread";
import { TimelineView } from "./views/timeline/view";

const TITLES: Record<View, string> = {
  runs: "Runs",
  findings: "Findings",
  panes: "Panes",
  calls: "Call paths",
  matrix: "Matrix",
  processes: "Processes",
  spread: "Spread",
  timeline: "Timeline",
};

const helping = signal(false);
const searching = signal(false);

function Head({ shown }: { shown: Shown }): JSX.Element {
  const { runs } = shown.runs;
  const title = (id: string | undefined) => runs.find((run) => run.id === id)?.title ?? "";
  return (
    <header class="head">
      <a class="brand" href={link({ view: isMany.value ? "runs" : "findings" })} aria-label="Dwell, first screen">
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <rect x="1" y="3" width="12" height="4" rx="1" class="brand-a" />
          <rect x="1" y="8" width="5" height="4" rx="1" class="brand-a" />
          <rect x="6" y="8" width="9" height="4" rx="1" class="brand-b" />
          <rect x="1" y="13" width="18" height="4" rx="1" class="brand-a" />
        </svg>
        <span>Dwell</span>
      </a>
      {view.value === "runs" ? null : runs.length > 1 ? (
        <div class="runs">
          <select aria-label="Run" value={shown.first} onChange={(event) => go({ run: event.currentTarget.value })}>
            {runs.map((run) => <option key={run.id} value={run.id}>{runName(shown.runs, run.id)}</option>)}
          </select>
          <span class="dim">compared with</span>
          <select aria-label="Compare with" value={shown.second ?? ""}
            onChange={(event) => go({ with: event.currentTarget.value })}>
            <option value="">no other run</option>
            {runs.filter((run) => run.id !== shown.first).map((run) =>
              <option key={run.id} value={run.id}>{runName(shown.runs, run.id)}</option>)}
          </select>
        </div>
      ) : (
        <div class="runs"><span class="run-title" title={runs[0]?.path}>{title(shown.first)}</span></div>
      )}
      <nav aria-label="Views">
        {isMany.value && <a href={link({ view: "runs" })} aria-current={view.value === "runs" ? "page" : undefined}>{TITLES.runs}</a>}
        {VIEWS.map((name, at) => (
          <a key={name} href={link({ view: name })} aria-current={view.value === name ? "page" : undefined}
            title={`${TITLES[name]} (${at + 1})`}>
            {TITLES[name]}
          </a>
        ))}
      </nav>
      <div class="tools">
        <button type="button" class="search-open" onClick={() => (searching.value = true)} aria-keyshortcuts="/">
          <span>Search</span><kbd>/</kbd>
        </button>
        <CopyLink />
        <button type="button" class="small" title="Save this view as a picture (PNG)" onClick={() => {
          const main = document.querySelector("main");
          if (main) saveView(view.value, main).catch(() => (said.value = "The browser cannot draw this view."));
        }}>Picture</button>
        <button type="button" class="icon" aria-label="Light or dark" title="Light or dark (T)" onClick={nextTheme}>
          <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
            <circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="1.6" />
            <path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor" />
          </svg>
        </button>
        <button type="button" class="icon" aria-label="Help" title="Help (?)" onClick={() => (helping.value = true)}>
          ?
        </button>
      </div>
    </header>
  );
}

function nextTheme(): void {
  theme.value = isDark() ? "light" : "dark";
}

const KEYS: [string, string][] = [
  ["1 … 7", "Findings, panes, call paths, matrix, processes, spread, timeline"],
  ["/", "Search call paths, metrics, processes"],
  ["↑ ↓ ← →", "Move in trees and pictures; ← → fold and unfold"],
  ["Enter", "Select; fold or unfold what is selected; zoom into a cell"],
  [", .", "Previous and next finding; on the timeline, instance of the finding"],
  ["W S A D", "Timeline: zoom in and out, move back and forth; also Ctrl+wheel and Shift+wheel"],
  ["]", "Timeline: to the process that ended the selected wait"],
  ["P", "Timeline: pin the row under the cursor; Enter on a node folds its processes"],
  ["*", "Unfold or fold a whole tree"],
  ["F", "Fit: all of a picture"],
  ["T", "Light or dark"],
  ["Esc", "Clear: close, zoom out, the whole program"],
  ["Alt+← Alt+→", "Back and forth"],
  ["?", "This help"],
];

function Help(): JSX.Element {
  return (
    <Dialog label="Help" close={() => (helping.value = false)}>
      <h2>Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={what}>{what}</dd>])}
      </dl>
      <h2>How to read it</h2>
      <p>
        In trees a folded row shows its value with all that is below, an unfolded one without. A selection
        refills the panes to its right. What you see is in the address: copy it to show it to someone.
        Words on a dotted line are explained by a click.
      </p>
      <details>
        <summary>All words</summary>
        <Glossary />
      </details>
    </Dialog>
  );
}

export function Dialog(props: { label: string; close: () => void; children: JSX.Element | JSX.Element[] }): JSX.Element {
  return (
    <div class="veil" onClick={(event) => event.target === event.currentTarget && props.close()}>
      <div class="dialog" role="dialog" aria-modal="true" aria-label={props.label}
        onKeyDown={(event) => {
          if (event.code === "Escape") {
            event.stopPropagation();
            props.close();
          }
        }}>
        {props.children}
        <div class="dialog-end">
          <button type="button" ref={(button) => button?.focus()} onClick={props.close}>Close</button>
        </div>
      </div>
    </div>
  );
}

function useKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isForControl(event)) return;
      if (event.key === "/") {
        searching.value = true;
      } else if (event.key === "?") {
        helping.value = true;
      } else if (/^Digit[1-7]$/.test(event.code) && !event.shiftKey) {
        go({ view: VIEWS[Number(event.code.at(-1)) - 1] as string });
      } else if (event.code === "KeyT") {
        nextTheme();
      } else if (event.code === "Escape" && !helping.value && !searching.value) {
        go({ call: undefined, self: undefined, sys: undefined, sel: undefined });
      } else {
        return;
      }
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function Gate(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const submit = () => void admit(input.current?.value ?? "");
  return (
    <main class="gate">
      <h1>This tab has no key</h1>
      <p>
        Go to the terminal where <code>dwell view</code> runs and press Enter. Open the address that it prints, or put
        it in here to see what this link shows. Without a terminal, it is in the file that <code>dwell view</code> names. Each
        address works once, so that nobody else on that machine can use it; tabs of one browser share it.
      </p>
      <p class="key">
        <input ref={input} type="text" aria-label="Address" placeholder="http://127.0.0.1…/#code=…" autocomplete="off"
          onKeyDown={(event) => event.code === "Enter" && submit()} />
        <button type="button" onClick={submit}>Open</button>
      </p>
      {refusal.value && <p class="dim" role="alert">{refusal.value}</p>}
    </main>
  );
}

function App(): JSX.Element | null {
  useKeys();
  const { shown, error } = useRuns();
  const [, setReady] = useState(0);
  useEffect(() => {
    document.documentElement.dataset["ready"] = "1";
    setReady(1);
  }, [shown]);
  // From the first screen on the address says what is compared.
  useEffect(() => {
    if (shown?.second && isFirst()) go({ with: shown.second }, true);
  }, [shown?.second]);
  useEffect(() => {
    const run = shown?.runs.runs.find((it) => it.id === shown.first);
    document.title = view.value === "runs" ? "Runs · Dwell" : run ? `${run.title} · ${TITLES[view.value]} · Dwell` : "Dwell";
  }, [shown, view.value]);
  if (!shown) return error ? <main class="gate"><h1>No answer</h1><p>{error}</p></main> : null;
  const props = { shown };
  return (
    <>
      <Head {...props} />
      {ended.value && (
        <p class="ended" role="alert">
          <strong>dwell view has ended.</strong> What this page has read is still here, and nothing else. Start it again, and open the address that it prints.
        </p>
      )}
      <main class={`view view-${view.value}`} key={view.value}>
        {view.value !== "findings" && <h1 class="hidden">{TITLES[view.value]}</h1>}
        {view.value === "runs" && <ManyView />}
        {view.value === "findings" && <Findings {...props} />}
        {view.value === "panes" && <Panes {...props} />}
        {view.value === "calls" && <CallTable {...props} />}
        {view.value === "matrix" && <MatrixView {...props} />}
        {view.value === "processes" && <Processes {...props} />}
        {view.value === "spread" && <SpreadView {...props} />}
        {view.value === "timeline" && <TimelineView {...props} />}
      </main>
      <TermBox />
      {helping.value && <Help />}
      {searching.value && <Search shown={shown} close={() => (searching.value = false)} />}
      <div class="said" role="status" aria-live="polite">{said.value}</div>
    </>
  );
}

function Root(): JSX.Element | null {
  if (admitted.value === "asking") return null;
  return admitted.value === "yes" ? <App /> : <Gate />;
}

// For tests: what is under a point of a picture, and how many answers are awaited.
Object.assign(globalThis, { __dwell: { hit, pending } });

const root = document.getElementById("app");
if (root) {
  render(<Root />, root);
  void enter().catch((error: unknown) => {
    refusal.value = error instanceof Error ? error.message : String(error);
    admitted.value = "no";
  });
}
