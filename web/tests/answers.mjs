// Iterations, functions, single processes, words: what the page answers beside causes.

import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { kinds } from "./causes.mjs";
import { asked, dwell, go, open, root, serve, settled } from "./setup.mjs";

/** Values of call paths by their names. */
async function byName(page, question) {
  const { calls } = await asked(page, "runs/0/calls");
  const values = await asked(page, question);
  return new Map(values.calls.map((call, at) => [calls[call].name, values.exclusive[at]]));
}

export const answers = (runs, tab, accessible) => ({
  async "iterations: since when, as a curve that opens the timeline, and as a table"(browser) {
    const { page, context, problems } = await open(browser, (await serve(kinds("since"))).address, { width: 1440 });
    await settled(page);
    const { iterations } = await asked(page, "runs/0/overview");
    const [change] = iterations.changes;
    assert.equal(iterations.changes.length, 1);
    // The program changes in its 71st round.
    assert.equal(change.iteration, 71);
    const box = page.locator(".iterations");
    assert.match(await box.locator(".changes").innerText(), /From iteration 71 of 100 on, PE 1 computes 2\.0 times as long/);
    await box.scrollIntoViewIfNeeded();
    const curves = await box.locator(".iteration-curves").boundingBox();
    const at = (iteration) => [curves.x + (curves.width * (iteration - 0.5)) / iterations.count, curves.y + 40];
    await page.mouse.move(...at(80));
    assert.match(await box.getByRole("status").innerText(), /80: 4\.\d+ ms.*PE 1/);
    await box.getByText("As a table").click();
    assert.ok((await box.locator("tbody tr").count()) > 5);
    await accessible(page, "iterations");
    await box.locator(".iteration-curves").scrollIntoViewIfNeeded();
    const picture = await box.locator(".iteration-curves").boundingBox();
    await page.mouse.click(picture.x + (picture.width * 79.5) / iterations.count, picture.y + 40);
    await page.locator(".timeline canvas").waitFor();
    await settled(page);
    const [from, to] = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("t").split("-").map(Number);
    const time = iterations.times.find((it) => it.first === 80);
    assert.ok(from <= time.begin_seconds * 1e9 && to >= (time.begin_seconds + time.seconds) * 1e9, `${from} to ${to}`);
    assert.ok(to - from < 2 * time.seconds * 1e9, "only the iteration and a little of its neighbours");
    assert.match(await page.locator(".timeline-side").innerText(), /waits in shmem_barrier_all/);
    await go(page, { view: "findings" });
    // A run without iterations says nothing of them.
    const other = await open(browser, (await serve(kinds("lock"))).address);
    await settled(other.page);
    assert.equal(await other.page.locator(".iterations").count(), 0);
    await other.context.close();
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "the ring by function has the same time as the ring by class"(browser) {
    const { page, context, problems } = await open(browser, (await serve(kinds("lock"))).address, { width: 1440 });
    await go(page, { view: "processes" });
    const bars = await asked(page, "runs/0/bars?count=0");
    const whole = bars.whole.reduce((sum, it) => sum + it, 0);
    await page.getByRole("button", { name: "By function" }).click();
    await settled(page);
    const { calls } = await asked(page, "runs/0/calls");
    const { metrics } = await asked(page, "runs/0/metrics");
    const values = await asked(page, `runs/0/calls/values?metric=${metrics.findIndex((it) => it.name === "time")}`);
    const inside = values.calls.reduce((sum, call, at) => sum + (calls[call].outside ? 0 : values.exclusive[at]), 0);
    assert.ok(Math.abs(inside - whole) < 1e-9 * whole, `${inside} and ${whole}`);
    const text = await page.locator(".whole-pane").innerText();
    assert.match(text, /shmem_set_lock/);
    assert.doesNotMatch(text, /shmem_init|Dwell starts recording/);
    await accessible(page, "ring by function");
    await page.getByRole("button", { name: "By class" }).click();
    await settled(page);
    assert.match(await page.locator(".whole-pane").innerText(), /Locks, flags, fences/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "the call tree of one process adds up to that of all"(browser) {
    const { page, context, problems } = await tab(browser);
    await go(page, { view: "calls" });
    const { metrics } = await asked(page, "runs/0/metrics");
    const metric = metrics.findIndex((it) => it.name === "time");
    const { names, kinds: of } = await asked(page, "runs/0/system/names");
    const processes = names.flatMap((name, row) => (of[row] === "process" || name.startsWith("Rank") ? [row] : []));
    assert.equal(processes.length, 16);
    const all = await byName(page, `runs/0/calls/values?metric=${metric}`);
    const sums = new Map();
    for (const row of processes) {
      for (const [name, value] of await byName(page, `runs/0/calls/values?metric=${metric}&row=${row}`)) sums.set(name, (sums.get(name) ?? 0) + value);
    }
    for (const [name, value] of all) assert.ok(Math.abs(sums.get(name) - value) <= 1e-9 * value, name);
    const third = await byName(page, `runs/0/calls/values?metric=${metric}&row=${processes[3]}`);
    await page.getByRole("combobox", { name: /^Of/ }).selectOption({ label: "\u00a0".repeat(4) + "Rank 3" });
    await settled(page);
    const text = await page.getByRole("row", { name: /ARMCI_Get/ }).innerText();
    const units = { s: 1, ms: 1e-3, us: 1e-6, "µs": 1e-6 };
    const told = [...text.matchAll(/([\d.]+) (s|ms|us|µs)\b/g)].map(([, value, unit]) => Number(value) * units[unit]);
    assert.ok(told.some((it) => Math.abs(it / third.get("ARMCI_Get") - 1) < 0.01), `${text} ${third.get("ARMCI_Get")}`);
    // From the pane of the system.
    await go(page, { view: "panes", metric: "time", sys: processes[3] });
    await page.getByRole("link", { name: "Its call tree" }).click();
    await settled(page);
    assert.match(page.url(), new RegExp(`who=${processes[3]}`));
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "words are explained in place, in a file as well"(browser) {
    const file = join(root, "words.html");
    dwell("export", kinds("lock"), "-o", file);
    const served = (await serve(kinds("lock"))).address;
    for (const [address, options] of [[served, { width: 1280 }], [pathToFileURL(file).href, { offline: true, theme: "dark" }]]) {
      const { page, context, problems } = await open(browser, address, options);
      await settled(page);
      const term = page.getByRole("button", { name: "serialised lock" });
      await term.click();
      const box = page.locator(".term-box");
      assert.match(await box.innerText(), /Processes wait for a lock that another holds/);
      await accessible(page, "a term");
      await page.keyboard.press("Escape");
      assert.equal(await box.count(), 0);
      await page.getByRole("button", { name: "Load balance", exact: true }).click();
      assert.match(await box.innerText(), /Mean computing/);
      await page.locator("h1").first().click();
      assert.equal(await box.count(), 0);
      await page.keyboard.press("?");
      await page.getByText("All words").click();
      assert.match(await page.getByRole("dialog").innerText(), /critical path[\s\S]*symmetric heap/);
      assert.deepEqual(problems, []);
      await context.close();
    }
  },

  async "what is said at an edge of a picture is not cut"(browser) {
    const { page, context, problems } = await open(browser, (await serve(kinds("lock"))).address, { width: 1280 });
    for (const state of [{ view: "matrix" }, { view: "spread", metric: "time" }, { view: "processes" }, { view: "timeline" }]) {
      await go(page, state);
      await page.locator("canvas").first().waitFor();
      await settled(page);
      const picture = await page.locator(".picture").first().boundingBox();
      for (let x = picture.x + 4; x < picture.x + picture.width; x += 24) {
        await page.mouse.move(x, picture.y + Math.min(120, picture.height / 2));
        const tip = await page.locator(".tip").first().boundingBox({ timeout: 1 }).catch(() => null);
        if (tip) assert.ok(tip.x >= picture.x && tip.x + tip.width <= picture.x + picture.width + 0.5, `${state.view}: ${JSON.stringify(tip)} in ${JSON.stringify(picture)}`);
      }
    }
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "held locks and atomics that return nothing are drawn"(browser) {
    const { page, context, problems } = await open(browser, (await serve(kinds("lock"))).address, { width: 1280 });
    await go(page, { view: "timeline" });
    await page.locator(".timeline canvas").waitFor();
    await settled(page);
    assert.match(await page.locator(".timeline-legend").innerText(), /Lock held/);
    const { held } = await asked(page, "runs/0/timeline/operations?first=0&end=2&band=1");
    // Six rounds at two processes.
    assert.equal(held.location.length, 12);
    // Nobody holds it while another does.
    const spans = held.from.map((from, at) => [from, held.to[at]]).sort((a, b) => a[0] - b[0]);
    spans.slice(1).forEach(([from], at) => assert.ok(from >= spans[at][1], `${from} ${spans[at]}`));
    assert.deepEqual(problems, []);
    await context.close();
  },
});
