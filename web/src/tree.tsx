// A tree of any length: only the rows on the screen exist. Arrows, Home, End, Page keys and letters work as in
// any tree.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Tree, visible } from "./model";

export interface TreeProps {
  label: string;
  tree: Tree;
  selected: number | undefined;
  open: ReadonlySet<number> | "all";
  /** What stands in a row. */
  row: (item: number, depth: number, isOpen: boolean) => ComponentChildren;
  /** What a row is called, for those who cannot see it and for typing letters. */
  name: (item: number) => string;
  onSelect: (item: number) => void;
  onToggle: (item: number, open: boolean) => void;
  /** Unfolds all, or folds it. */
  onAll?: () => void;
  /** Told which rows are on the screen. */
  onShown?: (items: Int32Array) => void;
  order?: (items: number[]) => number[];
  /** Rows that are marked beside the selected one, and what happens when Ctrl or Shift marks more. */
  marked?: ReadonlySet<number>;
  onMark?: (items: number[], toggle: boolean) => void;
  /** Height of the row above the rows. */
  headHeight?: number;
  /** Rows are of a table. */
  grid?: boolean;
  /** Row above the rows. */
  head?: ComponentChildren;
  rowHeight?: number;
}

export function TreeView(props: TreeProps): JSX.Element {
  const height = props.rowHeight ?? 24;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  const rows = useMemo(
    () => visible(props.tree, props.open, props.order),
    [props.tree, props.open, props.order],
  );
  const typed = useRef({ text: "", at: 0 });
  const [cursor, setCursor] = useState(-1);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setRoom(element.clientHeight);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(top / height) - 4);
  const last = Math.min(rows.items.length, Math.ceil((top + room) / height) + 4);
  const shown = rows.items.subarray(first, last);
  useEffect(() => props.onShown?.(shown), [rows, first, last]);

  const at = (item: number | undefined) => (item === undefined ? -1 : rows.items.indexOf(item));
  const reveal = (index: number) => {
    const element = box.current;
    if (!element || index < 0) return;
    const from = index * height;
    const head = props.head ? (props.headHeight ?? height) : 0;
    if (from < element.scrollTop) element.scrollTop = from;
    else if (from + height + head > element.scrollTop + element.clientHeight) {
      element.scrollTop = from + height + head - element.clientHeight;
    }
  };
  // What is selected from elsewhere comes into sight.
  useEffect(() => {
    const index = at(props.selected);
    setCursor(index);
    reveal(index);
  }, [props.selected, rows]);

  const active = cursor >= 0 && cursor < rows.items.length ? cursor : Math.max(at(props.selected), 0);
  const move = (index: number, select: boolean) => {
    const to = Math.min(Math.max(index, 0), rows.items.length - 1);
    setCursor(to);
    reveal(to);
    const item = rows.items[to];
    if (select && item !== undefined) props.onSelect(item);
  };
  const isOpen = (item: number) => props.open === "all" || props.open.has(item);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = rows.items[active];
    if (item === undefined) return;
    const folds = props.tree.count(item) > 0;
    const page = Math.max(1, Math.floor(room / height) - 2);
    switch (event.code) {
      case "ArrowDown":
      case "ArrowUp": {
        const to = Math.min(Math.max(active + (event.code === "ArrowDown" ? 1 : -1), 0), rows.items.length - 1);
        const next = rows.items[to];
        if (event.shiftKey && props.onMark && next !== undefined) {
          props.onMark([item, next], false);
          move(to, false);
        } else {
          move(to, true);
        }
        break;
      }
      case "PageDown": move(active + page, true); break;
      case "PageUp": move(active - page, true); break;
      case "Home": move(0, true); break;
      case "End": move(rows.items.length - 1, true); break;
      case "ArrowRight":
        if (folds && !isOpen(item)) props.onToggle(item, true);
        else if (folds) move(active + 1, true);
        break;
      case "ArrowLeft":
        if (folds && isOpen(item)) props.onToggle(item, false);
        else move(at(props.tree.parent(item)), true);
        break;
      case "Enter":
      case "Space":
        if (item === props.selected && folds) props.onToggle(item, !isOpen(item));
        else props.onSelect(item);
        break;
      default: {
        if (event.key === "*" && props.onAll) {
          props.onAll();
          break;
        }
        // Digits and signs are keys of the page.
        if (!/^[a-z_]$/i.test(event.key)) return;
        const now = Date.now();
        const text = (now - typed.current.at < 700 ? typed.current.text : "") + event.key.toLowerCase();
        typed.current = { text, at: now };
        for (let step = text.length > 1 ? 0 : 1; step <= rows.items.length; step++) {
          const index = (active + step) % rows.items.length;
          if (props.name(rows.items[index] as number).toLowerCase().startsWith(text)) {
            move(index, true);
            break;
          }
        }
        // Letters move here; they are not shortcuts of the page.
        event.stopPropagation();
        return;
      }
    }
    event.preventDefault();
    event.stopPropagation();
  };

  const id = (item: number) => `${props.label.replace(/\W+/g, "-")}-${item}`;
  const activeItem = rows.items[active];
  return (
    <div
      ref={box}
      class={props.grid ? "tree grid" : "tree"}
      role={props.grid ? "treegrid" : "tree"}
      aria-label={props.label}
      aria-rowcount={props.grid ? rows.items.length : undefined}
      aria-multiselectable={props.onMark ? true : undefined}
      aria-activedescendant={activeItem === undefined ? undefined : id(activeItem)}
      tabIndex={0}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      {props.head}
      <div class="tree-space" role="presentation" style={{ height: `${rows.items.length * height}px` }}>
        {Array.from(shown, (item, offset) => {
          const index = first + offset;
          const depth = rows.depths[index] ?? 0;
          const folds = props.tree.count(item) > 0;
          const opened = folds && isOpen(item);
          return (
            <div
              key={item}
              id={id(item)}
              role={props.grid ? "row" : "treeitem"}
              aria-level={depth + 1}
              aria-expanded={folds ? opened : undefined}
              aria-selected={item === props.selected || props.marked?.has(item) === true}
              aria-label={props.grid ? undefined : props.name(item)}
              class={`tree-row${item === props.selected ? " selected" : ""}${props.marked?.has(item) ? " marked" : ""}${index === active ? " active" : ""}`}
              style={{ top: `${index * height}px`, height: `${height}px` }}
              onClick={(event) => {
                if (props.onMark && (event.ctrlKey || event.metaKey)) {
                  props.onMark([item], true);
                } else if (props.onMark && event.shiftKey) {
                  const [low, high] = [Math.min(active, index), Math.max(active, index)];
                  props.onMark(Array.from(rows.items.subarray(low, high + 1)), false);
                } else {
                  setCursor(index);
                  props.onSelect(item);
                }
              }}
              onDblClick={() => folds && props.onToggle(item, !opened)}
            >
              {props.row(item, depth, opened)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** The triangle before a name, and how far it is indented. */
export function Twisty(props: { depth: number; folds: boolean; open: boolean; toggle: () => void }): JSX.Element {
  return (
    <span class="twisty" style={{ marginLeft: `${props.depth * 14}px` }} aria-hidden="true"
      onClick={(event) => {
        if (!props.folds) return;
        event.stopPropagation();
        props.toggle();
      }}
      onDblClick={(event) => event.stopPropagation()}
    >
      {props.folds ? (props.open ? "▾" : "▸") : ""}
    </span>
  );
}
