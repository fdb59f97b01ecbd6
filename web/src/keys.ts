// Which keys belong to the page, and which to the control that has the focus.

let clicked: EventTarget | null = null;

// A list that was opened by a click keeps the focus, but whoever uses the mouse does not type in it.
addEventListener("pointerdown", (event) => (clicked = event.target), true);
addEventListener("focusin", (event) => {
  if (event.target !== clicked) clicked = null;
});

/** Whether a key is for the control that has the focus: a field for text, or a list that was reached by the keyboard. */
export function isForControl(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  const target = event.target as HTMLElement;
  if (target.matches("select")) return target !== clicked || /^(Arrow|Home|End|Page|Enter|Space|Tab)/.test(event.code);
  if (target.matches("input[type=checkbox], input[type=radio]")) return event.code === "Space";
  return target.matches("input, textarea");
}
