// The key of a colour scale: what its ends mean, in numbers.

import type { JSX } from "preact";
import { amountColour, differenceColour } from "./colours";
import { painted } from "./state";

/** Number of colours that a key shows. */
const SHOWN = 9;

export function ScaleKey({ low, high, diverging }: { low: string; high: string; diverging?: boolean }): JSX.Element {
  // Drawn anew with the theme.
  painted.value;
  const colours = Array.from({ length: SHOWN }, (_, at) => at / (SHOWN - 1))
    .map((part) => (diverging ? differenceColour(2 * part - 1) : amountColour(part)));
  return (
    <span class="scale-key" aria-label={`Colours from ${low} to ${high}`} role="img">
      <span class="num">{low}</span>
      <span class="ramp" style={{ backgroundImage: `linear-gradient(90deg, ${colours.join(", ")})` }} />
      <span class="num">{high}</span>
    </span>
  );
}
