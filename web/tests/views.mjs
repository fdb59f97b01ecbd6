// The tests. Each is a sentence that must hold.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { baselines, book, gallery, timelineBook } from "./pictures.mjs";
import { textsOfTheTerminal } from "./format.mjs";
import { tokensOfPrograms } from "./highlight.mjs";
import { answers } from "./answers.mjs";
import { causes } from "./causes.mjs";
import { comparisons } from "./compare.mjs";
import { sharing } from "./sharing.mjs";
import { tables } from "./tables.mjs";
import { truths } from "./truths.mjs";
import { many } from "./many.mjs";
import { runsOfDirectories } from "./runs.mjs";
import { timelines } from "./timeline.mjs";
import { analysed, asked, dwell, go, hostile, open, others, root, serve, settled } from "./setup.mjs";

const VIEWS = ["findings", "panes", "calls", "matrix", "processes", "spread", "timeline"];
const WAIT = "armci_rma_comm_wait_for_progress";

let made;
/** Two runs of the same program. */
function runs() {
  made ??= [
    analysed("sor", "sor", "--ranks", "16"),
    analysed("sor", "sor-other", "--ranks", "16", "--seed", "9", "--iterations", "14"),
  ];
  // The index of the second run is made when somebody asks for it.
  dwell("timeline", made[0]);
  return made;
}

/** A tab on the two runs; without options, one that tests share. */
async function tab(browser, options) {
  if (options) return fresh(browser, options);
  shared ??= await fresh(browser, {});
  shared.problems.length = 0;
  await go(shared.page, {});
  return { ...shared, context: { close: async () => undefined } };
}

let shared;

async function fresh(browser, options) {
  const { address, pid } = await serve(...(options.runs ?? runs()));
  const opened = await open(browser, address, options);
  await settled(opened.page);
  return { ...opened, address, pid };
}

async function accessible(page, what) {
  const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
  const told = violations.map((it) => `${it.id}: ${it.help}\n  ${it.nodes.slice(0, 3).map((node) => node.html).join("\n  ")}`);
  assert.deepEqual(told, [], what);
}

/** Compares numbers that were added up in another order. */
function near(a, b, what) {
  assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b)) + 1e-15, `${what}: ${a} and ${b}`);
}

