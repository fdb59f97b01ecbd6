// Source is coloured by web/src/highlight.ts, which must not change it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { runnerImport } from "vite";

/** Texts of a kind in a line. */
function of_kind(tokens, kind) {
  return tokens.filter((it) => it.kind === kind).map((it) => it.text);
}

/** Holds every program of the tests against its tokens, and returns the number of their lines. */
export async function tokensOfPrograms() {
  const { module } = await runnerImport(new URL("../src/highlight.ts", import.meta.url).pathname);
  const { highlighted, languageOf } = module;
  const one = (text, file) => highlighted(text.split("\n"), languageOf(file));
  const c = one('  for (int i = 0x1F; i < 2.5e-3f; i++) puts("a /* \\" b"); /* one\n two */ return x1; // int', "a.c");
  assert.deepEqual(of_kind(c[0], "keyword"), ["for", "int"]);
  assert.deepEqual(of_kind(c[0], "number"), ["0x1F", "2.5e-3f"]);
  assert.deepEqual(of_kind(c[0], "text"), ['"a /* \\" b"']);
  assert.deepEqual(of_kind(c[0], "comment"), ["/* one"]);
  assert.deepEqual(of_kind(c[1], "comment"), [" two */", "// int"]);
  assert.deepEqual(of_kind(c[1], "keyword"), ["return"]);
  assert.deepEqual(one("#include <stdio.h>", "a.h")[0].map((it) => it.kind), ["directive", "text"]);
  // A part of a file that begins inside of a comment.
  assert.deepEqual(one("until here */ int a;", "a.cc")[0][0], { kind: "comment", text: "until here */" });
  const fortran = one("  IF (a .and. b == 1.5d0) write(*,*) 'it''s ! no' ! int", "a.F90");
  assert.deepEqual(of_kind(fortran[0], "keyword"), ["IF", ".and.", "write"]);
  assert.deepEqual(of_kind(fortran[0], "number"), ["1.5d0"]);
  assert.deepEqual(of_kind(fortran[0], "text"), ["'it''s ! no'"]);
  assert.deepEqual(of_kind(fortran[0], "comment"), ["! int"]);
  assert.deepEqual(one("c call this a comment\n      call x", "a.f").map((it) => it[0].kind), ["comment", "plain"]);
  assert.deepEqual(one("call x", "a.f90")[0][0], { kind: "keyword", text: "call" });
  assert.deepEqual(one("int a;", "a.py")[0], [{ kind: "plain", text: "int a;" }]);
  let count = 0;
  const programs = new URL("../../tests/programs/", import.meta.url);
  for (const name of readdirSync(programs).filter((it) => languageOf(it))) {
    const lines = readFileSync(new URL(name, programs), "utf8").split("\n");
    const tokens = highlighted(lines, languageOf(name));
    assert.deepEqual(tokens.map((it) => it.map((token) => token.text).join("")), lines, name);
    count += lines.length;
  }
  return count;
}
