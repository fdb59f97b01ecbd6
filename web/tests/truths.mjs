// What was not computed is never 0, no way leads nowhere, and a server that has ended is said to have ended.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { analysed, asked, dwell, go, hasMpi, hasShmem, open, recorded, recordedMpi, serve, settled } from "./setup.mjs";

export function truths(runs, tab) {
  return {
    async "a profile does not say 0 of waits that nobody has looked for"(browser) {
      const profile = resolve("../tests/data/reference/mpi_waits/profile.cubex");
      const { page, context, problems } = await tab(browser, { runs: [profile, runs()[0]] });
      await go(page, { view: "findings" });
      const text = await page.locator("main").innerText();
      assert.match(text, /not searched for waits/);
      assert.doesNotMatch(text, /Waits take|No call waits/);
      await go(page, { view: "processes" });
      assert.match(await page.locator(".pie").first().innerHTML(), /not searched/);
      assert.doesNotMatch(await page.locator(".whole-pane").innerText(), /Waiting/);
      await go(page, { view: "calls" });
      assert.equal(await page.getByRole("columnheader", { name: "Waits" }).count(), 0);
      // Medians that are not known are no 0 either; the longest calls are in the profile.
      const lengths = await asked(page, "runs/0/calls/lengths");
      assert.ok(lengths.calls.length > 3 && lengths.median.every((it) => it === null) && lengths.longest.every((it) => it > 0));
      assert.match(await page.getByRole("row", { name: /MPI_Barrier/ }).first().innerText(), /not computed/);
      // Beside a run that was searched.
      await go(page, { view: "findings", with: "1" });
      assert.match((await page.locator(".headline").innerText()).replaceAll("\n", " "), /not searched for waits.*Waits take/);
      await go(page, { view: "findings", run: "1", with: "0" });
      assert.match(await page.locator(".finding").first().innerText(), /not searched for waits/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "a profile of Dwell has the longest call, and no median"(browser) {
      if (!hasMpi()) return;
      const profile = recordedMpi("user_says", "says-profile", { options: ["--profile"], args: ["40"], isAnalysed: false });
      dwell("report", profile, "--top", "1");
      const { page, context, problems } = await tab(browser, { runs: [profile] });
      await go(page, { view: "calls", metric: "time" });
      const { metrics } = await asked(page, "runs/0/metrics");
      const { calls } = await asked(page, "runs/0/calls");
      const lengths = await asked(page, "runs/0/calls/lengths");
      assert.ok(lengths.calls.length > 3 && lengths.median.every((it) => it === null));
      const finish = calls.findIndex((it) => it.name === "MPI_Finalize");
      const time = await asked(page, `runs/0/row?metric=${metrics.findIndex((it) => it.name === "time")}&call=${finish}&flavour=inclusive`);
      // It is called once.
      const longest = lengths.longest[lengths.calls.indexOf(finish)];
      assert.ok(Math.abs(longest - Math.max(...time)) < 1e-9, `${longest} of ${time}`);
      await go(page, { view: "calls", metric: "time", call: calls[finish].key });
      assert.match(await page.locator(".source-facts").innerText(), /Median\s+not computed\s+Longest\s+\d/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "spread: processes stand on the grids of the program, rows downwards"(browser) {
      if (!hasMpi()) return;
      const run = recordedMpi("mpi_cart", "cart", { args: ["10"], processes: 4 });
      const { page, context, problems } = await tab(browser, { runs: [run] });
      const { topologies } = await asked(page, "runs/0/topologies");
      assert.deepEqual(topologies.map((it) => it.name), ["MPI grid 2 x 2", "turned"]);
      const grids = { 0: (rank) => [rank >> 1, rank & 1], 1: (rank) => [1 - (rank & 1), rank >> 1] };
      for (const [map, place] of Object.entries(grids)) {
        await go(page, { view: "spread", metric: "mpi_barrier_wait", map });
        const box = await page.locator("canvas").first().boundingBox();
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
        assert.equal(found.length, 4);
        for (const one of found) {
          const [row, column] = place(one.location);
          assert.match(one.text, new RegExp(`at ${row}, ${column} of 2 × 2`));
          for (const other of found) {
            const [below, right] = place(other.location);
            if (below > row) assert.ok(other.y > one.y, `${other.location} is below ${one.location}`);
            if (right > column) assert.ok(other.x > one.x, `${other.location} is to the right of ${one.location}`);
          }
        }
        // The second row of the grid of MPI comes late, so it waits least.
        const waits = found.sort((a, b) => a.location - b.location).map((it) => it.value);
        assert.ok(Math.max(waits[2], waits[3]) < Math.min(waits[0], waits[1]), String(waits));
      }
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "matrix: mean times and rates are those of its amounts"(browser) {
      const run = analysed("srumma", "srumma-rates", "--ranks", "4");
      const { page, context, problems } = await tab(browser, { runs: [run] });
      const matrix = await asked(page, "runs/0/matrix");
      const of = { duration: ["seconds", "operations"], rate: ["bytes", "seconds"] };
      for (const [measure, [above, below]] of Object.entries(of)) {
        await go(page, { view: "matrix", measure });
        const box = await page.locator("canvas").first().boundingBox();
        const found = await page.evaluate((box) => {
          const hits = new Map();
          for (let y = box.y; y < box.y + box.height; y += 8) {
            for (let x = box.x; x < box.x + box.width; x += 8) {
              const hit = __dwell.hit(x, y);
              if (hit?.value) hits.set(`${hit.row} ${hit.column}`, hit);
            }
          }
          return [...hits.values()];
        }, box);
        assert.equal(found.length, matrix.origin.length);
        for (const hit of found) {
          const at = matrix.origin.findIndex((row, cell) => row === hit.row && matrix.target[cell] === hit.column);
          const value = matrix[above][at] / matrix[below][at];
          assert.ok(Math.abs(hit.value - value) <= 0.5 + 1e-12 * value && Math.abs(hit.value / value - 1) < 1e-3, `${measure}: ${hit.value} for ${value}`);
        }
      }
      await go(page, { view: "matrix", measure: "rate" });
      assert.match(await page.locator(".pane-head").first().innerText(), /B\/s/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "matrix: a finding leads to its own waits, of whatever kind"(browser) {
      if (!hasShmem()) return;
      const halo = recorded("late_halo", "halo-waits");
      const { page, context, problems } = await tab(browser, { runs: [halo] });
      const findings = JSON.parse(readFileSync(join(halo, "findings.json"), "utf8")).findings;
      assert.equal(findings[0].pattern, "late_signal");
      await page.getByRole("link", { name: "Between whom" }).first().click();
      await settled(page);
      assert.match(await page.locator(".toolbar").innerText(), /Late Signal of shmem_long_wait_until at late_halo\.c/);
      const box = await page.locator("canvas").boundingBox();
      const cells = await page.evaluate((box) => {
        const found = new Map();
        for (let y = box.y; y < box.y + box.height; y += 6) {
          for (let x = box.x; x < box.x + box.width; x += 6) {
            const hit = __dwell.hit(x, y);
            if (hit?.value) found.set(`${hit.origin} ${hit.target}`, hit);
          }
        }
        return [...found.values()];
      }, box);
      // Everything that the finding waits is in the matrix, at who waits and for whom.
      const sum = cells.reduce((all, it) => all + it.value, 0);
      assert.ok(Math.abs(sum - findings[0].seconds) < 1e-3 * findings[0].seconds, `${sum} ${findings[0].seconds}`);
      for (const [side, list] of [["origin", findings[0].origins], ["target", findings[0].targets]]) {
        for (const { who, seconds } of list) {
          const found = cells.filter((it) => it[side] === who).reduce((all, it) => all + it.value, 0);
          assert.ok(Math.abs(found - seconds) < 1e-3 * sum, `${side} ${who}: ${found} ${seconds}`);
        }
      }
      // All waits are more than those of one finding.
      await page.getByRole("link", { name: "Show all waits" }).click();
      await settled(page);
      const all = (await asked(page, "runs/0/matrix?waits=1")).wait.reduce((a, b) => a + b, 0);
      assert.ok(all > sum * 1.01, `${all} ${sum}`);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "an address works in any tab, and a server that has ended is said to have ended"(browser) {
      const { address, pid } = await serve(...runs());
      const [place, code] = address.split("#");
      const { page, context } = await open(browser, `${place}#v=1&view=calls`);
      assert.match(await page.locator("main").innerText(), /no key/);
      // Put into the address line of this tab: only what is behind the # changes.
      await page.evaluate((hash) => (location.hash = hash), code);
      await page.locator(".headline").waitFor();
      assert.doesNotMatch(page.url(), /code=/);
      await settled(page);
      process.kill(pid);
      await page.waitForFunction(() => fetch("/").then(() => false, () => true));
      await page.evaluate(() => (location.hash = "v=1&view=spread"));
      await page.locator("[role=alert]", { hasText: "dwell view has ended" }).first().waitFor();
      assert.doesNotMatch(await page.locator("body").innerText(), /Failed to fetch/);
      await context.close();
    },
  };
}
