// Rows of the table of call paths: the call tree itself, a flat list of functions, or a tree from functions up to their
// callers.

import { type CallModel, type Tree, treeOf } from "./model";
import type { CallPath } from "./types";

export type Arrangement = "tree" | "bottom" | "flat";

/** Rows, and the call paths that each stands for. */
export interface Rows {
  tree: Tree;
  /** What identifies a row in an address. */
  keys: string[];
  names: string[];
  /** Call paths of a row, none of them below another one of the row. */
  paths: number[][];
  /** Adds exclusive or inclusive values of call paths up to those of rows. */
  sum: (values: Float64Array, inclusive: boolean) => Float64Array;
}

export function rowsOf(calls: CallModel, arrangement: Arrangement): Rows {
  if (arrangement === "tree") {
    return {
      tree: calls.tree,
      keys: calls.list.map((it) => it.key),
      names: calls.list.map((it) => it.name),
      paths: calls.list.map((_, at) => [at]),
      sum: (values) => values,
    };
  }
  const rows: { name: string; key: string; parent: number | null; own: number[]; outer: number[] }[] = [];
  const known = new Map<string, number>();
  const rowOf = (parent: number | null, name: string): number => {
    const key = parent === null ? name : `${rows[parent]?.key}\n${name}`;
    let at = known.get(key);
    if (at === undefined) {
      at = rows.length;
      known.set(key, at);
      rows.push({ name, key, parent, own: [], outer: [] });
    }
    return at;
  };
  calls.list.forEach((call, path) => {
    // Of recursive calls only the outermost counts with all that is below it.
    let isOuter = true;
    for (let at = calls.tree.parent(path); at >= 0 && isOuter; at = calls.tree.parent(at)) {
      isOuter = calls.list[at]?.name !== call.name;
    }
    const add = (row: number) => {
      rows[row]?.own.push(path);
      if (isOuter) rows[row]?.outer.push(path);
    };
    let row = rowOf(null, call.name);
    add(row);
    if (arrangement === "flat") return;
    for (let at = calls.tree.parent(path); at >= 0; at = calls.tree.parent(at)) {
      row = rowOf(row, calls.list[at]?.name ?? "?");
      add(row);
    }
  });
  return {
    tree: treeOf(rows.map((row) => row.parent)),
    keys: rows.map((row) => row.key),
    names: rows.map((row) => row.name),
    paths: rows.map((row) => row.outer),
    sum: (values, inclusive) =>
      Float64Array.from(rows, (row) => (inclusive ? row.outer : row.own).reduce((sum, path) => sum + (values[path] ?? 0), 0)),
  };
}

/** The one call site of a row; nothing if it has several. */
export function siteOf(rows: Rows, calls: CallModel, row: number): CallPath | undefined {
  const list = rows.paths[row] ?? [];
  const first = calls.list[list[0] ?? -1];
  return list.every((it) => calls.list[it]?.file === first?.file && calls.list[it]?.line === first?.line) ? first : undefined;
}

/** Values of each source line of a file: calls in the line with all that they do. */
export function byLine(calls: CallModel, run: 0 | 1, file: string, values: Float64Array): Map<number, number> {
  const at = (item: number) => (run === 0 ? calls.list[item] : calls.other[item]);
  const sums = new Map<number, number>();
  calls.list.forEach((_, item) => {
    const call = calls.of[item]?.[run] === undefined ? undefined : at(item);
    if (!call?.line || call.file !== file) return;
    for (let above = calls.tree.parent(item); above >= 0; above = calls.tree.parent(above)) {
      if (at(above)?.file === file && at(above)?.line === call.line) return;
    }
    sums.set(call.line, (sums.get(call.line) ?? 0) + (values[item] ?? 0));
  });
  return sums;
}
