// Where answers come from: the server, with the secret of this browser, or the file that this page is in.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { fromWhole, wholeOf } from "./offline";
import type { Refused, Session } from "./types";

export class Refusal extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

type Parameters = Record<string, string | number | boolean | undefined | null>;

/** Whether this tab may ask: nothing until that is known. */
export const admitted = signal<"asking" | "yes" | "no">("asking");
export const refusal = signal("");

/** Whether the server did not answer the last question. */
export const ended = signal(false);

const ENDED = "dwell view has ended. Start it again, and open the address that it prints.";

const SECRET = "dwell-secret";
let embedded: Map<string, unknown> | undefined;
let secret = "";

let awaited = 0;

/** How many answers are awaited. */
export function pending(): number {
  return awaited;
}

async function unpack(text: string): Promise<Map<string, unknown>> {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const all = JSON.parse(await new Response(stream).text()) as Record<string, unknown>;
  return new Map(Object.entries(all));
}

/** Asks the server, which may have ended. */
async function call(path: string, options: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(path, options);
    ended.value = false;
    return answer;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    ended.value = true;
    throw new Refusal(0, ENDED);
  }
}

// Somebody puts a new address into a tab that is open: only what is behind the # changes.
addEventListener("hashchange", () => {
  if (new URLSearchParams(location.hash.slice(1)).has("code")) void enter().catch(() => (admitted.value = "no"));
});

/**
 * Tabs of one browser share the secret: a tab without one asks the others of the same address, and gets theirs as long as the server
 * accepts it there. Nothing is stored beyond the tabs, since another server may have this address later.
 */
const tabs = typeof BroadcastChannel === "undefined" || location.protocol === "file:" ? undefined : new BroadcastChannel("dwell");
/** How long other tabs may take to answer, in milliseconds. */
const ANSWER = 250;

let answered: (() => void) | undefined;
tabs?.addEventListener("message", ({ data }: MessageEvent<{ ask?: boolean; secret?: string }>) => {
  if (data.ask) share();
  else if (data.secret && admitted.value !== "yes") {
    secret = data.secret;
    if (answered) answered();
    else void begin();
  }
});

function share(): void {
  if (secret && admitted.value === "yes" && !ended.value) tabs?.postMessage({ secret });
}

function askTabs(): Promise<void> {
  if (!tabs) return Promise.resolve();
  return new Promise((done) => {
    answered = () => {
      answered = undefined;
      done();
    };
    setTimeout(() => answered?.(), ANSWER);
    tabs.postMessage({ ask: true });
  });
}

/** Exchanges the code in the address for a secret, and takes it out of the address. */
export async function enter(): Promise<void> {
  const data = document.getElementById("dwell-data");
  if (data) {
    embedded = await unpack(data.textContent ?? "");
    data.remove();
    admitted.value = "yes";
    return;
  }
  const fragment = new URLSearchParams(location.hash.slice(1));
  const code = fragment.get("code");
  secret = sessionStorage.getItem(SECRET) ?? "";
  if (code) {
    fragment.delete("code");
    history.replaceState(null, "", `#${fragment.toString()}`);
    await exchange(code);
  }
  if (!secret) await askTabs();
  await begin();
}

/** Takes an address, or the code in it, from somebody who came here by a link. */
export async function admit(address: string): Promise<void> {
  await exchange(/[0-9a-f]{64}/.exec(address)?.[0] ?? "");
  await begin();
}

