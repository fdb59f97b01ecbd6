// Holds web/src/format.ts against the table of texts that the terminal writes (tests/data/units.tsv).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { runnerImport } from "vite";

/** A number as the table has it. */
function parsed(text) {
  return text === "inf" ? Infinity : Number(text);
}

export async function textsOfTheTerminal() {
  const { module: format } = await runnerImport(new URL("../src/format.ts", import.meta.url).pathname);
  const [head, ...rows] = readFileSync(new URL("../../tests/data/units.tsv", import.meta.url), "utf8").trimEnd().split("\n");
  assert.equal(head, "function\targuments\ttext");
  const other = rows.flatMap((row) => {
    const [name, list, text] = row.split("\t");
    const made = format[name](...list.split(" ").map(parsed));
    return made === text ? [] : [`${name}(${list}) is ${made}, in the terminal ${text}`];
  });
  assert.deepEqual(other, []);
  return rows.length;
}
