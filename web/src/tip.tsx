// What is said beside the cursor of a picture. It stays inside of the picture, however long it is.

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Distances from the cursor, and from the edge of the picture. */
const [BESIDE, BELOW, EDGE] = [14, 10, 4];

export function Tip({ x, y, text, room }: { x: number; y: number; text: string; room: { width: number; height: number } }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tip = box.current;
    if (!tip) return;
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    const place = (at: number, size: number, whole: number, far: number) => {
      const after = at + far;
      const wanted = after + size + EDGE <= whole ? after : at - far - size;
      return Math.max(EDGE, Math.min(wanted, whole - size - EDGE)) - at;
    };
    tip.style.left = `${place(x, width, room.width, BESIDE)}px`;
    tip.style.top = `${place(y, height, room.height, BELOW)}px`;
  }, [x, y, text, room.width, room.height]);
  return (
    <div class="cursor" style={{ left: `${x}px`, top: `${y}px` }} aria-hidden="true">
      <div class="tip" ref={box} style={{ maxWidth: `${Math.max(120, room.width - 2 * EDGE)}px` }}>
        {text.split("\n").map((line, at) => <div key={at}>{line}</div>)}
      </div>
    </div>
  );
}
