// Tests of the timeline.

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import { analysed, asked, dwell, go, root, settled } from "./setup.mjs";

/** Everything that a location entered and left, from the archive itself: a list of spans with the names of regions. */
function recorded(run) {
  const open = new Map();
  const spans = [];
  let begin;
  for (const line of dwell("print", run).split("\n")) {
    const found = /^(ENTER|LEAVE)\s+(\d+)\s+(\d+)\s+Region: "([^"]*)"/.exec(line);
    if (!found) continue;
    const [, what, location, time, region] = found;
    begin = Math.min(begin ?? Infinity, Number(time));
    const stack = open.get(location) ?? [];
    open.set(location, stack);
    if (what === "ENTER") stack.push({ region, from: Number(time), depth: stack.length });
    else spans.push({ ...stack.pop(), location: Number(location), to: Number(time) });
  }
  return spans.map((it) => ({ ...it, from: it.from - begin, to: it.to - begin }));
}

/** What is under points of the picture, in a grid. */
async function hits(page, across, down) {
  const box = await page.locator(".timeline canvas").boundingBox();
  return page.evaluate(([box, across, down]) => {
    const found = [];
    for (let row = 0; row < down; row++) {
      for (let column = 0; column < across; column++) {
        const [x, y] = [box.x + 151 + ((box.width - 152) * column) / across, box.y + 72 + ((box.height - 76) * row) / down];
        const hit = __dwell.hit(x, y);
        if (hit) found.push({ ...hit, at: [x, y] });
      }
    }
    return found;
  }, [box, across, down]);
}

