// Search over call paths, metrics and processes.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask } from "./data";
import { site } from "./format";
import { pathOf } from "./model";
import { of, type Shown, useModels } from "./runs";
import { go, view } from "./state";
import type { SystemFound } from "./types";

interface Found {
  kind: string;
  name: string;
  more: string;
  open: () => void;
}

const MOST = 12;

export function Search({ shown, close }: { shown: Shown; close: () => void }): JSX.Element {
  const models = useModels(shown);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [processes, setProcesses] = useState<SystemFound | undefined>();
  const input = useRef<HTMLInputElement>(null);
  // At once: who types fast must not lose a letter.
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    if (text.length < 1) return setProcesses(undefined);
    let current = true;
    ask<SystemFound>(of(shown.first, "system/find"), { text }).then(
      (found) => current && setProcesses(found),
      () => current && setProcesses(undefined),
    );
    return () => void (current = false);
  }, [text, shown.first]);
  const stays = ["panes", "calls", "spread"].includes(view.value);
  const found = useMemo<Found[]>(() => {
    if (!models || text === "") return [];
    const wanted = text.toLowerCase();
    const list: Found[] = [];
    models.metrics.list.forEach((metric) => {
      if (!`${metric.title} ${metric.name}`.toLowerCase().includes(wanted)) return;
      list.push({
        kind: "metric",
        name: metric.title,
        more: metric.name,
        open: () => go({ view: stays ? view.value : "panes", metric: metric.name, own: undefined }),
      });
    });
    const calls: Found[] = [];
    models.calls.list.forEach((call, item) => {
      if (!`${call.name} ${call.file ?? ""} ${site(call)}`.toLowerCase().includes(wanted)) return;
      calls.push({
        kind: "call",
        name: call.name,
        more: calls.length < 3 * MOST ? [site(call), pathOf(models.calls, item)].filter(Boolean).join(" · ") : "",
        open: () => go({ view: stays ? view.value : "calls", call: call.key, self: undefined }),
      });
    });
    const system = (processes?.rows ?? []).map((row, n) => ({
      kind: "process",
      name: processes?.names[n] ?? "",
      more: "",
      open: () => go({ view: "panes", sys: row }),
    }));
    return [...calls.slice(0, MOST), ...list.slice(0, MOST), ...system.slice(0, MOST)];
  }, [models, text, processes, stays]);
  const chosen = Math.min(at, found.length - 1);
  const pick = (one: Found | undefined) => {
    if (!one) return;
    one.open();
    close();
  };
  return (
    <div class="veil" onClick={(event) => event.target === event.currentTarget && close()}>
      <div class="dialog search" role="dialog" aria-modal="true" aria-label="Search">
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-expanded={found.length > 0}
          aria-controls="search-list"
          aria-activedescendant={chosen >= 0 ? `found-${chosen}` : undefined}
          aria-label="Search call paths, metrics, processes"
          placeholder="Call path, file, metric, process"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.code === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
            else if (event.code === "ArrowUp") setAt(Math.max(chosen - 1, 0));
            else if (event.code === "Enter") pick(found[chosen]);
            else if (event.code === "Escape") close();
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
        <ul id="search-list" role="listbox" aria-label="Found">
          {found.map((one, n) => (
            <li key={n} id={`found-${n}`} role="option" aria-selected={n === chosen} class={n === chosen ? "chosen" : ""}
              onMouseEnter={() => setAt(n)} onClick={() => pick(one)}>
              <span class="chip">{one.kind}</span> <span class="found-name">{one.name}</span> <span class="dim found-more">{one.more}</span>
            </li>
          ))}
        </ul>
        {text !== "" && found.length === 0 && <p class="empty">Nothing is called that.</p>}
      </div>
    </div>
  );
}
