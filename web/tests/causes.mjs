// Cards of causes: what, where, when and what to do, for every kind of which an archive is at hand.

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import { asked, dwell, go, open, root, serve, settled, started } from "./setup.mjs";

/** Archives with kinds of causes that are among their first three. */
const ARCHIVES = {
  "armci-waits": ["missing progress", "serialised lock", "load imbalance"],
  "shmem-and-mpi": ["late signal"],
  "mpich-collectives": ["shared cores"],
  "coarrays-by-source": ["slow call"],
  "shmem-sm-gets": ["uneven exit"],
};

/** Recordings of tests/data/kinds: their kind, and the lines of kinds.c that a card of it shows. Shared cores have no line. */
const KINDS = {
  imbalance: ["load imbalance", [34, 36]],
  progress: ["missing progress", [45]],
  lock: ["serialised lock", [50, 52]],
  signal: ["late signal", [60, 66]],
  polling: ["polling", [73]],
  cores: ["shared cores", []],
  elements: ["element-wise transfers", [86]],
};

const analysedKinds = new Map();

/** A recording of tests/data/kinds with its source, analysed. */
export function kinds(name, source = "kinds.c") {
  if (!analysedKinds.has(name)) {
    const directory = join(root, `kinds-${name}`);
    cpSync(resolve("../tests/data/kinds", name), directory, { recursive: true });
    const folder = source === "kinds.c" ? "../tests/data/kinds" : "../tests/programs";
    cpSync(resolve(folder, source), join(directory, source));
    dwell("analyze", directory);
    analysedKinds.set(name, directory);
  }
  return analysedKinds.get(name);
}

const card = (page, id) => page.locator("details.cause").filter({ has: page.locator(".finding-number", { hasText: new RegExp(`^${id}$`) }) }).first();
const part = (it, name) => it.getByRole("region", { name, exact: true });

/** Selects the worst wait of a card in the timeline, and goes back. */
async function selectsTheWait(page, it, finding) {
  await part(it, "When").getByRole("link", { name: "Show the worst in the timeline" }).click();
  // The index may still be made.
  await page.waitForFunction(() => /sel=\d/.test(location.hash));
  await settled(page);
  const state = new URLSearchParams(new URL(page.url()).hash.slice(1));
  assert.equal(state.get("view"), "timeline");
  assert.match(state.get("sel"), /^\d+@\d+$/);
  const pins = state.get("pin").split(".");
  assert.equal(pins[0], state.get("sel").split("@")[0]);
  const side = await page.locator(".timeline-side").innerText();
  assert.match(side, /waits in/);
  assert.ok(side.includes(finding.worst.who), side);
  if (finding.worst.on_whom) assert.ok(side.includes(finding.worst.on_whom), side);
  await page.goBack();
  await settled(page);
}

