// Parts of a view whose sizes people can change: by dragging the line between two of them, or by its arrow keys.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

/** Least size of a part, as a share of all. */
const LEAST = 0.08;

function remembered(name: string, sizes: number[]): number[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(`dwell-parts-${name}`) ?? "");
    return Array.isArray(list) && list.length === sizes.length && list.every((it) => typeof it === "number" && it > 0) ? (list as number[]) : sizes;
  } catch {
    return sizes;
  }
}

/** Style of the grid that holds the parts, and the lines between them. */
export interface Parts {
  style: Record<string, string>;
  line: (after: number) => JSX.Element;
}

export function useParts(name: string, defaults: number[], down: boolean, labels: string[]): Parts {
  const key = `${name}-${down ? "down" : "across"}`;
  const first = useMemo(() => remembered(key, defaults), [key]);
  const [changed, setChanged] = useState<Record<string, number[]>>({});
  const sizes = changed[key] ?? first;
  const whole = sizes.reduce((sum, it) => sum + it, 0);
  const move = (after: number, by: number) => {
    const least = LEAST * whole;
    const [one, two] = [sizes[after] as number, sizes[after + 1] as number];
    const to = Math.min(Math.max(one + by * whole, least), one + two - least);
    const next = sizes.map((it, at) => (at === after ? to : at === after + 1 ? one + two - to : it));
    setChanged((before) => ({ ...before, [key]: next }));
    try {
      localStorage.setItem(`dwell-parts-${key}`, JSON.stringify(next));
    } catch {
      // Without storage it lasts as long as the view.
    }
  };
  const line = (after: number) => (
    <div
      class={`splitter${down ? " down" : ""}`}
      role="separator"
      tabIndex={0}
      aria-orientation={down ? "horizontal" : "vertical"}
      aria-label={`Between ${labels[after]} and ${labels[after + 1]}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round((100 * sizes.slice(0, after + 1).reduce((sum, it) => sum + it, 0)) / whole)}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
        const box = event.currentTarget.parentElement?.getBoundingClientRect();
        const line = event.currentTarget.getBoundingClientRect();
        if (!box) return;
        move(after, down ? (event.clientY - line.top - line.height / 2) / box.height : (event.clientX - line.left - line.width / 2) / box.width);
      }}
      onDblClick={() => setChanged((before) => ({ ...before, [key]: defaults }))}
      onKeyDown={(event) => {
        const by = event.code === (down ? "ArrowUp" : "ArrowLeft") ? -0.03 : event.code === (down ? "ArrowDown" : "ArrowRight") ? 0.03 : 0;
        if (by === 0) return;
        move(after, by);
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
  const template = sizes.map((it) => `minmax(0, ${it}fr)`).join(" 8px ");
  return {
    style: down ? { gridTemplateRows: template, gridTemplateColumns: "minmax(0, 1fr)" } : { gridTemplateColumns: template, gridTemplateRows: "minmax(0, 1fr)" },
    line,
  };
}

/** Whether the window is at least so wide. */
export function useWide(pixels: number): boolean {
  const query = useMemo(() => matchMedia(`(min-width: ${pixels}px)`), [pixels]);
  const [, setCount] = useState(0);
  useEffect(() => {
    const changed = () => setCount((count) => count + 1);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return query.matches;
}