function span(page) {
  const found = /[#&]t=(\d+)-(\d+)/.exec(page.url());
  return found ? [Number(found[1]), Number(found[2])] : undefined;
}

export function timelines(run, tab, accessible) {
  return {
    async "timeline: what is under the pointer is what the archive says"(browser) {
      const { page, context, problems } = await tab(browser);
      await go(page, { view: "timeline" });
      const spans = recorded(run());
      const calls = (await asked(page, "runs/0/calls")).calls;
      const checked = { call: 0, wait: 0 };
      for (const t of [undefined, "1000000-1400000", "1040000-1060000"]) {
        await go(page, { view: "timeline", ...(t && { t }) });
        const found = await hits(page, 61, 40);
        assert.ok(found.length > 1000, `${found.length}`);
        for (const hit of found) {
          assert.ok(hit.sharp, "exact");
          if (hit.class === undefined) continue;
          // The innermost region that is open then is the call, and a slice is inside of it.
          const inside = spans.filter((it) => it.location === hit.location && it.from <= hit.time && hit.time < it.to);
          const innermost = inside.sort((a, b) => b.depth - a.depth)[0];
          assert.equal(calls[hit.call]?.name, innermost?.region, hit.text);
          assert.ok(innermost.from <= hit.from && hit.to <= innermost.to, hit.text);
          checked[hit.class === "wait" ? "wait" : "call"] += 1;
        }
      }
      assert.ok(checked.call > 500 && checked.wait > 20, JSON.stringify(checked));
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: keys zoom and move, Back goes back, a link opens the same"(browser) {
      const { page, context, problems } = await tab(browser);
      const { length } = await asked(page, "runs/0/timeline");
      await go(page, { view: "timeline" });
      assert.equal(span(page), undefined);
      await page.keyboard.press("w");
      await settled(page);
      const [from, to] = span(page);
      assert.ok(from > 0 && to < length && Math.abs((to - from) / length - 0.6) < 0.01, `${from} ${to}`);
      await page.waitForTimeout(800);
      await page.keyboard.press("d");
      await settled(page);
      assert.ok(span(page)[0] > from);
      const link = page.url();
      await page.goBack();
      await settled(page);
      assert.deepEqual(span(page), [from, to]);
      await page.goForward();
      await settled(page);
      const shown = await hits(page, 31, 16);
      await page.reload();
      await settled(page);
      assert.equal(page.url(), link);
      assert.deepEqual((await hits(page, 31, 16)).map((it) => it.text), shown.map((it) => it.text));
      await page.keyboard.press("f");
      await settled(page);
      assert.equal(span(page), undefined);
      // By mouse: a span of the rows, and of the strip above them.
      const box = await page.locator(".timeline canvas").boundingBox();
      const plot = { left: box.x + 150, width: box.width - 150 };
      for (const y of [box.y + 150, box.y + 20]) {
        await page.mouse.move(plot.left + plot.width * 0.25, y);
        await page.mouse.down();
        await page.mouse.move(plot.left + plot.width * 0.5, y, { steps: 4 });
        await page.mouse.up();
        await settled(page);
        const [a, b] = span(page);
        assert.ok(Math.abs(a / length - 0.25) < 0.01 && Math.abs(b / length - 0.5) < 0.01, `${a} ${b} of ${length}`);
        await page.getByRole("button", { name: "Whole run" }).click();
        await settled(page);
      }
      await page.mouse.move(plot.left + plot.width / 2, box.y + 150);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -100);
      await page.keyboard.up("Control");
      await settled(page);
      assert.ok(Math.abs((span(page)[1] - span(page)[0]) / length - 0.8) < 0.01);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: operations have arrows, with their bytes and partners"(browser) {
      const { page, context, problems } = await tab(browser);
      const count = (kind) => dwell("print", run()).split("\n").filter((line) => line.startsWith(`${kind} `)).length;
      const all = await asked(page, "runs/0/timeline/operations");
      const of = (kind) => all.kind.reduce((sum, it, at) => sum + (it === kind ? all.counts[at] : 0), 0);
      assert.equal(all.missing, "");
      for (const [kind, record] of [["put", "RMA_PUT"], ["get", "RMA_GET"], ["atomic", "RMA_ATOMIC"]]) {
        assert.ok(of(kind) <= count(record) && (of(kind) > 0) === (count(record) > 0), `${kind}: ${of(kind)} of ${count(record)}`);
      }
      assert.ok(all.count > 0 && all.kind.length <= 2000, `${all.count}`);
      // A span around one of them, and the pointer on its arrow.
      const at = all.to.findIndex((to, n) => to > all.from[n] && all.counts[n] === 1);
      const [from, to] = [all.from[at], all.to[at]];
      await go(page, { view: "timeline", t: `${Math.max(0, Math.floor(from - (to - from)))}-${Math.ceil(to + (to - from))}` });
      const box = await page.locator(".timeline canvas").boundingBox();
      const found = await page.evaluate(([box, rows]) => {
        for (let y = box.y + 72; y < box.y + 72 + rows; y += 3) {
          for (let x = box.x + 151; x < box.x + box.width; x += 3) {
            const hit = __dwell.hit(x, y);
            if (hit?.operation) return { ...hit, at: [x, y] };
          }
        }
        return undefined;
      }, [box, 600]);
      assert.match(found.operation, /(put|get|atomic|message|lock) .*Rank \d+/);
      await page.mouse.move(...found.at);
      assert.match(await page.locator(".tip").innerText(), /Rank \d+/);
      // The call that issued it lists it.
      const detail = await asked(page, `runs/0/timeline/at?location=${all.origin[at]}&time=${Math.floor(from)}`);
      const listed = detail.operations.find((it) => it.from === from && it.partner === all.partner[at]);
      assert.deepEqual([listed?.kind, listed?.to, listed?.bytes], [all.kind[at], to, all.bytes[at]]);
      await page.getByLabel("Operations").uncheck();
      await settled(page);
      assert.match(page.url(), /operations=0/);
      assert.equal(await page.evaluate(([x, y]) => __dwell.hit(x, y)?.operation, found.at), undefined);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: its span restricts call paths, findings, matrix and spread"(browser) {
      const { page, context, problems } = await tab(browser);
      const t = "1000000-1400000";
      const [from, to] = t.split("-").map(Number);
      const part = (it) => Math.max(0, Math.min(it.to, to) - Math.max(it.from, from)) / 1e9;
      // The time of each region without what it calls, from the archive itself.
      const expected = new Map();
      const spans = recorded(run());
      for (const it of spans) {
        const inner = spans.filter((other) =>
          other.location === it.location && other.depth === it.depth + 1 && other.from >= it.from && other.to <= it.to);
        expected.set(it.region, (expected.get(it.region) ?? 0) + part(it) - inner.reduce((sum, other) => sum + part(other), 0));
      }
      const { metrics } = await asked(page, "runs/0/metrics");
      const { calls } = await asked(page, "runs/0/calls");
      const time = metrics.findIndex((it) => it.name === "time");
      const values = await asked(page, `runs/0/calls/values?metric=${time}&t=${t}`);
      const found = new Map();
      values.calls.forEach((call, at) => found.set(calls[call].name, (found.get(calls[call].name) ?? 0) + values.exclusive[at]));
      for (const [region, value] of expected) {
        assert.ok(Math.abs(value - (found.get(region) ?? 0)) < 1e-9, `${region}: ${found.get(region)} for ${value}`);
      }
      const row = await asked(page, `runs/0/row?metric=${time}&t=${t}`);
      assert.ok(row.every((it) => Math.abs(it - 0.4e-3) < 1e-9), `${row}`);
      // All waits of the span: those of findings, of the matrix and of the timeline are the same.
      const totals = await asked(page, `runs/0/timeline/totals?from=${from}&to=${to}`);
      const bars = await asked(page, `runs/0/bars?count=0&t=${t}`);
      const waits = bars.whole[bars.classes.indexOf("wait")];
      const ofSpan = totals.totals.filter((it) => it.class === bars.classes.indexOf("wait")).reduce((sum, it) => sum + it.seconds, 0);
      const findings = (await asked(page, `runs/0/timeline/findings?t=${t}`)).seconds.reduce((sum, it) => sum + (it ?? 0), 0);
      const matrix = (await asked(page, `runs/0/matrix?t=${t}`)).wait.reduce((sum, it) => sum + it, 0);
      assert.ok(waits > 0);
      for (const it of [ofSpan, findings, matrix]) assert.ok(Math.abs(it - waits) < 1e-9, `${it} for ${waits}`);
      for (const view of ["findings", "calls", "matrix", "spread"]) {
        await go(page, { view, t });
        assert.match(await page.locator("main").innerText(), /Only 1.000 ms to 1.400 ms/, view);
        await accessible(page, `${view} in a span`);
      }
      await go(page, { view: "findings", t });
      assert.match(await page.locator(".in-span").first().innerText(), /in the span/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: its span restricts the processes"(browser) {
      const { page, context, problems } = await tab(browser);
      await go(page, { view: "timeline", t: "1000000-1400000" });
      await page.keyboard.press("5");
      await settled(page);
      const bars = await asked(page, "runs/0/bars?count=256&t=1000000-1400000");
      const sum = bars.values.reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0), 0);
      assert.ok(Math.abs(sum - 16 * 0.4e-3) < 1e-9, `${sum}`);
      const [, totals] = await Promise.all([0, asked(page, "runs/0/timeline/totals?from=1000000&to=1400000")]);
      const wait = totals.totals.filter((it) => it.class === bars.classes.indexOf("wait")).reduce((sum, it) => sum + it.seconds, 0);
      assert.ok(Math.abs(wait - bars.whole[bars.classes.indexOf("wait")]) < 1e-9);
      assert.match(await page.locator(".toolbar").innerText(), /Only 1.000 ms to 1.400 ms/);
      await page.getByRole("button", { name: "Whole run" }).click();
      await settled(page);
      assert.doesNotMatch(page.url(), /t=/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: When opens the worst instance, and says what the other did meanwhile"(browser) {
      const { page, context, problems } = await tab(browser);
      await go(page, { view: "findings", finding: "0" });
      await page.locator(".finding.open").getByRole("link", { name: "When" }).first().click();
      await settled(page);
      assert.match(page.url(), /view=timeline/);
      const overview = await asked(page, "runs/0/overview");
      const finding = overview.findings[overview.entries[0].findings[0]];
      const named = `call=${finding.call}&pattern=${finding.pattern}`;
      const { worst, count } = await asked(page, `runs/0/timeline/instances?${named}`);
      assert.ok(Math.abs(worst[0].seconds - finding.worst.seconds_at_most) < 1e-12);
      assert.ok(worst.every((it, at) => at === 0 || it.seconds <= worst[at - 1].seconds));
      assert.match(await page.locator(".toolbar").innerText(), new RegExp(`1 of ${count.toLocaleString("en-US")}`));
      await page.keyboard.press("Period");
      await settled(page);
      assert.match(page.url(), /instance=1/);
      const side = page.locator(".timeline-side");
      const text = await side.innerText();
      const at = await asked(page, `runs/0/timeline/at?location=${worst[1].location}&time=${Math.floor((worst[1].from + worst[1].to) / 2)}`);
      assert.ok(text.includes(at.name) && text.includes(at.culprit_name) && text.includes("Meanwhile"), text);
      const sum = at.meanwhile.reduce((sum, it) => sum + it.seconds, 0);
      assert.ok(Math.abs(sum - (at.to - at.from) / 1e9) < 1e-9, "what the other did covers the wait");
      // To the process that ended the wait.
      await page.keyboard.press("]");
      await settled(page);
      assert.match(page.url(), new RegExp(`sel=${at.wait.culprit}%40${at.wait.to - 1}`));
      await page.keyboard.press("Comma");
      await settled(page);
      assert.doesNotMatch(page.url(), /instance=/);
      await page.getByLabel("As a table").check();
      await settled(page);
      assert.ok((await page.locator(".timeline tbody tr").count()) > 1);
      await page.getByLabel("As a table").uncheck();
      // By keys: from one thing to the next.
      await page.locator(".timeline canvas").focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowDown");
      assert.match(await page.locator("[role=status]").innerText(), /Rank/);
      await page.keyboard.press("Enter");
      await settled(page);
      assert.match(page.url(), /sel=/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: many processes are bands, which open; rows can be sorted and pinned"(browser, { sample }) {
      const directory = analysed("sor", "sor-130", "--ranks", "130", "--iterations", "4");
      dwell("timeline", directory);
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      await go(page, { view: "timeline" });
      const rows = (await asked(page, "runs/0/timeline/rows?band=4")).rows;
      assert.deepEqual(rows.map((it) => it.end - it.first), [...Array(32).fill(4), 2]);
      const all = await hits(page, 40, 60);
      const tile = await page.evaluate(async () => {
        const secret = sessionStorage.getItem("dwell-secret");
        const answer = await fetch("/api/v1/runs/0/timeline/tile?band=4&columns=1&sharp=1", { headers: { authorization: `Bearer ${secret}` } });
        return [...new Uint8Array(await answer.arrayBuffer())];
      });
      assert.equal(tile.length, 33 * 10);
      assert.ok(all.some((hit) => hit.parts?.wait > 0), "shares");
      const band = all.find((hit) => hit.row === 2);
      await page.mouse.click(...band.at);
      await settled(page);
      assert.match(page.url(), /rows=8-12/);
      if (!sample) await accessible(page, "one band");
      await page.getByRole("button", { name: /All 130 rows/ }).click();
      await page.getByRole("combobox", { name: "Rows" }).selectOption("wait");
      await settled(page);
      const most = (await asked(page, "runs/0/timeline/rows?sort=wait")).rows;
      assert.ok(most.every((row, at) => at === 0 || row.wait <= most[at - 1].wait) && most.length === 64);
      const [first] = await hits(page, 3, 3);
      assert.equal(first.location, most[0].first);
      await page.mouse.click(...first.at);
      await settled(page);
      await page.getByRole("link", { name: "Pin the row" }).click();
      await page.getByRole("combobox", { name: "Rows" }).selectOption("number");
      await settled(page);
      assert.equal((await hits(page, 3, 3))[0].location, most[0].first);
      // Nodes as rows, and only rows with a call.
      const nodes = (await asked(page, "runs/0/timeline/rows?fold=node")).rows;
      assert.deepEqual([nodes[0].first, nodes.at(-1).end], [0, 130]);
      assert.ok(nodes.every((row, at) => at === 0 || row.first === nodes[at - 1].end));
      await page.getByRole("link", { name: "Only rows with this call" }).click();
      await settled(page);
      assert.match(page.url(), /only=/);
      assert.match(await page.locator(".toolbar").innerText(), /Only \S+/);
      await page.getByRole("button", { name: "All calls" }).click();
      await settled(page);
      assert.doesNotMatch(page.url(), /only=/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: two runs over one axis, aligned where both have started"(browser) {
      const archives = ["shmem-tcp-mixed", "shmem-sm-mixed"].map((name) => {
        const directory = join(root, `two-${name}`);
        cpSync(resolve("../tests/data/archives", name), directory, { recursive: true });
        dwell("analyze", directory, "--top", "0");
        dwell("timeline", directory);
        return directory;
      });
      const { page, context, problems } = await tab(browser, { runs: archives });
      await go(page, { view: "timeline", with: "1" });
      const abouts = await Promise.all([0, 1].map((it) => asked(page, `runs/${it}/timeline`)));
      // The end of the call that starts the runtime, from the archive itself.
      archives.forEach((archive, at) => {
        const ends = recorded(archive).filter((it) => it.region === "shmem_init").map((it) => it.to);
        assert.equal(abouts[at].started, Math.max(...ends));
      });
      const shift = abouts[1].started - abouts[0].started;
      const canvases = page.locator(".timeline canvas");
      assert.equal(await canvases.count(), 2);
      const t = [abouts[0].started + 100e6, abouts[0].started + 300e6];
      await go(page, { view: "timeline", with: "1", t: t.join("-") });
      const [first, second] = await Promise.all([0, 1].map((it) => canvases.nth(it).boundingBox()));
      const at = (box, part) => page.evaluate(([x, y]) => __dwell.hit(x, y), [box.x + 151 + (box.width - 152) * part, box.y + 100]);
      for (const part of [0.1, 0.5, 0.9]) {
        const [one, other] = [await at(first, part), await at(second, part)];
        assert.ok(Math.abs(other.time - one.time - shift) < (t[1] - t[0]) / 300, `${other.time} beside ${one.time}`);
        assert.ok(one.sharp && other.sharp);
      }
      // Zooming in the second zooms both.
      await page.mouse.move(second.x + second.width / 2, second.y + 100);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -100);
      await page.keyboard.up("Control");
      await settled(page);
      assert.ok(Math.abs((span(page)[1] - span(page)[0]) / (t[1] - t[0]) - 0.8) < 0.01);
      await accessible(page, "two timelines");
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: a run without an index says how to make one"(browser) {
      const directory = join(root, "sor-bare");
      dwell("synth", "sor", "-o", directory, "--ranks", "4");
      dwell("analyze", directory, "--top", "0", "--causes", "never");
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      await go(page, { view: "timeline" });
      assert.match(await page.locator("main").innerText(), /dwell timeline/);
      assert.deepEqual(problems, []);
      await context.close();
    },
  };
}
