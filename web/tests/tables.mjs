// Tables, trees and pictures as people use them: arranged, sorted, added up, resized, saved, copied.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { runnerImport } from "vite";
import { analysed, asked, go, hasShmem, recorded, settled } from "./setup.mjs";
import { recorded as events } from "./timeline.mjs";

export function tables(runs, tab) {
  return {
    async "panes open at the largest wait, and can be resized by keys and by mouse"(browser) {
      const { page, context, problems } = await tab(browser, {});
      await go(page, { view: "panes" });
      const selected = await page.locator("[role=treeitem][aria-selected=true]").allInnerTexts();
      assert.ok(selected.some((it) => it.includes("Wait for Progress")), selected.join());
      assert.ok(selected.some((it) => it.includes("ARMCI_Get")), selected.join());
      const width = async () => (await page.locator(".panes > .pane").first().boundingBox()).width;
      const first = await width();
      const line = page.getByRole("separator", { name: "Between metrics and call paths" });
      await line.focus();
      await page.keyboard.press("ArrowRight");
      const second = await width();
      assert.ok(second > first + 10, `${first} ${second}`);
      const box = await line.boundingBox();
      await page.mouse.move(box.x + 4, box.y + 200);
      await page.mouse.down();
      await page.mouse.move(box.x - 120, box.y + 200, { steps: 4 });
      await page.mouse.up();
      assert.ok((await width()) < second - 80, "dragged");
      // It stays so.
      const third = await width();
      await page.reload();
      await settled(page);
      assert.ok(Math.abs((await width()) - third) < 2);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "call paths: the median and the longest call are those of the archive, or not computed"(browser) {
      const { page, context, problems } = await tab(browser, {});
      const { module: format } = await runnerImport(new URL("../src/format.ts", import.meta.url).pathname);
      await go(page, { view: "calls", metric: "time" });
      const { calls } = await asked(page, "runs/0/calls");
      const lengths = await asked(page, "runs/0/calls/lengths");
      assert.equal(lengths.state, "ready");
      const spans = events(runs()[0]);
      for (const name of ["ARMCI_Get", "ARMCI_AllFence", "MPI_Allreduce", "main"]) {
        const call = calls.findIndex((it) => it.name === name);
        const sorted = spans.filter((it) => it.region === name).map((it) => it.to - it.from).sort((a, b) => a - b);
        const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
        const at = lengths.calls.indexOf(call);
        const text = await page.getByRole("row", { name: new RegExp(name) }).innerText();
        if (at < 0) {
          // Gets follow each other without any time between them, so that a wait may belong to either.
          assert.equal(name, "ARMCI_Get");
          assert.match(text, /not computed/);
          continue;
        }
        assert.ok(Math.abs(lengths.median[at] - (low + high) / 2e9) < 1e-12, `${name}: ${lengths.median[at]} for ${low} and ${high}`);
        assert.ok(Math.abs(lengths.longest[at] - sorted.at(-1) / 1e9) < 1e-12, `${name}: ${lengths.longest[at]}`);
        assert.ok(text.includes(format.seconds(lengths.median[at])) && text.includes(format.seconds(lengths.longest[at])), text);
      }
      await go(page, { view: "calls", metric: "time", call: calls.find((it) => it.name === "ARMCI_AllFence").key });
      assert.match(await page.locator(".source-facts").innerText(), /Median .*Longest/s);
      // A run without an index.
      await go(page, { view: "calls", metric: "time", run: "1" });
      const other = await asked(page, "runs/1/calls/lengths");
      if (other.state === "missing") assert.match(await page.locator(".calls-table").innerText(), /not computed/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "call paths: names of two runs are whole where there is room"(browser) {
      const { page, context, problems } = await tab(browser, { width: 1920 });
      await go(page, { view: "calls", metric: "time", with: "1" });
      const cut = await page.locator(".head-run").evaluateAll((list) => list.map((it) => [it.textContent, it.scrollWidth > it.clientWidth]));
      assert.ok(cut.length > 4 && cut.every((it) => !it[1]), JSON.stringify(cut));
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "call paths: bottom-up, flat, marked rows are added up, the table is copied"(browser) {
      const { page, context, problems } = await tab(browser, {});
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      const { module: format } = await runnerImport(new URL("../src/format.ts", import.meta.url).pathname);
      await go(page, { view: "calls", metric: "time" });
      const metrics = (await asked(page, "runs/0/metrics")).metrics;
      const { calls } = await asked(page, "runs/0/calls");
      const values = await asked(page, `runs/0/calls/values?metric=${metrics.findIndex((it) => it.name === "time")}`);
      const waits = await asked(page, "runs/0/calls/waits");
      const own = (name) => values.exclusive[values.calls.indexOf(calls.findIndex((it) => it.name === name))];
      const row = (name) => page.getByRole("row", { name: new RegExp(name) });
      // Waits stand beside the time.
      const get = calls.findIndex((it) => it.name === "ARMCI_Get");
      const wait = format.seconds(waits.inclusive[waits.calls.indexOf(get)]);
      assert.ok((await row("ARMCI_Get").innerText()).includes(wait), wait);
      await row("ARMCI_Get").click();
      await row("MPI_Allreduce").click({ modifiers: ["Control"] });
      await settled(page);
      const sum = await page.locator(".marked-sum").innerText();
      assert.match(sum, /2 rows together/);
      assert.ok(sum.includes(format.seconds(own("ARMCI_Get") + own("MPI_Allreduce"))), sum);
      // What is below another marked row is not counted twice.
      await row("main").click({ modifiers: ["Control"] });
      await settled(page);
      const whole = values.inclusive[values.calls.indexOf(calls.findIndex((it) => it.name === "main"))];
      assert.ok((await page.locator(".marked-sum").innerText()).includes(`Total ${format.seconds(whole)}`), "total");
      await page.getByRole("button", { name: "Copy table" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      const copied = (await page.evaluate(() => navigator.clipboard.readText())).split("\n").map((it) => it.split("\t"));
      assert.equal(copied[0][0], "Call");
      const at = copied[0].indexOf("Self");
      assert.equal(Number(copied.find((it) => it[0] === "ARMCI_Get")[at]), own("ARMCI_Get"));
      await go(page, { view: "calls", metric: "time", as: "bottom" });
      const names = async () => (await page.getByRole("treegrid").getByRole("row").locator(".text").allInnerTexts()).filter(Boolean);
      assert.equal((await names())[0], "main", "what takes most by itself comes first");
      await row("ARMCI_Get").click();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      assert.deepEqual((await names()).filter((it) => it === "main").length, 2, "its caller is below it");
      await go(page, { view: "calls", metric: "time", as: "flat" });
      assert.equal((await names()).length, 4);
      assert.ok((await row("ARMCI_AllFence").innerText()).includes(format.seconds(own("ARMCI_AllFence"))));
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "source: the whole file, with what each line takes in the margin"(browser) {
      if (!hasShmem()) return;
      const { module: format } = await runnerImport(new URL("../src/format.ts", import.meta.url).pathname);
      const { page, context, problems } = await tab(browser, { runs: [recorded("late_halo", "halo-source")] });
      await go(page, { view: "calls", metric: "time" });
      // Without a choice it is that of the largest wait.
      assert.match(await page.locator(".source .pane-head").innerText(), /shmem_long_wait_until/);
      const lines = readFileSync("../tests/programs/late_halo.c", "utf8").trimEnd().split("\n");
      assert.equal(await page.locator(".code li").count(), lines.length);
      const { calls } = await asked(page, "runs/0/calls");
      const values = await asked(page, "runs/0/calls/values?metric=0");
      for (const line of [31, 32]) {
        const call = calls.findIndex((it) => it.name === "shmem_long_wait_until" && it.line === line);
        const text = await page.locator(`.code li:nth-child(${line})`).innerText();
        assert.ok(text.includes(format.seconds(values.inclusive[values.calls.indexOf(call)])), text);
      }
      assert.equal(await page.locator(".code li:nth-child(2) .line-value").innerText(), "");
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "many processes are bands, which open; pictures are saved as SVG and PNG"(browser) {
      const { page, context, problems } = await tab(browser, { runs: [analysed("sor", "sor-1024", "--ranks", "1024", "--iterations", "2")] });
      await go(page, { view: "processes" });
      const all = [];
      for (let from = 0; from < 1024; from += 256) all.push(await asked(page, `runs/0/bars?count=256${from ? `&from=${from}` : ""}`));
      const wait = all[0].classes.indexOf("wait");
      const waits = all.flatMap((it) => it.values[wait]);
      const box = await page.locator("canvas").boundingBox();
      const hits = await page.evaluate((box) => {
        const found = new Map();
        for (let x = box.x; x < box.x + box.width; x += 2) {
          const hit = __dwell.hit(x, box.y + box.height / 2);
          if (hit) found.set(hit.bar, { ...hit, at: [x, box.y + box.height / 2] });
        }
        return [...found.values()];
      }, box);
      assert.equal(hits.length, 128);
      for (const hit of hits) {
        const group = waits.slice(8 * hit.bar, 8 * hit.bar + 8);
        const mean = group.reduce((a, b) => a + b, 0) / 8;
        assert.ok(Math.abs((hit.parts.wait ?? 0) - mean) < 1e-12, hit.text);
      }
      for (const kind of ["SVG", "PNG"]) {
        await page.locator(".picture").hover();
        const download = page.waitForEvent("download");
        await page.getByRole("button", { name: kind }).click();
        const bytes = readFileSync(await (await download).path());
        if (kind === "PNG") assert.equal(bytes.subarray(1, 4).toString(), "PNG");
        else assert.ok(bytes.toString().startsWith("<svg") && bytes.toString().split("<rect").length > 128 && / [um]s<\/text>/.test(bytes.toString()));
      }
      await page.mouse.click(...hits[3].at);
      await settled(page);
      assert.match(page.url(), /from=24/);
      assert.match(await page.locator(".toolbar").innerText(), /25 to 280 of 1,024/);
      assert.deepEqual(problems, []);
      await context.close();
    },
  };
}
