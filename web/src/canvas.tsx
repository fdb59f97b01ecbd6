// A picture on a canvas: sharp on every screen, with a cursor that keys can move, and with what is under a
// point known to the mouse, to those who cannot see it, and to tests.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { savePicture } from "./save";
import { painted, said } from "./state";
import { Tip } from "./tip";

/** What is under a point. */
export interface Hit {
  /** What it says to a person. */
  text: string;
  /** Where the cursor stands. */
  x: number;
  y: number;
  [more: string]: unknown;
}

export type Find = (x: number, y: number) => Hit | undefined;

const finders = new Map<HTMLCanvasElement, Find>();

/** Makes what is under the points of a canvas known, until the result is called. */
export function findable(canvas: HTMLCanvasElement, find: Find): () => void {
  finders.set(canvas, find);
  return () => void finders.delete(canvas);
}

/** What is under a point of the window. */
export function hit(x: number, y: number): Hit | undefined {
  for (const [canvas, find] of finders) {
    const box = canvas.getBoundingClientRect();
    if (x >= box.left && x < box.right && y >= box.top && y < box.bottom) {
      return find(x - box.left, y - box.top);
    }
  }
  return undefined;
}

export interface PictureProps {
  label: string;
  /** Draws into a room of so many pixels. */
  draw: (context: CanvasRenderingContext2D, width: number, height: number) => void;
  find: Find;
  /** Moves the cursor by so many cells from what it is on. */
  step: (from: Hit | undefined, dx: number, dy: number) => Hit | undefined;
  onPick?: (hit: Hit) => void;
  onArea?: (from: Hit, to: Hit) => void;
  onClear?: () => void;
  /** What a file with the picture is called. */
  file?: string;
  /** Drawn again when one of these changes. */
  depends: unknown[];
  children?: ComponentChildren;
}

export function Picture(props: PictureProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [cursor, setCursor] = useState<{ hit: Hit; mouse: boolean } | undefined>();
  const [area, setArea] = useState<{ from: Hit; to: Hit } | undefined>();

  useLayoutEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    finders.set(element, props.find);
    return () => void finders.delete(element);
  }, [props.find]);
  const paint = painted.value;
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || size.width === 0) return;
    const ratio = devicePixelRatio || 1;
    element.width = Math.round(size.width * ratio);
    element.height = Math.round(size.height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    props.draw(context, size.width, size.height);
  }, [size, paint, ...props.depends]);
  useEffect(() => setCursor(undefined), props.depends);

  const under = (event: MouseEvent): Hit | undefined => {
    const box = canvas.current?.getBoundingClientRect();
    return box ? props.find(event.clientX - box.left, event.clientY - box.top) : undefined;
  };
  const moved = (event: MouseEvent) => {
    const found = under(event);
    setCursor(found && { hit: found, mouse: true });
    if (area && found) setArea({ ...area, to: found });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 10 : 1;
    const by: Record<string, [number, number]> = {
      ArrowLeft: [-far, 0],
      ArrowRight: [far, 0],
      ArrowUp: [0, -far],
      ArrowDown: [0, far],
    };
    const step = by[event.code];
    if (step) {
      const next = props.step(cursor?.hit, step[0], step[1]);
      if (next) {
        setCursor({ hit: next, mouse: false });
        said.value = next.text;
      }
    } else if (event.code === "Enter" && cursor) {
      props.onPick?.(cursor.hit);
    } else if ((event.code === "Escape" || event.code === "KeyF") && props.onClear) {
      props.onClear();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const tip = cursor?.hit;
  return (
    <div class="picture">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`${props.label}. Arrows move, Enter selects.`}
        onMouseMove={moved}
        onMouseLeave={() => {
          setCursor(undefined);
          setArea(undefined);
        }}
        onMouseDown={(event) => {
          const found = under(event);
          if (found && props.onArea && event.button === 0) setArea({ from: found, to: found });
        }}
        onMouseUp={(event) => {
          const found = under(event);
          if (area && found && (found.x !== area.from.x || found.y !== area.from.y)) {
            props.onArea?.(area.from, found);
          } else if (found) {
            props.onPick?.(found);
          }
          setArea(undefined);
        }}
        onKeyDown={onKeyDown}
        onFocus={() => {
          if (!cursor) {
            const first = props.step(undefined, 0, 0);
            if (first && canvas.current?.matches(":focus-visible")) setCursor({ hit: first, mouse: false });
          }
        }}
        onBlur={() => setCursor(undefined)}
      />
      {tip && (
        <Tip x={tip.x} y={tip.y} text={tip.text} room={size} />
      )}
      {area && (
        <div class="area" aria-hidden="true" style={{
          left: `${Math.min(area.from.x, area.to.x)}px`,
          top: `${Math.min(area.from.y, area.to.y)}px`,
          width: `${Math.abs(area.to.x - area.from.x)}px`,
          height: `${Math.abs(area.to.y - area.from.y)}px`,
        }} />
      )}
      {props.file && (
        <span class="save">
          {(["svg", "png"] as const).map((kind) => (
            <button key={kind} type="button" class="small" title={`Save the picture as ${kind.toUpperCase()}`}
              onClick={() => savePicture(props.file as string, kind, props.draw, size.width, size.height)}>{kind.toUpperCase()}</button>
          ))}
        </span>
      )}
      {props.children}
    </div>
  );
}

/** A colour of the page. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
