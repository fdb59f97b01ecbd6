// Pictures: baselines that every run of the tests is held against, from synthetic runs, and those of the book,
// from real ones.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { kinds } from "./causes.mjs";
import { analysed, asked, dwell, go, open, recorded, root, serve, settled } from "./setup.mjs";

const BASELINES = resolve("tests/baseline");
const BOOK = resolve("../docs/src/pictures");
const WAIT = "armci_rma_comm_wait_for_progress";

/** Name, width, theme, state. */
const LOOKS = [
  ["findings", 1280, "light", { view: "findings" }],
  ["panes", 1280, "light", { view: "panes", metric: WAIT }],
  ["calls", 1280, "light", { view: "calls" }],
  ["matrix", 1280, "light", { view: "matrix" }],
  ["processes", 1280, "light", { view: "processes", order: "wait" }],
  ["spread", 1280, "light", { view: "spread", metric: WAIT }],
  ["timeline", 1280, "light", { view: "timeline" }],
  ["timeline-instance", 1920, "dark", { view: "timeline", finding: "1", sel: "10@2520000" }],
  ["compare-findings", 1920, "dark", { view: "findings", with: "1" }],
  ["compare-panes", 1920, "dark", { view: "panes", with: "1", metric: WAIT }],
];

/** The share of pixels that differ so much that an eye sees it. */
function difference(page, a, b) {
  return page.evaluate(async (pictures) => {
    const pixels = async (data) => {
      const image = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    };
    const [one, two] = await Promise.all(pictures.map(pixels));
    if (one.width !== two.width || one.height !== two.height) return 1;
    let differing = 0;
    for (let at = 0; at < one.data.length; at += 4) {
      const far = (n) => Math.abs(one.data[at + n] - two.data[at + n]) > 40;
      if (far(0) || far(1) || far(2)) differing += 1;
    }
    return differing / (one.data.length / 4);
  }, [a, b].map((bytes) => bytes.toString("base64")));
}

/** Every look is what somebody has looked at. */
export async function baselines(browser, runs, { sample, baselines: isMade }) {
  mkdirSync(BASELINES, { recursive: true });
  const tabs = new Map();
  for (const [name, width, theme, state] of LOOKS) {
    if (sample && theme === "light" && name !== "findings" && name !== "panes") continue;
    const key = `${width} ${theme}`;
    if (!tabs.has(key)) tabs.set(key, await open(browser, (await serve(...runs)).address, { width, theme }));
    const { page } = tabs.get(key);
    await go(page, state);
    await page.mouse.move(0, 0);
    await settled(page);
    const picture = await page.screenshot();
    const file = join(BASELINES, `${name}.png`);
    if (isMade) {
      writeFileSync(file, picture);
      continue;
    }
    const differs = await difference(page, picture, readFileSync(file));
    if (differs >= 0.01) writeFileSync(join(root, `${name}.png`), picture);
    assert.ok(differs < 0.01, `${name}: ${(100 * differs).toFixed(2)} % of the pixels differ from ${file}; look at it, and make it anew with cargo xtask web --test --pictures`);
  }
  for (const { context } of tabs.values()) await context.close();
}

/** The pictures of the chapter about the timeline: two real programs, and a synthetic one on 1,024 processes. */
export async function timelineBook(browser) {
  const [halo, queue] = [recorded("late_halo", "before"), recorded("work_queue", "work_queue-run")];
  const balanced = recorded("late_halo", "after", { flags: ["-DLATE=3000"] });
  [halo, queue, balanced].forEach((directory) => dwell("timeline", directory));
  const many = analysed("halo", "halo-1024", "--ranks", "1024");
  dwell("timeline", many);
  const take = async (directory, name, state, before) => {
    const { page, context } = await open(browser, (await serve(directory)).address);
    await go(page, state);
    await before?.(page);
    await settled(page);
    await page.screenshot({ path: join(BOOK, `timeline-${name}.png`) });
    await context.close();
  };
  const next = async (page) => {
    await page.keyboard.press("Period");
    await settled(page);
    await page.keyboard.press("Comma");
  };
  await take(halo, "halo", { view: "timeline", finding: "1" }, next);
  await take(queue, "queue", { view: "timeline", finding: "1" }, next);
  const two = await open(browser, (await serve(halo, balanced)).address);
  await go(two.page, { view: "timeline", with: "1", operations: "0" });
  await two.page.screenshot({ path: join(BOOK, "timeline-two.png") });
  await two.context.close();
  await take(many, "many", { view: "timeline" });
  await take(many, "phase", { view: "timeline", finding: "1" }, next);
}

