// What is shown is in the address: a link opens the same picture. Names and keys, not numbers, so that links
// outlive another analysis of the same run.

import { computed, effect, signal } from "@preact/signals";

export const VIEWS = ["findings", "panes", "calls", "matrix", "processes", "spread", "timeline"] as const;
/** Views of a run, and the one of all runs of a directory. */
export type View = (typeof VIEWS)[number] | "runs";

/** Version of addresses. */
const VERSION = "1";

export type State = Record<string, string>;

function read(): State {
  const state: State = {};
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (name !== "code") state[name] = value;
  }
  return state;
}

export const state = signal<State>(read());

/** Whether the address says nothing yet of what is shown: it is the one that `dwell view` prints, or that of a file. */
export function isFirst(): boolean {
  return state.value["v"] === undefined;
}

/** Whether the runs are those of a directory, which have a view of their own. */
export const isMany = signal(false);

export const view = computed<View>(() => {
  const wanted = state.value["view"];
  return VIEWS.find((it) => it === wanted) ?? (isMany.value ? "runs" : "findings");
});

/** The address of a state that differs in some parts; what is empty is left out. */
export function link(changes: Record<string, string | number | undefined | null>): string {
  const next: State = { ...state.value, v: VERSION };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === null || value === "") delete next[name];
    else next[name] = String(value);
  }
  const names = Object.keys(next).sort();
  return `#${new URLSearchParams(names.map((name) => [name, next[name] as string])).toString()}`;
}

/** Goes there. With `replace`, Back does not come here again. */
export function go(
  changes: Record<string, string | number | undefined | null>,
  replace = false,
): void {
  const address = link(changes);
  if (address === location.hash) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  state.value = read();
}

addEventListener("popstate", () => (state.value = read()));
addEventListener("hashchange", () => (state.value = read()));

/** Light, dark, or as the system has it. */
export const theme = signal<string>(remembered());

function remembered(): string {
  try {
    return localStorage.getItem("dwell-theme") ?? "auto";
  } catch {
    return "auto";
  }
}

/** Whether the page is dark now. */
export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
}

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  try {
    localStorage.setItem("dwell-theme", theme.value);
  } catch {
    // Without storage it lasts as long as the page.
  }
});

/** Counts up when colours change, so that canvases are drawn anew. */
export const painted = signal(0);
effect(() => {
  theme.value;
  painted.value = painted.peek() + 1;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => painted.value++);

/** What is said to those who cannot see it. */
export const said = signal("");
