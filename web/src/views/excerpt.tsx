// Some lines of source, with marks.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { highlighted, languageOf } from "../highlight";

export interface Shown {
  title: string;
  file: string;
  lines: { number: number; text: string; mark: string | undefined }[];
  missing: string | undefined;
}

export function Excerpt({ title, file, lines, missing }: Shown): JSX.Element {
  const tokens = useMemo(() => highlighted(lines.map((it) => it.text), languageOf(file)), [lines.map((it) => it.text).join("\n"), file]);
  return (
    <figure class="excerpt">
      <figcaption>{title}</figcaption>
      {lines.length > 0 ? (
        <ol class="code" start={lines[0]?.number} tabIndex={0} aria-label={`Source: ${title}`}>
          {lines.map(({ number, text, mark }, at) => (
            <li key={number} class={mark === undefined ? "" : "here"}>
              <span class="line-number" aria-hidden="true">{number}</span>
              <code>{text === "" ? " " : tokens[at]?.map((it, n) => (it.kind === "plain" ? it.text : <span key={n} class={`token-${it.kind}`}>{it.text}</span>))}</code>
              {mark && <span class="code-mark" title={mark}>{mark}</span>}
            </li>
          ))}
        </ol>
      ) : missing && <p class="dim">No source: {missing}.</p>}
    </figure>
  );
}
