// Pictures as files, and tables for a spreadsheet.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { colour } from "./canvas";
import { isDark, said } from "./state";
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

/** Copies the address of what is shown, which holds no key. */
export function CopyLink(): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = () =>
    toClipboard(location.href).then(
      () => {
        setDone(true);
        said.value = "The link is copied.";
        setTimeout(() => setDone(false), 1500);
      },
      () => (said.value = "The browser does not allow copying."),
    );
  return (
    <button type="button" class="small" onClick={() => void copy()} title="Copy the address of what is shown. It opens in every tab that has a key">
      {done ? "Copied" : "Copy link"}
    </button>
  );
}

/** Saves what a view shows as PNG: what is not on a canvas too. */
export async function saveView(name: string, view: HTMLElement): Promise<void> {
  const width = view.clientWidth;
  const height = view.scrollHeight;
  const copy = view.cloneNode(true) as HTMLElement;
  const canvases = [...view.querySelectorAll("canvas")];
  copy.querySelectorAll("canvas").forEach((it, at) => {
    const [image, from] = [document.createElement("img"), canvases[at] as HTMLCanvasElement];
    image.src = from.toDataURL();
    image.style.cssText = `width: ${from.clientWidth}px; height: ${from.clientHeight}px; display: block`;
    it.replaceWith(image);
  });
  copy.style.cssText = `width: ${width}px; height: ${height}px; box-sizing: border-box`;
  // A copy has no state: what was chosen, and how far it was scrolled.
  const both = (what: string) => [...view.querySelectorAll<HTMLElement>(what)].map((it, at): [HTMLElement, HTMLElement] => [it, copy.querySelectorAll<HTMLElement>(what)[at] as HTMLElement]);
  for (const [from, to] of both("input")) to.toggleAttribute("checked", (from as HTMLInputElement).checked);
  for (const [from, to] of both("select")) [...(to as HTMLSelectElement).options].forEach((it, at) => it.toggleAttribute("selected", at === (from as HTMLSelectElement).selectedIndex));
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join("\n");
  const style = document.createElement("style");
  style.textContent = rules.replaceAll(":root", ".picture-root").replace(/(^|[\s,}])(html|body)(?=[\s,{[])/g, "$1.picture-root");
  const root = document.createElement("div");
  root.className = "picture-root";
  root.dataset["theme"] = isDark() ? "dark" : "light";
  root.style.cssText = `width: ${width}px; height: ${height}px; overflow: hidden`;
  root.append(style, copy);
  const text = new XMLSerializer().serializeToString(root);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${text}</foreignObject></svg>`;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(2, 2);
  context.fillStyle = colour("--page");
  context.fillRect(0, 0, width, height);
  context.drawImage(image, 0, 0, width, height);
  canvas.toBlob((blob) => blob && download(`${name}.png`, blob));
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
