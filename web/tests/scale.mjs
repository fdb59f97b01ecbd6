// How fast the explorer is on a report of 294,912 locations by 4,000 call paths, its cache built. Prints one line
// for each thing that was measured, and fails where a goal is missed.

import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dwell, end, go, launch, open, serve, settled } from "./setup.mjs";

const report = process.argv[2];
if (!existsSync(report)) {
  dwell("synth", "report", "-o", report, "--locations", "294912", "--paths", "4000", "--metrics", "20", "--dense", "0", "--sparsity", "0.995");
}
// The first look builds the cache.
await serve(report);
end();

const browser = await launch();
let missed = 0;
function told(what, value, unit, goal) {
  const over = goal !== undefined && value > goal;
  missed += over ? 1 : 0;
  console.log(`${what.padEnd(44)} ${value.toFixed(0).padStart(6)} ${unit}${goal === undefined ? "" : `  goal ${goal}${over ? "  MISSED" : ""}`}`);
}
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** From doing something until everything on the screen belongs to it, as the page itself sees it. */
async function reaction(page, act) {
  return page.evaluate(`(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const busy = () => __dwell.pending() > 0 || document.querySelector(".stale, [aria-busy]");
    await frame();
    const start = performance.now();
    ${act};
    do await frame();
    while (busy());
    return performance.now() - start;
  })()`);
}

/** Notes when the first screen stands, counted from the beginning of the visit. */
function watch() {
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".headline")) return;
    observer.disconnect();
    requestAnimationFrame(() => (globalThis.stood = performance.now()));
  }).observe(document, { childList: true, subtree: true });
}

const paints = [];
let pid;
let page;
for (let round = 0; round < 3; round++) {
  if (page) {
    end();
    await page.context().close();
  }
  const began = Date.now();
  const server = await serve(report);
  const started = Date.now();
  pid = server.pid;
  ({ page } = await open(browser, server.address, { before: watch }));
  await page.waitForFunction(() => globalThis.stood);
  paints.push(await page.evaluate(() => globalThis.stood));
  if (round === 0) told("server: from start to address", started - began, "ms");
}
told("first screen, from address to headline", median(paints), "ms", 1000);
await settled(page);

await go(page, { view: "panes" });
await settled(page);
const click = (tree, row) => `document.querySelectorAll('[role=tree][aria-label="${tree}"] [role=treeitem]')[${row}].click()`;
const metrics = [];
for (const row of [1, 2, 3, 4, 5]) metrics.push(await reaction(page, click("Metrics", row)));
told("panes: another metric, slowest of 5", Math.max(...metrics), "ms", 100);
const calls = [];
for (const row of [1, 2, 3, 4, 0]) calls.push(await reaction(page, click("Call paths", row)));
told("panes: another call path, slowest of 5", Math.max(...calls), "ms", 100);
told("panes: unfold 4,000 call paths", await reaction(page, `[...document.querySelectorAll("button")].find((it) => it.textContent === "Unfold all").click()`), "ms", 100);
const all = `[...document.querySelectorAll(".pane-line button")][0].click()`;
told("panes: unfold 299,521 rows of the system", await reaction(page, all), "ms", 100);
const scrolls = [];
for (const part of [0.1, 0.5, 0.9, 0.3]) {
  scrolls.push(await reaction(page, `const tree = document.querySelector('[aria-label="System"][role=tree]'); tree.scrollTop = ${part} * tree.scrollHeight`));
}
told("panes: scroll through them, slowest of 4", Math.max(...scrolls), "ms", 100);
for (const view of ["calls", "spread", "processes"]) {
  told(`${view}: opened`, await reaction(page, `location.hash = "v=1&view=${view}"`), "ms");
}
const again = await reaction(page, `location.hash = "v=1&view=processes&order=wait"`);
told("processes: sorted anew", again, "ms", 100);
const status = readFileSync(`/proc/${pid}/status`, "utf8");
told("server: anonymous memory", Number(/RssAnon:\s+(\d+)/.exec(status)[1]) / 1000, "MB", 150);
const script = readFileSync(new URL("../../crates/dwell-serve/page/app.js", import.meta.url));
told("page: script, gzipped", gzipSync(script, { level: 9 }).length / 1000, "kB", 150);
await browser.close();
end();
process.exit(missed > 0 ? 1 : 0);
