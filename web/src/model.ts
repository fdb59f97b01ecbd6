// The static parts of runs: metrics, call paths, the system tree; and two runs as one.

import type { CallPath, Calls, Compared, Metric, Metrics, SystemTree } from "./types";

/** A tree of numbered items. */
export interface Tree {
  roots: number;
  root(at: number): number;
  count(item: number): number;
  child(item: number, at: number): number;
  parent(item: number): number;
}

export function treeOf(parents: (number | null)[]): Tree {
  const roots: number[] = [];
  const children: number[][] = parents.map(() => []);
  parents.forEach((parent, item) => {
    if (parent === null) roots.push(item);
    else children[parent]?.push(item);
  });
  return {
    roots: roots.length,
    root: (at) => roots[at] as number,
    count: (item) => children[item]?.length ?? 0,
    child: (item, at) => children[item]?.[at] as number,
    parent: (item) => parents[item] ?? -1,
  };
}

/** Leaves out branches where nothing is. */
export function pruned(tree: Tree, keep: (item: number) => boolean): Tree {
  const kids = new Map<number, number[]>();
  const of_item = (item: number) => {
    let list = kids.get(item);
    if (!list) {
      list = Array.from({ length: tree.count(item) }, (_, at) => tree.child(item, at)).filter(keep);
      kids.set(item, list);
    }
    return list;
  };
  const roots = Array.from({ length: tree.roots }, (_, at) => tree.root(at)).filter(keep);
  return {
    ...tree,
    roots: roots.length,
    root: (at: number) => roots[at] as number,
    count: (item: number) => of_item(item).length,
    child: (item: number, at: number) => of_item(item)[at] as number,
  };
}

/** Rows of the system tree come level by level: the children of a row follow one another. */
export function systemTree(tree: SystemTree): Tree {
  const counts = new Uint32Array(tree.rows);
  const firsts = new Uint32Array(tree.rows);
  const parents = new Int32Array(tree.rows).fill(-1);
  let row = 0;
  let next = tree.roots;
  for (const [count, often] of tree.children) {
    for (let i = 0; i < often; i++, row++) {
      counts[row] = count;
      firsts[row] = next;
      if (count > 0) parents.fill(row, next, next + count);
      next += count;
    }
  }
  return {
    roots: tree.roots,
    root: (at) => at,
    count: (item) => counts[item] ?? 0,
    child: (item, at) => (firsts[item] ?? 0) + at,
    parent: (item) => parents[item] ?? -1,
  };
}

/** Metrics of one run, or of two matched by name. */
export interface MetricModel {
  list: Metric[];
  tree: Tree;
  /** Number in each run; nothing if it lacks it. */
  of: [number | undefined, number | undefined][];
  /** The same metric in the second run. */
  other: (Metric | undefined)[];
}

export function metricModel(a: Metrics, b?: Metrics): MetricModel {
  const list = [...a.metrics];
  const of: MetricModel["of"] = list.map((_, at) => [at, undefined]);
  const other: MetricModel["other"] = list.map(() => undefined);
  const parents = list.map((metric) => metric.parent);
  if (b) {
    const known = new Map(list.map((metric, at) => [metric.name, at]));
    b.metrics.forEach((metric, at) => {
      let here = known.get(metric.name);
      if (here === undefined) {
        here = list.length;
        known.set(metric.name, here);
        const above = metric.parent === null ? undefined : b.metrics[metric.parent];
        list.push({ ...metric, value: 0, own: 0 });
        of.push([undefined, undefined]);
        other.push(undefined);
        parents.push(above ? (known.get(above.name) ?? null) : null);
      }
      (of[here] as [number | undefined, number | undefined])[1] = at;
      other[here] = metric;
    });
  }
  return { list, tree: treeOf(parents), of, other };
}

/** Call paths of one run, or of two that the server has matched. */
export interface CallModel {
  list: CallPath[];
  tree: Tree;
  /** For each call path of each run, its number here. */
  from: [Int32Array, Int32Array];
  /** Whether only one run has it: 0 or 1. */
  only: (0 | 1 | undefined)[];
  /** Numbers in the first run, where there is one, and in the second. */
  of: [number | undefined, number | undefined][];
  /** The same call path in the second run. */
  other: (CallPath | undefined)[];
  byKey: Map<string, number>;
}

