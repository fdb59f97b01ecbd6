// Where locations stand in a picture of all of them: as a topology of the report says, or one behind the other.

import type { Topology } from "./types";

export interface Grid {
  width: number;
  height: number;
  /** Places along the first dimension, which is drawn downwards, and along the second. */
  down: number;
  across: number;
  /** The location at a place; -1 if there is none. Where threads of a process share a place it is the first of them. */
  at: (x: number, y: number) => number;
  place: (location: number) => [number, number];
  /** Coordinates of a location in the topology. */
  coordinates: (location: number) => number[];
  /** The sums of the values at each place, at the location that stands for it. */
  together: (values: Float64Array) => Float64Array;
}

export function gridOf(count: number, topology: Topology | undefined): Grid {
  return topology && topology.sizes.length > 0 ? ofTopology(count, topology) : inRows(count);
}

/** The first dimension goes down and the second across, as MPI numbers rows and columns. One alone goes across. Slabs of
    further dimensions stand side by side, with a gap. */
function ofTopology(count: number, { sizes, coordinates }: Topology): Grid {
  const wide = sizes.length;
  const [down, across] = wide === 1 ? [1, sizes[0] ?? 1] : [sizes[0] ?? 1, sizes[1] ?? 1];
  const slabs = sizes.slice(2).reduce((a, b) => a * b, 1);
  const beside = Math.ceil(Math.sqrt(slabs));
  const gap = slabs > 1 ? 1 : 0;
  const of = (location: number): number[] => coordinates.slice(location * wide, (location + 1) * wide);
  const where = new Map<number, number>();
  const places: [number, number][] = [];
  const stands = new Int32Array(count);
  for (let location = 0; location < count; location++) {
    const at = of(location);
    stands[location] = location;
    if (at.length === 0 || at.some((it) => it < 0)) {
      places.push([-1, -1]);
      continue;
    }
    let slab = 0;
    for (let d = wide - 1; d >= 2; d--) slab = slab * (sizes[d] ?? 1) + (at[d] ?? 0);
    const [row, column] = wide === 1 ? [0, at[0] ?? 0] : [at[0] ?? 0, at[1] ?? 0];
    const x = column + (slab % beside) * (across + gap);
    const y = row + Math.floor(slab / beside) * (down + gap);
    places.push([x, y]);
    const key = y * 1e6 + x;
    const first = where.get(key);
    if (first === undefined) where.set(key, location);
    else stands[location] = first;
  }
  return {
    width: beside * (across + gap) - gap,
    height: Math.ceil(slabs / beside) * (down + gap) - gap,
    down,
    across,
    at: (x, y) => where.get(y * 1e6 + x) ?? -1,
    place: (location) => places[location] ?? [-1, -1],
    coordinates: of,
    together: (values) => {
      if (stands.every((first, location) => first === location)) return values;
      const sums = new Float64Array(values.length);
      values.forEach((value, location) => (sums[stands[location] ?? location] = (sums[stands[location] ?? location] ?? 0) + value));
      return sums;
    },
  };
}

function inRows(count: number): Grid {
  // A few stand side by side.
  // Of more, rows of a round number: places can be told by heart.
  const width = count <= 8 ? Math.max(1, count) : 2 ** Math.round(Math.log2(Math.sqrt(count * 1.6)));
  const height = Math.ceil(count / width);
  return {
    width,
    height,
    down: height,
    across: width,
    at: (x, y) => (x < 0 || x >= width || y < 0 || y * width + x >= count ? -1 : y * width + x),
    place: (location) => [location % width, Math.floor(location / width)],
    coordinates: (location) => [location],
    together: (values) => values,
  };
}
