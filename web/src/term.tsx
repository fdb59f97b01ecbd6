// Terms with their explanations: a click on a dotted line opens what the glossary says, in place.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { GLOSSARY } from "./glossary";
import { said } from "./state";

/** The term that is explained, and the place of its name. */
const explained = signal<{ name: string; element: HTMLElement } | undefined>(undefined);

/** What the glossary says about a term. */
function explanation(name: string): string | undefined {
  return GLOSSARY[name.toLowerCase()];
}

/** A name that can be asked for its explanation, or only the name if there is none. */
export function Term({ name, children }: { name: string; children?: ComponentChildren }): JSX.Element {
  const text = explanation(name);
  const shown = children ?? name;
  if (text === undefined) return <>{shown}</>;
  const ask = (event: MouseEvent) => {
    const element = event.currentTarget as HTMLElement;
    explained.value = explained.value?.element === element ? undefined : { name, element };
    if (explained.value) said.value = text;
    event.preventDefault();
    event.stopPropagation();
  };
  return <button type="button" class="term" title={text.replaceAll("`", "")} onClick={ask}>{shown}</button>;
}

/** Words that are explained where they stand in a sentence. Shorter ones would be in every sentence. */
const IN_TEXT = Object.keys(GLOSSARY).filter((it) => it.includes(" ") || ["collective", "epoch", "flush", "progress", "propagation", "quiet", "window"].includes(it));
const PATTERN = new RegExp(`\\b(${IN_TEXT.sort((a, b) => b.length - a.length).map((it) => it.replace(/[-/\\^$*+?.()|[\]{}]/g, "\\$&")).join("|")})(?=s?\\b)`, "gi");

/** A sentence whose terms can be asked for their explanations, each where it stands first. */
export function Explained({ text }: { text: string }): JSX.Element {
  const seen = new Set<string>();
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(PATTERN)) {
    const name = found[0];
    if (seen.has(name.toLowerCase())) continue;
    seen.add(name.toLowerCase());
    parts.push(text.slice(from, found.index), <Term key={found.index} name={name} />);
    from = found.index + name.length;
  }
  return <>{parts}{text.slice(from)}</>;
}

/** A text with names of functions between grave accents. */
function Text({ of }: { of: string }): JSX.Element {
  return <>{of.split("`").map((it, at) => (at % 2 === 1 ? <code key={at}>{it}</code> : it))}</>;
}

/** All terms, for the help. */
export function Glossary(): JSX.Element {
  return (
    <dl class="glossary">
      {Object.entries(GLOSSARY).map(([name, text]) => [<dt key={name}>{name}</dt>, <dd key={`${name}-is`}><Text of={text} /></dd>])}
    </dl>
  );
}

/** The explanation that was asked for, beside its term. */
export function TermBox(): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  const shown = explained.value;
  useLayoutEffect(() => {
    const tip = box.current;
    if (!tip || !shown) return;
    const at = shown.element.getBoundingClientRect();
    const below = at.bottom + 6;
    const top = below + tip.offsetHeight > innerHeight - 8 ? at.top - tip.offsetHeight - 6 : below;
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  }, [shown]);
  useEffect(() => {
    if (!shown) return;
    const close = () => (explained.value = undefined);
    const onKey = (event: KeyboardEvent) => {
      if (event.code !== "Escape") return;
      close();
      event.stopPropagation();
    };
    const onClick = (event: MouseEvent) => {
      if (!box.current?.contains(event.target as Node) && event.target !== shown.element) close();
    };
    // Before what lies below: Escape closes this alone.
    addEventListener("keydown", onKey, true);
    addEventListener("click", onClick);
    addEventListener("scroll", close, true);
    addEventListener("hashchange", close);
    return () => {
      removeEventListener("keydown", onKey, true);
      removeEventListener("click", onClick);
      removeEventListener("scroll", close, true);
      removeEventListener("hashchange", close);
    };
  }, [shown]);
  const text = shown && explanation(shown.name);
  if (!shown || text === undefined) return null;
  return (
    <div class="term-box" role="dialog" aria-label={shown.name} ref={box}>
      <strong>{shown.name.replace(/^.*: /, "")}</strong>: <Text of={text} />
    </div>
  );
}