async function exchange(code: string): Promise<void> {
  const answer = await call("/api/v1/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const body = (await answer.json()) as Partial<Session & Refused>;
  if (body.secret) {
    secret = body.secret;
    refusal.value = "";
    sessionStorage.setItem(SECRET, secret);
  } else if (!secret) {
    refusal.value = body.error ?? "";
  }
}

async function begin(): Promise<void> {
  try {
    if (secret) {
      await ask("runs");
      sessionStorage.setItem(SECRET, secret);
    }
    admitted.value = secret ? "yes" : "no";
    share();
  } catch (error) {
    refusal.value = error instanceof Error ? error.message : "";
    admitted.value = "no";
  }
}

/** A question as text: the same question is always the same text. */
export function question(path: string, parameters: Parameters = {}): string {
  const pairs = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
    .map(([name, value]): [string, string] => [name, value === true ? "1" : String(value)])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const query = new URLSearchParams(pairs).toString();
  return query ? `${path}?${query}` : path;
}

const KEPT = 400;

interface Kept {
  answer: Promise<unknown>;
  /** How many wait for it. An answer that nobody waits for any more is not read to its end. */
  wanted: number;
  drop: AbortController;
  isThere: boolean;
}

const kept = new Map<string, Kept>();

async function fetchAnswer(what: string, signal: AbortSignal): Promise<unknown> {
  if (embedded) {
    const answer = embedded.get(what) ?? fromWhole(embedded, what);
    if (answer === undefined) {
      throw new Refusal(404, "This is not part of the file; open the run with `dwell view`.");
    }
    if (typeof answer === "object" && answer !== null && "u8" in answer) {
      return Uint8Array.from(atob((answer as { u8: string }).u8), (c) => c.charCodeAt(0));
    }
    if (typeof answer === "object" && answer !== null && "f64" in answer) {
      const packed = Uint8Array.from(atob((answer as { f64: string }).f64), (c) => c.charCodeAt(0));
      return new Float64Array(packed.buffer);
    }
    return answer;
  }
  const answer = await call(`/api/v1/${what}`, { headers: { authorization: `Bearer ${secret}` }, signal });
  if (!answer.ok) {
    const body = (await answer.json().catch(() => ({}))) as Partial<Refused>;
    if (answer.status === 401) admitted.value = "no";
    throw new Refusal(answer.status, body.error ?? `The server answers ${answer.status}.`);
  }
  if (answer.headers.get("content-type") === "application/octet-stream") {
    return new Float64Array(await answer.arrayBuffer());
  }
  if (answer.headers.get("content-type") === "application/x-bytes") {
    return new Uint8Array(await answer.arrayBuffer());
  }
  return answer.json();
}

/** Up to which time the file has the timeline of a run; nothing if it has pictures of some of its parts only, or if this is no file. */
export function timelineUntil(run: string): number | undefined {
  return wholeOf(embedded, run)?.until;
}

/** Whether answers come from the file that this page is in, which has some only. */
export function isFile(): boolean {
  return embedded !== undefined;
}

/** Asks, and remembers the answer. Whoever does not need it any more calls `release`, which may be done twice. */
export function want<T>(path: string, parameters: Parameters = {}): { answer: Promise<T>; release: () => void } {
  const what = question(path, parameters);
  let it = kept.get(what);
  if (it) {
    // Used last, forgotten last.
    kept.delete(what);
  } else {
    awaited += 1;
    const made: Kept = { answer: Promise.resolve(), wanted: 0, drop: new AbortController(), isThere: false };
    made.answer = fetchAnswer(what, made.drop.signal)
      .catch((error: unknown) => {
        if (kept.get(what) === made) kept.delete(what);
        throw error;
      })
      .finally(() => {
        made.isThere = true;
        awaited -= 1;
      });
    it = made;
  }
  const own = it;
  own.wanted += 1;
  kept.set(what, own);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value as string);
  let isReleased = false;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    own.wanted -= 1;
    if (own.wanted > 0 || own.isThere) return;
    if (kept.get(what) === own) kept.delete(what);
    own.drop.abort();
  };
  return { answer: own.answer as Promise<T>, release };
}

/** Asks, and remembers the answer. */
export function ask<T>(path: string, parameters: Parameters = {}): Promise<T> {
  return want<T>(path, parameters).answer;
}

/** Whether an answer is missing because nobody waited for it any more. */
export function isDropped(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Pictures that are awaited, and what waits for them. */
let urgent = 0;
const later: (() => void)[] = [];

/** Says that a picture is awaited, so that what is late is not asked for, until the result is called. */
export function hurry(): () => void {
  urgent += 1;
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    urgent -= 1;
    if (urgent === 0) later.splice(0).forEach((it) => it());
  };
}

/** Calls a function as soon as no picture is awaited. */
function whenQuiet(what: () => void): void {
  if (urgent === 0) what();
  else later.push(what);
}

export interface Asked<T> {
  value: T | undefined;
  error: string | undefined;
  /** Whether the value belongs to an earlier question. */
  stale: boolean;
}

/**
 * The answer to a question; the last one is shown until the next arrives, so that nothing flickers. What is `late` is asked for when no
 * picture is awaited, since both would take the same time of the server.
 */
export function useAnswer<T>(path: string | undefined, parameters: Parameters = {}, { late = false } = {}): Asked<T> {
  const what = path === undefined ? undefined : question(path, parameters);
  const [state, setState] = useState<{ what: string | undefined; value?: T; error?: string }>({
    what: undefined,
  });
  const wanted = useRef<string | undefined>(undefined);
  // Before the screen is drawn: the question need not wait for that.
  useLayoutEffect(() => {
    wanted.current = what;
    if (path === undefined || what === undefined) return;
    let release = () => undefined as void;
    const put = () => {
      const asked = want<T>(path, parameters);
      release = asked.release;
      return asked.answer.then(
        (value) => wanted.current === what && setState({ what, value }),
        (error: unknown) =>
          wanted.current === what && !isDropped(error) &&
          setState({ what, error: error instanceof Error ? error.message : String(error) }),
      );
    };
    if (!late) {
      void put();
      return () => release();
    }
    // It is awaited from now on, although it is asked for later; and not at all if another question has come by then.
    awaited += 1;
    whenQuiet(() => {
      awaited -= 1;
      if (wanted.current === what) void put();
    });
    return () => release();
  }, [what]);
  if (what === undefined) return { value: undefined, error: undefined, stale: false };
  return { value: state.value, error: state.error, stale: state.what !== what };
}