/** Keys of call paths that differ in their call sites only are told apart by their order. */
function ownKeys(calls: Calls): string[] {
  const known = new Set<string>();
  return calls.calls.map((call) => {
    let key = call.key;
    for (let n = 2; known.has(key); n++) key = `${call.key}.${n}`;
    known.add(key);
    return key;
  });
}

export function callModel(a: Calls, b?: Calls, compared?: Compared): CallModel {
  const keys = ownKeys(a);
  if (!b || !compared) {
    return {
      list: a.calls.map((call, at) => ({ ...call, key: keys[at] as string })),
      tree: treeOf(a.calls.map((call) => call.parent)),
      from: [Int32Array.from(a.calls.keys()), new Int32Array(0)],
      only: a.calls.map(() => undefined),
      of: a.calls.map((_, at) => [at, undefined]),
      other: a.calls.map(() => undefined),
      byKey: new Map(keys.map((key, at) => [key, at])),
    };
  }
  const model: CallModel = {
    list: [],
    tree: treeOf(compared.parent),
    from: [new Int32Array(a.calls.length).fill(-1), new Int32Array(b.calls.length).fill(-1)],
    only: [],
    of: [],
    other: [],
    byKey: new Map(),
  };
  const otherKeys = ownKeys(b);
  compared.parent.forEach((parent, here) => {
    const [mine, theirs] = [compared.first[here] ?? [], compared.second[here] ?? []];
    const [first, second] = [mine[0], theirs[0]];
    const one = first === undefined ? undefined : a.calls[first];
    const other = second === undefined ? undefined : b.calls[second];
    // A key of the first run stands for the same with one run; those of the second must not be taken for it.
    const key = first === undefined ? `other.${otherKeys[second as number]}` : (keys[first] as string);
    const call = { ...((one ?? other) as CallPath), key, parent };
    // The program may have another name.
    if (parent === null && one && other && one.name !== other.name) call.name = `${one.name} | ${other.name}`;
    model.list.push(call);
    model.other.push(other);
    model.of.push([first, second]);
    model.only.push(first === undefined ? 1 : second === undefined ? 0 : undefined);
    for (const at of mine) {
      model.from[0][at] = here;
      model.byKey.set(keys[at] as string, here);
    }
    for (const at of theirs) model.from[1][at] = here;
    model.byKey.set(key, here);
  });
  return model;
}

/** The names of a call path, from the root on. */
export function pathOf(model: CallModel, item: number): string {
  const names: string[] = [];
  for (let at = item; at >= 0; at = model.tree.parent(at)) names.unshift(model.list[at]?.name ?? "?");
  return names.join(" / ");
}

/** Every item of a tree that is shown: those whose ancestors are all open. */
export function visible(
  tree: Tree,
  open: ReadonlySet<number> | "all",
  order?: (items: number[]) => number[],
): { items: Int32Array; depths: Uint16Array } {
  let items = new Int32Array(256);
  let depths = new Uint16Array(256);
  let length = 0;
  // What is still to come, the next on top.
  const [next, levels]: [number[], number[]] = [[], []];
  const push = (count: number, of: (at: number) => number, depth: number) => {
    if (order) {
      const sorted = order(Array.from({ length: count }, (_, at) => of(at)));
      for (let at = count - 1; at >= 0; at--) next.push(sorted[at] as number);
    } else {
      for (let at = count - 1; at >= 0; at--) next.push(of(at));
    }
    for (let at = 0; at < count; at++) levels.push(depth);
  };
  push(tree.roots, tree.root, 0);
  while (next.length > 0) {
    const item = next.pop() as number;
    const depth = levels.pop() as number;
    if (length === items.length) {
      const more = new Int32Array(2 * length);
      more.set(items);
      items = more;
      const deeper = new Uint16Array(2 * length);
      deeper.set(depths);
      depths = deeper;
    }
    items[length] = item;
    depths[length++] = depth;
    const count = tree.count(item);
    if (count > 0 && (open === "all" || open.has(item))) push(count, (at) => tree.child(item, at), depth + 1);
  }
  return { items: items.subarray(0, length), depths: depths.subarray(0, length) };
}
