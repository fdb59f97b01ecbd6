// Timelines of many processes: what is unlike the rest is seen in the first picture.

import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { asked, dwell, go, open, root, settled } from "./setup.mjs";

/** What is under the middle of the canvas, from the top down. */
function down(page, part = 0.5) {
  return page.evaluate((part) => {
    const box = document.querySelector(".timeline canvas").getBoundingClientRect();
    const found = [];
    for (let y = box.top + 72; y < box.bottom; y += 2) {
      const hit = __dwell.hit(box.left + 150 + (box.width - 150) * part, y);
      if (hit && hit.row !== undefined && hit.row !== found.at(-1)?.row) found.push({ ...hit, at: [box.left + 150 + (box.width - 150) * part, y] });
    }
    return found;
  }, part);
}

/** Mean share of waiting of a row over the whole picture. */
function waiting(page, row, rows = "sort=alike") {
  return page.evaluate(async ([row, rows]) => {
    const secret = (sessionStorage.getItem("dwell-secret") ?? localStorage.getItem("dwell-secret"));
    const get = (what) => fetch(`/api/v1/runs/0/timeline/${what}`, { headers: { authorization: `Bearer ${secret}` } });
    const about = await (await fetch("/api/v1/runs/0/timeline", { headers: { authorization: `Bearer ${secret}` } })).json();
    const key = (await (await get(`rows?${rows}`)).json()).rows[row].key;
    const bytes = new Uint8Array(await (await get(`tile?rows=${key}&columns=1&sharp=1&from=${about.opens}`)).arrayBuffer());
    return bytes[about.classes.indexOf("wait")] / 255;
  }, [row, rows]);
}

export function many(tab, accessible) {
  return {
    async "many: a slow node and a rank that drifts have rows of their own"(browser, { sample }) {
      const [node, drift] = (sample ? ["node"] : ["node", "drift"]).map((what) => {
        const directory = join(root, `slow-${what}`);
        dwell("synth", "slow", what, "-o", directory, "--ranks", "128", "--steps", "12");
        dwell("analyze", directory);
        dwell("timeline", directory);
        return directory;
      });
      const { page, context, problems } = await tab(browser, { runs: sample ? [node] : [node, drift] });
      await go(page, { view: "timeline" });
      const about = await asked(page, "runs/0/timeline");
      assert.ok(about.opens > 0 && about.opens === about.started, `${about.opens}`);
      const [slow, others, ...more] = await down(page);
      assert.deepEqual(more, []);
      assert.match(slow.text, /^node0009 at /);
      assert.match(others.text, /120 alike/);
      // Who is waited for, and not only who waits.
      const { rows } = await asked(page, "runs/0/timeline/rows?sort=alike");
      assert.deepEqual(rows.map((it) => [it.name, it.waited_for]), [["node0009", true], ["All others", false]]);
      assert.ok(slow.time > about.opens, "after the start-up");
      assert.ok((await waiting(page, 0)) < 0.05 && (await waiting(page, 1)) > 0.15);
      // Opened by a click on its name, and folded again.
      const box = await page.locator(".timeline canvas").boundingBox();
      await page.mouse.click(box.x + 100, slow.at[1] + 10);
      await settled(page);
      assert.match(page.url(), /open=0/);
      assert.equal((await down(page)).length, 10);
      await page.goBack();
      await settled(page);
      // A mark of a long wait selects it: who waited and who was waited for come to the top.
      const mark = await page.evaluate((y) => {
        const box = document.querySelector(".timeline canvas").getBoundingClientRect();
        for (let x = box.left + 152; x < box.right; x += 2) if (__dwell.hit(x, y)?.wait) return [x, y];
        return undefined;
      }, others.at[1] + 2);
      await page.mouse.click(...mark);
      await settled(page);
      const [location, time] = new URLSearchParams(page.url().split("#")[1]).get("sel").split("@").map(Number);
      const { wait } = await asked(page, `runs/0/timeline/at?location=${location}&time=${time}`);
      assert.deepEqual((await down(page)).slice(0, 2).map((it) => it.location), [location, wait.culprit]);
      if (!sample) await accessible(page, "partners");
      // The rank that drifts is alone in its group.
      if (!sample) {
        await go(page, { view: "timeline", run: "1" });
        const [one, rest] = await down(page);
        assert.equal(one.location, 42);
        assert.match(rest.text, /127 alike/);
      }
      // Low rows are colours of one scale, which the legend shows.
      await go(page, { view: "timeline", rowsort: "number" });
      assert.match(await page.locator(".timeline-legend").innerText(), /100 %/);
      await go(page, { view: "timeline", rowsort: "node", heat: "1" });
      assert.match(await page.locator(".timeline-legend").innerText(), /100 %/);
      await page.getByRole("button", { name: "Whole run" }).click();
      await settled(page);
      assert.match(page.url(), /t=0-/);
      assert.deepEqual(problems, []);
      await context.close();
      // The file has the rows that the page asks for.
      const file = join(root, "slow.html");
      dwell("export", node, "-o", file);
      const read = await open(browser, pathToFileURL(file).href, { offline: true });
      await go(read.page, { view: "timeline" });
      assert.match((await down(read.page))[0].text, /^node0009 at /);
      await read.page.getByRole("button", { name: "Whole run" }).click();
      await settled(read.page);
      assert.ok((await down(read.page, 0.01))[0].time < about.opens / 2);
      assert.deepEqual(read.problems, []);
      await read.context.close();
    },
  };
}