export const tests = {
  async "numbers read as in the terminal"() {
    assert.ok(await textsOfTheTerminal() > 400);
  },

  async "source is coloured and not changed"() {
    assert.ok(await tokensOfPrograms() > 5000);
  },

  async "every view opens in both themes and widths, accessible and without errors"(browser, { sample }) {
    const cases = sample ? [[1280, "light"], [1280, "dark"]] : [[1280, "light"], [1280, "dark"], [1920, "light"], [1920, "dark"]];
    for (const [width, theme] of cases) {
      const { page, context, problems } = await tab(browser, { width, theme });
      for (const view of VIEWS) {
        for (const beside of ["", "1"]) {
          await go(page, { view, metric: WAIT, ...(beside && { with: beside }) });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${view} at ${width} is ${wide} too wide`);
          // Two runs have more on the screen, and dark is where contrast is hard.
          if (!sample || (beside && theme === "dark")) await accessible(page, `${view} ${width} ${theme} ${beside}`);
        }
      }
      assert.deepEqual(problems, []);
      await context.close();
    }
  },

  async "the largest wait is on the first screen, and leads to its cause"(browser) {
    const { page, context, problems } = await tab(browser);
    assert.ok(!page.url().includes("code="), "the code is gone from the address");
    const found = JSON.parse(readFileSync(join(runs()[0], "findings.json"), "utf8")).findings[0];
    const first = page.locator(".finding").first();
    const text = await first.innerText();
    assert.match(text, new RegExp(found.path.at(-1).region));
    assert.ok(text.includes(found.remedy), text);
    assert.ok(text.includes(`${(found.seconds * 1e3).toPrecision(3)} ms`), text);
    assert.ok(text.includes(found.confidence), text);
    // How many calls waited, the longest of them, and what its target did meanwhile.
    const [some, all] = [found.calls, found.visits].map((it) => it.toLocaleString("en-US"));
    assert.ok(text.includes(some === all ? `all ${all} calls waited` : `${some} of ${all} calls waited`), text);
    assert.ok(text.includes(`${found.worst.who} waited`) && text.includes(`for ${found.worst.on_whom}, from`), text);
    assert.match(text, new RegExp(`${found.worst.on_whom} computed for`));
    await page.getByRole("link", { name: "Where it waits" }).click();
    await settled(page);
    const selected = await page.locator('[role=treeitem][aria-selected=true]').allInnerTexts();
    assert.ok(selected.some((it) => it.includes("Wait for Progress")), selected.join());
    assert.ok(selected.some((it) => it.includes("ARMCI_Get")), selected.join());
    await page.goBack();
    await settled(page);
    // Both parts of the reduction are one entry.
    assert.equal(await page.locator(".finding").count(), 2);
    // By keys.
    await page.keyboard.press("Period");
    await settled(page);
    assert.match(await page.locator(".finding.open").innerText(), /MPI_Allreduce/);
    assert.equal(await page.locator(".finding.open .part").count(), 1);
    await page.keyboard.press("Comma");
    await page.keyboard.press("Digit4");
    await settled(page);
    assert.match(page.url(), /view=matrix/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "panes: a selection refills those to its right, by mouse and by keys"(browser) {
    const { page, context, problems } = await tab(browser);
    await go(page, { view: "panes", metric: "time" });
    const metrics = await asked(page, "runs/0/metrics");
    const time = metrics.metrics.findIndex((it) => it.name === "time");
    const values = await asked(page, `runs/0/calls/values?metric=${time}`);
    const calls = await asked(page, "runs/0/calls");
    const row = page.getByRole("tree", { name: "Call paths" }).getByRole("treeitem", { name: "ARMCI_Get" });
    const of_get = values.inclusive[values.calls.indexOf(calls.calls.findIndex((it) => it.name === "ARMCI_Get"))];
    assert.ok((await row.innerText()).includes(`${(of_get * 1e3).toPrecision(3)} ms`), await row.innerText());
    await row.click();
    await settled(page);
    assert.match(await page.locator(".pane").nth(2).innerText(), /ARMCI_Get/);
    const system = await asked(page, `runs/0/system/values?metric=${time}&call=${calls.calls.findIndex((it) => it.name === "ARMCI_Get")}&flavour=inclusive`);
    const rank = page.getByRole("tree", { name: "System" }).getByRole("treeitem", { name: "Rank 3", exact: true });
    const shown = await rank.innerText();
    assert.ok(shown.includes(`${(system.values[2 + 3] * 1e6).toPrecision(3)} µs`), `${shown} ${system.values[5]}`);
    // Unfolded rows show their own value; folding by keys changes the number.
    const tree = page.getByRole("tree", { name: "Metrics" });
    await tree.focus();
    await page.keyboard.press("Home");
    const before = await tree.getByRole("treeitem", { name: "Time", exact: true }).innerText();
    await page.keyboard.press("ArrowRight");
    await settled(page);
    const after = await tree.getByRole("treeitem", { name: "Time", exact: true }).innerText();
    assert.notEqual(before, after);
    assert.match(page.url(), /own=1/);
    await page.keyboard.press("ArrowDown");
    await settled(page);
    assert.match(page.url(), /metric=(armci|mpi)/);
    // Percentages.
    await page.getByRole("combobox", { name: "Show" }).selectOption("root");
    await settled(page);
    assert.match(await tree.innerText(), /%/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "call paths: sorted, folded by keys, with self and total"(browser) {
    const { page, context, problems } = await tab(browser);
    await go(page, { view: "calls" });
    const grid = page.getByRole("treegrid", { name: "Call paths" });
    const names = async () => (await grid.getByRole("row").locator(".text").allInnerTexts()).filter(Boolean);
    assert.deepEqual(await names(), ["main", "ARMCI_Get", "ARMCI_AllFence", "MPI_Allreduce"]);
    await page.getByRole("columnheader", { name: "Call", exact: true }).getByRole("button").click();
    await settled(page);
    assert.deepEqual(await names(), ["main", "ARMCI_AllFence", "ARMCI_Get", "MPI_Allreduce"]);
    await page.getByRole("columnheader", { name: "Calls" }).getByRole("button").click();
    await settled(page);
    assert.deepEqual(await names(), ["main", "ARMCI_Get", "ARMCI_AllFence", "MPI_Allreduce"]);
    await grid.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowLeft");
    assert.deepEqual(await names(), ["main"]);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("End");
    await settled(page);
    assert.match(await page.locator(".source").innerText(), /No source/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "matrix: what is under the pointer is what the report says; zoom and pairs"(browser) {
    const { page, context, problems } = await tab(browser);
    await go(page, { view: "matrix", measure: "operations" });
    const matrix = await asked(page, "runs/0/matrix");
    const canvas = page.locator("canvas");
    const box = await canvas.boundingBox();
    const hits = await page.evaluate((box) => {
      const found = new Map();
      for (let y = box.y; y < box.y + box.height; y += 6) {
        for (let x = box.x; x < box.x + box.width; x += 6) {
          const hit = __dwell.hit(x, y);
          if (hit && hit.sum === undefined) found.set(`${hit.row} ${hit.column}`, { ...hit, at: [x, y] });
        }
      }
      return [...found.values()];
    }, box);
    assert.equal(hits.length, 16 * 16);
    for (const hit of hits) {
      const at = matrix.origin.findIndex((row, n) => row === hit.row && matrix.target[n] === hit.column);
      assert.equal(hit.value, at < 0 ? 0 : matrix.operations[at], hit.text);
    }
    const full = hits.find((hit) => hit.value > 0);
    await page.mouse.click(...full.at);
    await settled(page);
    assert.match(await page.locator(".pair").innerText(), /Gets/);
    // Keys: the same cell, told to those who cannot see it.
    await canvas.focus();
    for (let n = 0; n <= full.row; n++) await page.keyboard.press("ArrowDown");
    assert.match(await page.locator("[role=status]").innerText(), /→/);
    const corner = hits.find((hit) => hit.row === 0 && hit.column === 0).at;
    const third = hits.find((hit) => hit.row === 3 && hit.column === 3).at;
    await page.mouse.move(...corner);
    await page.mouse.down();
    await page.mouse.move(...third);
    await page.mouse.up();
    await settled(page);
    assert.match(page.url(), /rows=0-4/);
    await canvas.focus();
    await page.keyboard.press("Escape");
    await settled(page);
    assert.doesNotMatch(page.url(), /rows=/);
    await page.getByLabel("By node").check();
    await settled(page);
    assert.match(await page.locator(".matrix .pane").first().innerText(), /1 node/);
    await page.getByLabel("As a table").check();
    assert.match(await page.locator(".matrix .table-scroll table").innerText(), /960/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "processes: bars and ring show what the report says"(browser) {
    const { page, context, problems } = await tab(browser);
    await go(page, { view: "processes", order: "wait" });
    const bars = await asked(page, "runs/0/bars?count=256&sort=wait");
    const box = await page.locator("canvas").boundingBox();
    const found = await page.evaluate((box) => {
      const hits = new Map();
      for (let x = box.x; x < box.x + box.width; x += 5) {
        const hit = __dwell.hit(x, box.y + box.height / 2);
        if (hit) hits.set(hit.bar, hit);
      }
      return [...hits.values()];
    }, box);
    assert.equal(found.length, 16);
    for (const hit of found) {
      assert.equal(hit.name, bars.names[hit.bar]);
      bars.classes.forEach((name, at) => near(hit.parts[name] ?? 0, bars.values[at][hit.bar], hit.name));
    }
    const waits = bars.values[bars.classes.indexOf("wait")];
    assert.deepEqual([...waits].sort((a, b) => b - a), waits, "sorted");
    await page.locator("canvas").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await page.locator("[role=status]").innerText(), /Rank/);
    await page.getByLabel("As a table").check();
    assert.equal(await page.locator(".processes .table-scroll tbody tr").count(), 16);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "spread: every location of the map has its value"(browser) {
    const { page, context, problems } = await tab(browser);
    await go(page, { view: "spread", metric: WAIT });
    const metrics = await asked(page, "runs/0/metrics");
    const metric = metrics.metrics.findIndex((it) => it.name === WAIT);
    const row = await asked(page, `runs/0/row?metric=${metric}`);
    const box = await page.locator("canvas").boundingBox();
    const found = await page.evaluate((box) => {
      const hits = new Map();
      for (let y = box.y; y < box.y + box.height; y += 8) {
        for (let x = box.x; x < box.x + box.width; x += 8) {
          const hit = __dwell.hit(x, y);
          if (hit) hits.set(hit.location, hit);
        }
      }
      return [...hits.values()];
    }, box);
    assert.equal(found.length, 16);
    for (const hit of found) assert.equal(hit.value, row[hit.location]);
    assert.match(found.find((hit) => hit.location === 7).text, /Rank 7/);
    const told = JSON.parse(dwell("report", runs()[0], "--json", "--spread", "--metric", WAIT));
    const max = told.spread.find((it) => it.statistic === "max").locations;
    const table = await page.locator(".numbers").first().innerText();
    assert.ok(table.includes(`${(max * 1e6).toPrecision(3)} µs`), table);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "two runs: differences are those of the reports"(browser) {
    const { page, context, problems } = await tab(browser);
    await go(page, { view: "calls", with: "1" });
    const [a, b] = await Promise.all(["0", "1"].map((run) => asked(page, `runs/${run}/calls/values?metric=0`)));
    const text = await page.getByRole("row", { name: /MPI_Allreduce/ }).innerText();
    const at = (await asked(page, "runs/0/calls")).calls.findIndex((it) => it.name === "MPI_Allreduce");
    const delta = b.exclusive[b.calls.indexOf(at)] - a.exclusive[a.calls.indexOf(at)];
    assert.ok(text.includes(`${delta > 0 ? "+" : ""}${(delta * 1e3).toPrecision(3)} ms`), `${text} ${delta}`);
    await go(page, { view: "findings", with: "1" });
    assert.match(await page.locator(".headline").innerText(), /compared with[\s\S]*(shorter|longer|times as|no difference)[\s\S]*then/);
    await go(page, { view: "spread", with: "1", metric: WAIT });
    assert.match(await page.locator("h2").allInnerTexts().then((it) => it.join()), /Change at every location/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  ...comparisons(runs, tab),
  ...causes,
  ...answers(runs, tab, accessible),
  ...truths(runs, tab),
  ...tables(runs, tab),

  ...timelines(() => runs()[0], tab, accessible),
  ...many(tab, accessible),
  ...runsOfDirectories(tab, accessible),
  ...sharing(tab),

  async "search, help, themes, deep links and Back"(browser, { sample }) {
    const { page, context, problems } = await tab(browser);
    await page.keyboard.press("/");
    await page.keyboard.type("allred");
    await page.locator("#search-list li").first().waitFor();
    if (!sample) await accessible(page, "search");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(page.url(), /view=calls/);
    assert.match(await page.locator("[aria-selected=true]").first().innerText(), /MPI_Allreduce/);
    const link = page.url();
    const shown = await page.locator("main").innerText();
    await page.keyboard.press("?");
    assert.equal(await page.getByRole("dialog").count(), 1);
    if (!sample) await accessible(page, "help");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.keyboard.press("KeyT");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await page.keyboard.press("KeyT");
    // The link alone brings the same picture back.
    await go(page, { view: "processes" });
    await page.goBack();
    await settled(page);
    assert.equal(page.url(), link);
    assert.equal(await page.locator("main").innerText(), shown);
    await page.reload();
    await settled(page);
    assert.equal(await page.locator("main").innerText(), shown);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "a tab without a key sees nothing"(browser, { sample }) {
    const { address } = await serve(...runs());
    const [page_address, code] = address.split("#code=");
    // Somebody comes by a link: the code shows what the link is about.
    const { page, context } = await open(browser, `${page_address}#v=1&view=calls`);
    await page.getByLabel("Address").fill("0".repeat(64));
    await page.keyboard.press("Enter");
    assert.match(await page.getByRole("alert").innerText(), /wrong/);
    await page.getByLabel("Address").fill(`${page_address}#code=${code}`);
    await page.keyboard.press("Enter");
    await page.getByRole("treegrid").waitFor();
    const used = await open(browser, address);
    assert.match(await used.page.locator("main").innerText(), /no key/);
    assert.ok(!(await used.page.content()).includes("ARMCI_Get"));
    if (!sample) await accessible(used.page, "without a key");
    await context.close();
    await used.context.close();
  },

  async "names are text, never markup"(browser) {
    const { page, context, problems } = await tab(browser, { runs: [hostile(runs()[0])] });
    for (const view of VIEWS) {
      await go(page, { view });
      assert.equal(await page.evaluate(() => globalThis.pwned), undefined, view);
      assert.equal(await page.locator("img, main script").count(), 0, view);
    }
    await go(page, { view: "calls" });
    assert.match(await page.locator("main").innerText(), /<img>xyz/);
    await go(page, { view: "findings" });
    assert.match(await page.locator("main").innerText(), /<script>/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "an exported file opens without a network, and is small"(browser) {
    const file = join(root, "export.html");
    dwell("export", runs()[0], "--compare", runs()[1], "-o", file);
    assert.ok(statSync(file).size < 620_000, `${statSync(file).size}`);
    const { page, context, problems } = await open(browser, pathToFileURL(file).href, { offline: true });
    await settled(page);
    assert.match(await page.locator(".finding").first().innerText(), /ARMCI_Get/);
    for (const view of VIEWS) {
      await go(page, { view, metric: WAIT });
      assert.equal(await page.locator("[role=alert]").count(), 0, view);
      assert.doesNotMatch(await page.locator("main").innerText(), /not part of the file/, view);
    }
    // The timeline has the worst instances, one after the other.
    await go(page, { view: "timeline", finding: "1" });
    for (const at of [1, 2, 3]) {
      await page.keyboard.press("Period");
      await settled(page);
      assert.match(page.url(), new RegExp(`instance=${at}`));
      assert.match(await page.locator(".timeline-side").innerText(), /Meanwhile/);
    }
    const box = await page.locator(".timeline canvas").boundingBox();
    const hit = await page.evaluate(([x, y]) => __dwell.hit(x, y), [box.x + 400, box.y + 100]);
    assert.ok(hit.sharp && hit.class !== undefined, JSON.stringify(hit));
    await go(page, { view: "panes", metric: WAIT });
    await page.getByRole("treeitem", { name: "ARMCI_Get" }).click();
    await settled(page);
    assert.match(await page.locator(".pane").nth(2).innerText(), /Rank 3/);
    assert.deepEqual(problems, []);
    await context.close();
  },

  async "every look is one that somebody has looked at"(browser, options) {
    await baselines(browser, runs(), options);
    if (options.pictures) {
      await book(browser);
      await timelineBook(browser);
      await gallery(browser);
    }
  },

  async "reports of other tools are shown"(browser, { sample }) {
    for (const file of others().slice(0, sample ? 1 : undefined)) {
      const { page, context, problems } = await tab(browser, { runs: [file] });
      for (const view of VIEWS) {
        await go(page, { view });
        assert.equal(await page.locator("[role=alert]").count(), 0, `${file} ${view}`);
      }
      assert.deepEqual(problems, [], file);
      await context.close();
    }
  },
};
