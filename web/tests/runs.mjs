// Directories of runs, and what an exported file knows of a timeline.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { asked, dwell, go, open, root, settled } from "./setup.mjs";

/** Runs of several versions; the last one drifts, so that it is slower. */
function results(versions, processes) {
  const directory = join(root, "results");
  for (let version = 1; version <= versions; version++) {
    for (const count of processes) {
      for (const seed of [1, 2]) {
        const what = version === versions ? "drift" : "phase";
        dwell("synth", "slow", what, "-o", join(directory, `v${version}`, `p${count}-${seed}`), "--ranks", String(count), "--steps", "24", "--seed", String(10 * version + seed));
      }
    }
  }
  return directory;
}

export function runsOfDirectories(tab, accessible) {
  return {
    async "runs: the version that became slower, why, and any two runs side by side"(browser, { sample }) {
      const directory = sample ? results(2, [2, 4]) : results(5, [2, 4, 8, 16]);
      const last = sample ? "v2" : "v5";
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      assert.equal(await page.title(), "Runs · Dwell");
      const many = await asked(page, "many");
      assert.equal(many.runs.length, sample ? 8 : 40);
      const card = await page.locator(".slower").first().innerText();
      assert.match(card, new RegExp(`^${last} takes .* longer than `));
      assert.match(card, /Load imbalance: Rank \d+ computes/);
      assert.equal(await page.locator("circle.plot-bad").count(), sample ? 2 : 4);
      if (!sample) await accessible(page, "runs");
      await page.getByRole("link", { name: "Compare two runs that show it" }).click();
      await settled(page);
      const { run, with: other } = Object.fromEntries(new URLSearchParams(page.url().split("#")[1]));
      assert.deepEqual([run, other], many.versions.at(-1).shown_by);
      await page.goBack();
      await settled(page);
      // Any two of the list.
      const boxes = page.getByRole("checkbox");
      await boxes.nth(0).check();
      await boxes.nth(3).check();
      await page.getByRole("button", { name: "Compare the two chosen runs" }).click();
      await settled(page);
      assert.match(page.url(), /run=0.*with=3|with=3.*run=0/);
      await go(page, { view: "timeline", run: "5" });
      await page.waitForSelector(".timeline canvas");
      assert.deepEqual(problems, []);
      await context.close();
      // As a page for continuous integration, with a badge and a summary.
      const file = join(root, "results.html");
      dwell("export", directory, "-o", file);
      assert.match(readFileSync(join(root, "results.svg"), "utf8"), /slower/);
      assert.match(readFileSync(join(root, "results.md"), "utf8"), new RegExp(`^\\*\\*${last} takes `));
      const read = await open(browser, pathToFileURL(file).href, { offline: true });
      await settled(read.page);
      assert.match(await read.page.locator(".slower").first().innerText(), new RegExp(`^${last} takes `));
      await read.page.getByRole("link", { name: `${last}/p4-1` }).click();
      await settled(read.page);
      assert.match(await read.page.locator("main").innerText(), /Load imbalance/i);
      assert.deepEqual(read.problems, []);
      await read.context.close();
    },

    async "timeline: the critical path is a band where its hops are close, and a line where they are not"(browser) {
      const directory = join(root, "hops");
      dwell("synth", "slow", "phase", "-o", directory, "--ranks", "8", "--steps", "600");
      dwell("analyze", directory);
      dwell("timeline", directory);
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      await go(page, { view: "timeline", operations: "0" });
      // How many pixels of a row have the colour of the path: at its lower edge, and between it and the middle of the row.
      const dark = () => page.evaluate(() => {
        const canvas = document.querySelector(".timeline canvas");
        const box = canvas.getBoundingClientRect();
        let y = box.top + 80;
        const row = __dwell.hit(box.left + 400, y).row;
        while (__dwell.hit(box.left + 400, y)?.row === row) y += 1;
        const line = (y) => {
          const ratio = canvas.width / box.width;
          const { data } = canvas.getContext("2d").getImageData(151 * ratio, Math.round((y - box.top) * ratio), canvas.width - 152 * ratio, 1);
          const list = [];
          for (let at = 0; at < data.length; at += 4) list.push(data[at] < 90 && data[at + 1] < 90 && data[at + 2] < 90);
          return list.filter((it) => it).length / list.length;
        };
        return { edge: Math.max(line(y - 4), line(y - 3)), above: line(y - 14) };
      });
      const { location } = await asked(page, "runs/0/timeline/critical");
      assert.ok(location.length > 300, `${location.length} steps`);
      const band = await dark();
      assert.ok(band.edge > 0.02 && band.above < 0.01, JSON.stringify(band));
      const { length } = await asked(page, "runs/0/timeline");
      await go(page, { view: "timeline", operations: "0", t: `${Math.round(0.8 * length)}-${Math.round(0.8 * length + 8 * 120000)}` });
      const some = await asked(page, `runs/0/timeline/critical?from=${Math.round(0.8 * length)}&to=${Math.round(0.8 * length + 8 * 120000)}`);
      assert.ok(some.location.length < 20, `${some.location.length} steps`);
      // Reading the picture is what browsers warn of here.
      assert.deepEqual(problems.filter((it) => !it.includes("willReadFrequently")), []);
      await context.close();
    },

    async "timeline: a file has all of it, with selection, arrows and panel at any zoom"(browser) {
      const directory = join(root, "whole");
      dwell("synth", "slow", "drift", "-o", directory, "--ranks", "8", "--steps", "40");
      dwell("analyze", directory);
      dwell("timeline", directory);
      const { page, context } = await tab(browser, { runs: [directory] });
      const { length } = await asked(page, "runs/0/timeline");
      const t = `${Math.round(0.71 * length)}-${Math.round(0.78 * length)}`;
      const span = t.split("-").map(Number);
      const rows = "first=0&end=8&band=1";
      const [shares, at, sums] = await Promise.all([
        `timeline/waits?${rows}&from=${span[0]}&to=${span[1]}&most=60`, `timeline/at?location=7&time=${Math.round(0.74 * length)}`, `timeline/totals?${rows}&from=${span[0]}&to=${span[1]}`,
      ].map((it) => asked(page, `runs/0/${it}`)));
      await go(page, { view: "timeline", t, sel: `7@${Math.round(0.74 * length)}` });
      const seen = await page.locator(".timeline-side").innerText();
      const colours = (tab) => tab.evaluate(() => {
        const canvas = document.querySelector(".timeline canvas");
        const { data } = canvas.getContext("2d").getImageData(160, 90, canvas.width - 170, 1);
        return [...data].filter((_, at) => at % 4 === 0);
      });
      const picture = await colours(page);
      await context.close();
      const file = join(root, "whole.html");
      dwell("export", directory, "-o", file);
      const read = await open(browser, pathToFileURL(file).href, { offline: true });
      await go(read.page, { view: "timeline", t, sel: `7@${Math.round(0.74 * length)}` });
      const own = await read.page.locator(".timeline-side").innerText();
      // The file does not have the operations of calls.
      assert.equal(own, seen.replace(/Operations of the call[\s\S]*?(?=Meanwhile)/, ""));
      const drawn = await colours(read.page);
      const same = drawn.filter((it, n) => Math.abs(it - picture[n]) < 40).length / drawn.length;
      assert.ok(same > 0.97, `${same}`);
      assert.ok(shares.waits.length > 0 && sums.totals.length > 0 && at.location === 7);
      // A wait selects both partners; closing it shows sums.
      await go(read.page, { view: "timeline", t });
      assert.match(await read.page.locator(".timeline-side").innerText(), /computes in/);
      assert.deepEqual(read.problems, []);
      await read.context.close();
    },
  };
}