/** Archives of the repository, one for each runtime that the book shows: name of the picture, place, and the part of the run after its
 * start-up. */
const GALLERY = [
  ["openshmem", "archives/shmem-tcp-mixed", [0.4, 0.6]],
  ["messages", "archives/openmpi-tcp-messages", [0.5, 0.75]],
  ["coarrays", "archives/coarrays-critical", [0, 0.3]],
  ["armci", "archives/armci-waits", [0.3, 0.5]],
];

/** Timelines of these runtimes. */
export async function gallery(browser) {
  const shown = [];
  for (const [name, place, part] of GALLERY) {
    const directory = join(root, `gallery-${name}`);
    cpSync(resolve("../tests/data", place), directory, { recursive: true });
    dwell("analyze", directory);
    shown.push([name, directory, part]);
  }
  for (const [name, directory, [from, to]] of shown) {
    dwell("timeline", directory);
    const { page, context } = await open(browser, (await serve(directory)).address);
    const { length, started } = await asked(page, "runs/0/timeline");
    const place = (part) => Math.floor(started + part * (length - started));
    await go(page, { view: "timeline", t: `${place(from)}-${place(to)}` });
    await page.screenshot({ path: join(BOOK, `timeline-of-${name}.png`) });
    await context.close();
  }
}

/** The book's pictures, from a real run where OpenSHMEM is at hand. */
export async function book(browser) {
  // Source is shown from the directory that runs are recorded in.
  copyFileSync(resolve("../examples/heat/heat.c"), join(root, "heat.c"));
  const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1", OMPI_MCA_rmaps_base_oversubscribe: "1" };
  const run = (name, ...size) => {
    const directory = join(root, name);
    execFileSync("oshrun", ["-np", "4", "-mca", "osc", "^rdma", process.env.DWELL, "run", "-o", directory, "./heat", ...size], { cwd: root, env });
    dwell("analyze", directory);
    return directory;
  };
  // Its headers are where they are in the repository.
  const headers = ["-iquote", resolve("../examples/heat")];
  execFileSync("oshcc", ["-O2", "-g", ...headers, "-o", "heat", "heat.c", "-lm"], { cwd: root, env });
  const [first, second] = [run("heat-1024", "1024", "400"), run("heat-768", "768", "400")];
  const { page, context } = await open(browser, (await serve(first)).address);
  await settled(page);
  await page.locator(".finding.open").getByRole("link", { name: "Call path and source" }).click();
  await shot(page, "calls");
  const dark = await open(browser, (await serve(first, second)).address, { theme: "dark" });
  await shot(dark.page, "compare", { view: "calls", with: "1", metric: "time" });
  for (const tab of [context, dark.context]) await tab.close();
  await certain(browser);
}

async function shot(tab, name, state, before) {
  if (state) await go(tab, state);
  await before?.();
  await settled(tab);
  await tab.screenshot({ path: join(BOOK, `explorer-${name}.png`) });
}

/** Those of the book's pictures that are the same on every machine. */
export async function certain(browser) {
  const matrix = analysed("halo", "halo", "--ranks", "64");
  const many = await open(browser, (await serve(matrix)).address);
  await shot(many.page, "matrix", { view: "matrix", measure: "wait" }, async () => {
    const box = await many.page.locator("canvas").boundingBox();
    await many.page.mouse.move(box.x + box.width * 0.47, box.y + box.height * 0.45);
  });
  const metric = JSON.parse(readFileSync(join(matrix, "findings.json"), "utf8")).findings[0].metric;
  await many.page.mouse.move(0, 0);
  await shot(many.page, "spread", { view: "spread", metric });
  const since = await open(browser, (await serve(kinds("since"))).address);
  await settled(since.page);
  await since.page.getByRole("region", { name: "Since when" }).screenshot({ path: join(BOOK, "explorer-iterations.png") });
  for (const tab of [many.context, since.context]) await tab.close();
}
