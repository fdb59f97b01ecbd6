// Two runs beside each other: what belongs to what, and that every part of every view shows both.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runnerImport } from "vite";
import { analysed, asked, go, hasShmem, recorded, settled } from "./setup.mjs";

const WAIT = "armci_rma_comm_wait_for_progress";

let halo;
/** A program before and after a change: another name, a line more at the top, and no late process. */
function beforeAndAfter() {
  halo ??= [
    // Late by so much that a busy machine does not hide it.
    recorded("late_halo", "halo-before", { flags: ["-DLATE=27000"] }),
    recorded("late_halo", "halo-after", { flags: ["-DLATE=3000"], binary: "late_halo_fixed", edit: (text) => `/* Fixed. */\n${text}` }),
  ];
  return halo;
}

function findings(directory) {
  return JSON.parse(readFileSync(join(directory, "findings.json"), "utf8")).findings;
}

export function comparisons(runs, tab) {
  return {
    async "two runs: the first screen compares, every call site with its own, whatever the program is called"(browser) {
      if (!hasShmem()) return;
      const { module: format } = await runnerImport(new URL("../src/format.ts", import.meta.url).pathname);
      const [before, after] = beforeAndAfter();
      const { page, context, problems } = await tab(browser, { runs: [before, after] });
      assert.match(page.url(), /with=1/);
      const head = (await page.locator(".headline").innerText()).replaceAll("\u00a0", " ");
      assert.match(head, /late_halo compared with late_halo_fixed/);
      assert.match(head, /% shorter: .+, then .+; waits -/);
      // Both waits of the exchange, one line apart, each with the same one of the other run, one line further down.
      const of_line = (list, line) => list.find((it) => it.pattern === "late_signal" && it.path.at(-1).line === line);
      const lines = findings(before).filter((it) => it.pattern === "late_signal").map((it) => it.path.at(-1).line);
      assert.deepEqual([...new Set(lines)].sort(), [31, 32]);
      for (const line of [31, 32]) {
        const [one, other] = [of_line(findings(before), line), of_line(findings(after), line + 1)];
        const card = page.locator(".finding-head", { has: page.locator(".finding-where", { hasText: `late_halo.c:${line}` }) });
        const text = await card.innerText();
        const then = other ? `then ${format.bounds(other.seconds, other.seconds_at_most)}` : "then none";
        assert.ok(text.includes(then), `${text}\n${then}`);
        const delta = format.change((other?.seconds ?? 0) - one.seconds, "sec");
        assert.ok(text.includes(delta), `${text}\n${delta}`);
      }
      await go(page, { view: "calls", with: "1", metric: "time" });
      assert.equal(await page.locator(".chip.more, .chip.less").count(), 0, "nothing is new or gone");
      const time = (await asked(page, "runs/0/metrics")).metrics.findIndex((it) => it.name === "time");
      const exclusive = async (run, line) => {
        const { calls } = await asked(page, `runs/${run}/calls`);
        const values = await asked(page, `runs/${run}/calls/values?metric=${time}`);
        return values.exclusive[values.calls.indexOf(calls.findIndex((it) => it.name === "shmem_long_wait_until" && it.line === line))];
      };
      for (const line of [31, 32]) {
        const change = format.change((await exclusive(1, line + 1)) - (await exclusive(0, line)), "sec");
        const row = await page.getByRole("row", { name: new RegExp(`shmem_long_wait_until.*late_halo.c:${line}`) }).innerText();
        assert.ok(row.includes(change), `${row}\n${change}`);
      }
      // The address says what is compared: without it there is one run.
      await page.getByLabel("Compare with").selectOption("");
      await settled(page);
      assert.doesNotMatch(page.url(), /with=/);
      await page.reload();
      await settled(page);
      assert.doesNotMatch(await page.locator("main").innerText(), /late_halo_fixed/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "two runs: every part shows both, and the colours have numbers"(browser) {
      const { page, context, problems } = await tab(browser, {});
      const names = ["sor", "sor-other"];
      for (const view of ["findings", "panes", "calls", "matrix", "processes", "spread"]) {
        await go(page, { view, with: "1", metric: WAIT });
        const text = await page.locator("main").innerText();
        for (const name of names) assert.ok(text.includes(name), `${view} does not say ${name}`);
        for (const key of await page.locator(".scale-key").allInnerTexts()) assert.match(key, /\d/, view);
      }
      await go(page, { view: "processes", with: "1" });
      assert.equal(await page.locator(".pie").count(), 2);
      await go(page, { view: "spread", with: "1", metric: WAIT });
      assert.ok(await page.locator(".histogram .bar-b").count() > 0);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "two runs: waits of the matrix are compared once both are known"(browser) {
      // The index of the second run is not there yet.
      const other = analysed("sor", "sor-unindexed", "--ranks", "16", "--iterations", "12");
      const { page, context, problems } = await tab(browser, { runs: [runs()[0], other] });
      await go(page, { view: "matrix", with: "1", measure: "wait" });
      const [a, b] = await Promise.all(["0", "1"].map((run) => asked(page, `runs/${run}/matrix?waits=1`)));
      assert.equal(a.waits, "all");
      assert.equal(b.waits, "all");
      const most = (it) => it.wait.map((value, at) => [`${it.origin[at]} ${it.target[at]}`, value]);
      const then = new Map(most(b));
      const box = await page.locator("canvas").boundingBox();
      const texts = await page.evaluate((box) => {
        const found = {};
        for (let y = box.y; y < box.y + box.height; y += 6) {
          for (let x = box.x; x < box.x + box.width; x += 6) {
            const hit = __dwell.hit(x, y);
            if (hit?.row !== undefined) found[`${hit.row} ${hit.column}`] = hit.text;
          }
        }
        return found;
      }, box);
      const { module: format } = await runnerImport(new URL("../src/format.ts", import.meta.url).pathname);
      for (const [place, value] of most(a)) {
        const change = format.change((then.get(place) ?? 0) - value, "sec");
        assert.ok(texts[place].endsWith(`change ${change}`), `${place}: ${texts[place]}, ${change}`);
      }
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "two runs: processes are matched by their names, not by their places"(browser) {
      const many = analysed("sor", "sor-48", "--ranks", "48");
      const { page, context, problems } = await tab(browser, { runs: [runs()[0], many] });
      const compared = await asked(page, "runs/0/compare?with=1");
      const names = async (run) => (await asked(page, `runs/${run}/system/names`)).names;
      const [ours, theirs] = [await names(0), await names(1)];
      assert.ok(compared.rows.some((it) => it >= 0));
      compared.rows.forEach((other, row) => {
        if (!ours[row].startsWith("Rank")) return;
        assert.equal(other, theirs.indexOf(ours[row]), ours[row]);
      });
      await go(page, { view: "matrix", with: "1" });
      assert.match(await page.locator("main").innerText(), /has other processes/);
      assert.deepEqual(problems, []);
      await context.close();
    },
  };
}
