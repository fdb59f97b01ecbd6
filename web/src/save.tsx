// Pictures as files, and tables for a spreadsheet.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { said } from "./state";

/** Copies a text. Pages that came over a network without encryption have no clipboard, but can copy what is selected. */
async function toClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = document.createElement("textarea");
  box.value = text;
  document.body.append(box);
  box.select();
  const copied = document.execCommand("copy");
  box.remove();
  if (!copied) throw new Error("not copied");
}

/** Copies a table as text with tabs, as spreadsheets take it. */
export function CopyTable({ rows }: { rows: () => string[][] }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = () => {
    const text = rows().map((row) => row.map((cell) => cell.replace(/[\t\n]/g, " ")).join("\t")).join("\n");
    toClipboard(text).then(
      () => {
        setDone(true);
        said.value = "The table is copied.";
        setTimeout(() => setDone(false), 1500);
      },
      () => (said.value = "The browser does not allow copying."),
    );
  };
  return <button type="button" class="small" onClick={copy}>{done ? "Copied" : "Copy table"}</button>;
}