export const causes = {
  async "cards of causes answer what, where, when and what to do"(browser, { sample }) {
    for (const [name, kinds] of Object.entries(ARCHIVES).slice(0, sample ? 2 : undefined)) {
      const directory = join(root, name);
      cpSync(resolve("../tests/data/archives", name), directory, { recursive: true });
      const { page, context, problems } = await open(browser, (await serve(directory)).address, { width: 1440, theme: sample ? "light" : "dark" });
      await settled(page);
      const { causes, findings, plays } = await asked(page, "runs/0/overview");
      assert.ok(plays);
      for (const kind of kinds) {
        const cause = causes.find((it) => it.point.kind === kind);
        assert.ok(cause, `${name} has ${kind}`);
        const it = card(page, cause.id);
        if (!(await it.evaluate((box) => box.open))) await it.locator("summary").first().click();
        await settled(page);
        const head = await it.locator("summary").first().innerText();
        assert.ok(head.toLowerCase().includes(`${kind}:`) && head.includes(cause.point.what), head);
        if (cause.call !== null) assert.ok((await part(it, "What").locator(".by-process li, .by-columns g").count()) > 1, `${name} ${kind}: a bar per process`);
        // The archives have no source beside them: the card says so, and names the calls.
        for (const step of cause.point.places) assert.ok((await part(it, "Where").innerText()).includes(step.region), `${name} ${kind}: ${step.region}`);
        assert.ok((await part(it, "What to do").innerText()).includes(cause.point.change), kind);
        await part(it, "What to do").getByRole("button", { name: `Play the run without ${cause.id}` }).click();
        await settled(page);
        assert.match(await part(it, "What to do").getByRole("status").innerText(), /predicted/);
        const finding = cause.seen && findings[cause.seen.finding];
        if (finding?.worst?.on_whom) await selectsTheWait(page, it, finding);
      }
      assert.deepEqual(problems, [], name);
      await context.close();
    }
  },

  async "three clicks lead from the first screen to the line, for every kind of cause"(browser, { sample }) {
    for (const theme of sample ? ["dark"] : ["light", "dark"]) {
      for (const [name, [kind, lines]] of Object.entries(KINDS)) {
        const { page, context, problems } = await open(browser, (await serve(kinds(name))).address, { width: 1440, theme });
        await settled(page);
        let clicks = 0;
        const click = async (what) => {
          await what.click();
          clicks += 1;
          await settled(page);
        };
        const it = page.locator("details.cause").filter({ has: page.locator("summary strong", { hasText: new RegExp(`^${kind}:$`, "i") }) }).first();
        if (!(await it.evaluate((box) => box.open))) await click(it.locator("summary").first());
        if (lines.length > 0) {
          // The lines stand in the card.
          const shown = await part(it, "Where").locator(".here .line-number").allInnerTexts();
          assert.deepEqual([...new Set(shown.map(Number))].sort(), [...new Set(lines)].sort(), `${name}: lines of the card`);
          await click(it.getByRole("link", { name: "Call path and source" }));
          const line = Number(await page.locator(".source .code .here .line-number").innerText());
          assert.ok(lines.includes(line), `${name}: ${line} and not ${lines}`);
          // Digits change the view after any click.
          await page.keyboard.press("1");
          await settled(page);
          assert.match(page.url(), /view=findings/);
        }
        assert.ok(clicks <= 3, `${name}: ${clicks} clicks`);
        assert.deepEqual(problems, [], name);
        await context.close();
      }
    }
  },

  async "samples show the functions of a cause and of the run with their lines"(browser, { sample }) {
    for (const theme of sample ? ["light"] : ["light", "dark"]) {
      const directory = kinds("sampled", "samples.c");
      const { page, context, problems } = await open(browser, (await serve(directory)).address, { width: 1440, theme });
      await settled(page);
      const { causes, functions } = await asked(page, "runs/0/overview");
      assert.equal(functions.list[0].function, "relax");
      const it = card(page, causes[0].id);
      if (!(await it.evaluate((box) => box.open))) await it.locator("summary").first().click();
      await settled(page);
      assert.match(await part(it, "Where").locator(".functions tbody tr").first().innerText(), /relax\s+samples.c:35/);
      assert.match(await part(it, "Where").locator(".code .here").first().innerText(), /RELAX/);
      const all = page.getByRole("region", { name: "Where the program computes", exact: true });
      const rows = all.locator("tbody tr");
      assert.equal(await rows.count(), functions.list.length);
      assert.match(await rows.first().innerText(), /relax.*samples.c:35.*Rank 1/s);
      await rows.nth(1).getByRole("button").click();
      await settled(page);
      assert.match(await all.locator(".code .here").innerText(), /250000L/);
      // In the middle of a wait for rank 1 the timeline says what that computes.
      const { waits } = await asked(page, "runs/0/timeline/waits");
      const { location, from, to } = waits.find((it) => it.culprit === 1);
      await page.goto(`${page.url().split("#")[0]}#view=timeline&sel=${location}@${Math.floor((from + to) / 2)}`);
      await settled(page);
      assert.match(await page.locator(".details").innerText(), /Where Rank 1 computes\s+relax at samples.c:35\s+\d+ samples?/);
      assert.deepEqual(problems, [], theme);
      await context.close();
    }
  },

  async "when selects the wait, and the timeline of what is no wait shows its calls"(browser) {
    for (const name of ["signal", "lock", "elements"]) {
      const { page, context, problems } = await open(browser, (await serve(kinds(name))).address, { width: 1440 });
      await settled(page);
      const { causes, findings } = await asked(page, "runs/0/overview");
      const cause = causes.find((it) => it.point.kind === KINDS[name][0]);
      if (cause) {
        const it = card(page, cause.id);
        if (!(await it.evaluate((box) => box.open))) await it.locator("summary").first().click();
        await settled(page);
        await selectsTheWait(page, it, findings[cause.seen.finding]);
      } else {
        await page.locator("details.cause").first().getByRole("link", { name: "When" }).click();
        await page.locator(".timeline canvas").waitFor();
        await settled(page);
        assert.match(page.url(), /only=/);
        assert.match(await page.locator(".timeline-side").innerText(), /shmem_double_iget/);
      }
      assert.deepEqual(problems, [], name);
      await context.close();
    }
  },

  async "the card of a recorded run has its source, and keys work after any click"(browser) {
    const directory = join(root, "tour");
    cpSync(resolve("../crates/dwell/demo"), directory, { recursive: true });
    cpSync(resolve("../examples/tour/tour.c"), join(directory, "tour.c"));
    const { page, context, problems } = await open(browser, (await serve(directory)).address, { width: 1440 });
    await settled(page);
    const it = card(page, "A");
    const where = part(it, "Where");
    assert.match(await where.locator(".here").nth(0).innerText(), /35[\s\S]*shmem_double_put[\s\S]*computing ends/);
    assert.match(await where.locator(".here").nth(1).innerText(), /41[\s\S]*shmem_long_wait_until[\s\S]*computing begins/);
    assert.match(await part(it, "What").locator("li.culprit").innerText(), /PE 2/);
    await part(it, "When").locator("svg path").waitFor();
    await it.getByRole("link", { name: "Call path and source" }).click();
    await settled(page);
    assert.match(await page.locator(".source .code .here").innerText(), /shmem_long_wait_until/);
    await go(page, { view: "timeline" });
    const keyed = async (key, view) => {
      await page.keyboard.press(key);
      await settled(page);
      assert.match(page.url(), new RegExp(`view=${view}`));
      await go(page, { view: "timeline" });
    };
    await page.getByLabel("Critical path").click();
    await keyed("1", "findings");
    const list = page.locator(".toolbar select").first();
    await list.click();
    await page.keyboard.press("Escape");
    await keyed("4", "matrix");
    // A list that was reached by the keyboard keeps its keys.
    await page.locator(".toolbar select").first().focus();
    await page.keyboard.press("4");
    await settled(page);
    assert.match(page.url(), /view=timeline/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "the demo opens the recording"(browser) {
    const { page, context, problems } = await open(browser, (await started(["demo", join(root, "demo"), "--no-browser"])).address);
    await settled(page);
    assert.match(await page.locator("details.cause").first().innerText(), /PE 2 computes/);
    assert.ok(dwell("ls", root).includes("demo"));
    assert.deepEqual(problems, []);
    await context.close();
  },
};
