// Pictures as files, and tables for a spreadsheet.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { colour } from "./canvas";
import { said } from "./state";
import { SvgContext } from "./svg";

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

function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Draws a picture into a room of so many pixels. */
export type Draw = (context: CanvasRenderingContext2D, width: number, height: number) => void;

/** Saves a picture as it stands on the screen: as SVG for papers, or as PNG with twice its pixels. */
export function savePicture(name: string, kind: "svg" | "png", draw: Draw, width: number, height: number): void {
  if (kind === "svg") {
    const context = new SvgContext(width, height, colour("--panel"));
    draw(context as unknown as CanvasRenderingContext2D, width, height);
    download(`${name}.svg`, new Blob([context.text()], { type: "image/svg+xml" }));
    return;
  }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(2, 2);
  context.fillStyle = colour("--panel");
  context.fillRect(0, 0, width, height);
  draw(context, width, height);
  canvas.toBlob((blob) => blob && download(`${name}.png`, blob));
}

/** Saves what is on a canvas as PNG, on the colour of its panel. */
export function saveCanvas(name: string, from: HTMLCanvasElement): void {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [from.width, from.height];
  const context = canvas.getContext("2d");
  if (!context) return;
  context.fillStyle = colour("--panel");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(from, 0, 0);
  canvas.toBlob((blob) => blob && download(`${name}.png`, blob));
}
