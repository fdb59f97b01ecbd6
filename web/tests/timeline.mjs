// Tests of the timeline.

import assert from "node:assert/strict";
import { cpSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { analysed, asked, dwell, go, hasMpi, recordedMpi, root, settled } from "./setup.mjs";

/** Everything that a location entered and left, from the archive itself: a list of spans with the names of regions. */
export function recorded(run) {
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
        assert.match(await page.locator("main").innerText(), /Only 1.00 ms to 1.40 ms/, view);
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
      assert.match(await page.locator(".toolbar").innerText(), /Only 1.00 ms to 1.40 ms/);
      await page.getByRole("button", { name: "Whole run" }).click();
      await settled(page);
      assert.doesNotMatch(page.url(), /t=/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: When opens the worst instance, and says what the other did meanwhile"(browser) {
      const { page, context, problems } = await tab(browser);
      await go(page, { view: "findings", finding: "1" });
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
      await go(page, { view: "timeline", rowsort: "number" });
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
      // By keys: the row under the cursor.
      await page.locator(".timeline canvas").focus();
      for (let n = 0; n < 4; n++) await page.keyboard.press("ArrowDown");
      await page.keyboard.press("p");
      await settled(page);
      assert.equal(new URLSearchParams(page.url().split("#")[1]).get("pin").split(".").length, 2);
      assert.match(await page.locator("[role=status]").innerText(), /is pinned/);
      await page.goBack();
      await settled(page);
      assert.equal(new URLSearchParams(page.url().split("#")[1]).get("pin"), String(most[0].first));
      await page.getByRole("link", { name: "Only rows with this call" }).click();
      await settled(page);
      assert.match(page.url(), /only=/);
      assert.notEqual(await page.getByRole("combobox", { name: "Calls" }).inputValue(), "");
      await page.getByRole("button", { name: "All calls" }).click();
      await settled(page);
      assert.doesNotMatch(page.url(), /only=/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: rows are sorted by number, wait, blame and node"(browser) {
      const directory = join(root, "sor-130");
      if (!existsSync(directory)) analysed("sor", "sor-130", "--ranks", "130", "--iterations", "4");
      dwell("timeline", directory);
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      const { classes, nodes } = await asked(page, "runs/0/timeline");
      // Added up from single slices: how long each process waited, and how long others waited for it.
      const [wait, blame] = [Array(130).fill(0), Array(130).fill(0)];
      for (const [first, end] of [[0, 65], [65, 130]]) {
        const slices = await asked(page, `runs/0/timeline/slices?band=1&end=${end}&first=${first}`);
        assert.ok(new Set(slices.row).size === 65, "slices of all processes");
        slices.row.forEach((row, n) => {
          if (slices.class[n] !== classes.indexOf("wait")) return;
          wait[first + row] += slices.to[n] - slices.from[n];
          blame[slices.culprit[n]] += slices.to[n] - slices.from[n];
        });
      }
      const most = (values) => values.map((_, at) => at).sort((a, b) => values[b] - values[a] || a - b).slice(0, 64);
      assert.notDeepEqual(most(wait), most(blame));
      await go(page, { view: "timeline" });
      const shown = async (order) => {
        await page.getByRole("combobox", { name: "Rows" }).selectOption(order);
        await settled(page);
        return [...new Map((await hits(page, 1, 400)).map((hit) => [hit.row, hit.location])).values()];
      };
      assert.deepEqual(await shown("wait"), most(wait));
      assert.deepEqual(await shown("blame"), most(blame));
      assert.deepEqual(await shown("number"), Array.from({ length: 33 }, (_, at) => 4 * at));
      // Each node, which begins with its first process, and no process of another between its own.
      const byNode = await shown("node");
      const nodeOf = byNode.map((it) => nodes.findIndex((node) => node.first <= it && it < node.first + node.count));
      assert.deepEqual(nodeOf, [...nodeOf].sort((a, b) => a - b));
      assert.deepEqual([...new Set(nodeOf)], [0, 1, 2]);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: the processes of a node fold into a band of shares"(browser, { sample }) {
      const directory = join(root, "sor-130");
      if (!existsSync(directory)) analysed("sor", "sor-130", "--ranks", "130", "--iterations", "4");
      dwell("timeline", directory);
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      const { nodes } = await asked(page, "runs/0/timeline");
      assert.deepEqual(nodes.map((it) => [it.name, it.first, it.count]), [["node0000", 0, 64], ["node0001", 64, 64], ["node0002", 128, 2]]);
      await go(page, { view: "timeline" });
      await page.getByRole("combobox", { name: "Rows" }).selectOption("node");
      await settled(page);
      const rows = async (query) => (await asked(page, `runs/0/timeline/rows?sort=node${query}`)).rows;
      assert.deepEqual((await rows("")).map((it) => [it.key, it.name, it.open]), [["n0", "node0000", false], ["n1", "node0001", false], ["n2", "node0002", false]]);
      // A folded node has the shares of its processes.
      const shares = (query) => page.evaluate(async (query) => {
        const secret = sessionStorage.getItem("dwell-secret");
        const answer = await fetch(`/api/v1/runs/0/timeline/tile?columns=7&sharp=1&${query}`, { headers: { authorization: `Bearer ${secret}` } });
        return [...new Uint8Array(await answer.arrayBuffer())];
      }, query);
      const [folded, each] = [await shares("rows=n0"), await shares("first=0&end=64&band=1")];
      folded.forEach((it, at) => {
        let sum = 0;
        for (let n = 0; n < 64; n++) sum += each[n * folded.length + at];
        assert.ok(Math.abs(it - sum / 64) <= 1, `${it} for ${sum / 64}`);
      });
      // Locations that are not consecutive, as launchers that deal processes out in turn place them.
      const [odd, single] = [await shares("rows=1%2B3%2B5-7"), await shares("rows=1.3.5.6")];
      odd.forEach((it, at) => {
        let sum = 0;
        for (let n = 0; n < 4; n++) sum += single[n * odd.length + at];
        assert.ok(Math.abs(it - sum / 4) <= 1, `${it} for ${sum / 4}`);
      });
      // By keys: the cursor is on the last node after two steps down, and Enter opens it.
      await page.locator(".timeline canvas").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await settled(page);
      assert.match(page.url(), /open=2/);
      assert.match(await page.locator("[role=status]").innerText(), /node0002 is open/);
      assert.deepEqual((await rows("&open=2")).map((it) => it.key), ["n0", "n1", "n2", "128", "129"]);
      const link = page.url();
      // By mouse: the name of the first.
      const box = await page.locator(".timeline canvas").boundingBox();
      await page.mouse.click(box.x + 100, box.y + 90);
      await settled(page);
      assert.match(page.url(), /open=0\.2/);
      const opened = await rows("&open=0.2");
      assert.ok(opened.length <= 64 && opened[1].count > 1 && opened.filter((it) => it.node === null).reduce((sum, it) => sum + it.count, 0) === 66);
      if (!sample) await accessible(page, "nodes");
      await page.goBack();
      await settled(page);
      assert.equal(page.url(), link);
      // Each process counts once, also where its node has a row too.
      const [own, all] = [await asked(page, "runs/0/timeline/totals?rows=n2.128.129"), await asked(page, "runs/0/timeline/totals?rows=n2")];
      assert.deepEqual(own, all);
      await page.getByRole("button", { name: "Open all nodes" }).click();
      await settled(page);
      assert.match(page.url(), /open=all/);
      await page.getByRole("button", { name: "Fold all nodes" }).click();
      await settled(page);
      assert.match(page.url(), /open=none/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: only the rows and the time of a chosen call"(browser) {
      const { page, context, problems } = await tab(browser);
      await go(page, { view: "timeline" });
      const name = "ARMCI_AllFence";
      await page.getByRole("combobox", { name: "Calls" }).selectOption(`name:${name}`);
      await settled(page);
      assert.match(page.url(), /only=name%3AARMCI_AllFence/);
      const { calls } = await asked(page, "runs/0/calls");
      const only = calls.flatMap((it, at) => (it.name === name ? [at] : [])).join(".");
      // The share of the call in a span, from the archive itself.
      const [from, to] = [1000000, 1400000];
      const spans = recorded(run()).filter((it) => it.region === name && it.location === 3);
      const expected = spans.reduce((sum, it) => sum + Math.max(0, Math.min(it.to, to) - Math.max(it.from, from)), 0) / (to - from);
      const bytes = await page.evaluate(async (query) => {
        const secret = sessionStorage.getItem("dwell-secret");
        const answer = await fetch(`/api/v1/runs/0/timeline/tile?${query}`, { headers: { authorization: `Bearer ${secret}` } });
        return [...new Uint8Array(await answer.arrayBuffer())];
      }, `rows=3&from=${from}&to=${to}&columns=1&only=${only}`);
      const found = bytes.reduce((sum, it) => sum + it, 0) / 255;
      assert.ok(expected > 0 && Math.abs(found - expected) < 0.02, `${found} for ${expected}`);
      const waits = (await asked(page, `runs/0/timeline/waits?only=${only}`)).waits;
      assert.ok(waits.every((it) => calls[it.call].name === name));
      const totals = (await asked(page, `runs/0/timeline/totals?only=${only}`)).totals;
      assert.ok(totals.length > 0 && totals.every((it) => calls[it.call].name === name));
      const all = await asked(page, "runs/0/timeline/rows?sort=call&only=0");
      assert.deepEqual([all.rows.length, all.of], [16, 16]);
      await page.goBack();
      await settled(page);
      assert.doesNotMatch(page.url(), /only=/);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: phases are stripes, and counters lines"(browser) {
      if (!hasMpi()) return;
      const directory = recordedMpi("user_says", "says", { options: ["--counters", "cpu_time"], args: ["40"] });
      dwell("timeline", directory);
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      await go(page, { view: "timeline" });
      const phases = await asked(page, "runs/0/timeline/phases");
      assert.deepEqual(phases.axes.filter((it) => it.is_phase).map((it) => [it.name, it.count]), [["step", 4]]);
      assert.equal(phases.name, "step");
      assert.deepEqual(phases.value.filter((_, at) => phases.row[at] === 1), ["0", "1", "2", "3"]);
      // From the archive itself: when the second process was in the phase. The parameter follows the begin of the region.
      const steps = recorded(directory).filter((it) => it.region === "step" && it.location === Math.max(...recorded(directory).map((it) => it.location)));
      phases.value.forEach((value, at) => {
        if (phases.row[at] !== 1) return;
        const step = steps[Number(value)];
        assert.ok(step.from <= phases.from[at] && phases.from[at] - step.from < 1e6 && Math.abs(phases.to[at] - step.to) < 1e6, `${value}: ${phases.from[at]}`);
      });
      const late = phases.from.findIndex((_, at) => phases.row[at] === 1 && phases.value[at] === "2");
      assert.ok(phases.to[late] - phases.from[late] > 40e6, "process 1 was late in step 2");
      // Values as the program states them.
      const { counters } = await asked(page, "runs/0/timeline/counters");
      const number = (name) => counters.findIndex((it) => it.name === name);
      const particles = await asked(page, `runs/0/timeline/samples?counter=${number("particles")}`);
      assert.deepEqual(particles.lists.map((it) => it.value), [[0, -1, -2, -3], [100, 99, 98, 97]]);
      // One step after the other: a column of the whole run may have more values than it shows.
      const residual = [];
      for (const at of phases.from.keys()) {
        if (phases.row[at] !== 0) continue;
        const values = await asked(page, `runs/0/timeline/samples?counter=${number("residual")}&rows=0&from=${phases.from[at]}&to=${phases.to[at]}`);
        residual.push(...values.lists[0].value.slice(-2));
      }
      assert.deepEqual(residual, [1, 0, 0.5, -0.5, 1 / 3, 1 / 3 - 1, 0.25, -0.75]);
      assert.deepEqual([counters[number("cpu_time")].accumulates, counters[number("residual")].accumulates], [true, false]);
      // The share of a core can hardly be above 1, and the late process slept.
      const time = await asked(page, `runs/0/timeline/samples?counter=${number("cpu_time")}&rows=1&from=${phases.from[late]}&to=${phases.to[late]}`);
      const spent = time.lists[0].value.reduce((sum, rate, at) => sum + rate * (time.lists[0].to[at] - time.lists[0].from[at]) / 1e9, 0);
      assert.ok(spent < 0.7 * (phases.to[late] - phases.from[late]), `${spent} of ${phases.to[late] - phases.from[late]}`);
      // In the page.
      await page.getByRole("combobox", { name: "Counter" }).selectOption("particles");
      await settled(page);
      assert.match(page.url(), /counter=particles/);
      const box = await page.locator(".timeline canvas").boundingBox();
      const under = (what) => page.evaluate(([box, what]) => {
        for (let y = box.y + 72; y < box.y + box.height; y += 4) {
          for (let x = box.x + 151; x < box.x + box.width; x += 2) {
            const hit = __dwell.hit(x, y);
            if (hit?.[what] && /step 2|Rank 0: /.test(hit.text)) return { ...hit, at: [x, y] };
          }
        }
        return undefined;
      }, [box, what]);
      assert.match((await under("counter")).text, /particles at .*\nRank 0: /);
      const phase = await under("phase");
      await page.mouse.click(...phase.at);
      await settled(page);
      const [from, to] = span(page);
      assert.ok(Math.abs(from - phase.from) < 100 && Math.abs(to - phase.to) < 100, `${from} ${to}`);
      await page.getByRole("combobox", { name: "Phases" }).selectOption("level");
      await settled(page);
      assert.match(page.url(), /phase=level/);
      await accessible(page, "phases and counters");
      await page.getByRole("combobox", { name: "Phases" }).selectOption("0");
      await settled(page);
      assert.equal(await under("phase"), undefined);
      assert.deepEqual(problems, []);
      await context.close();
    },

    async "timeline: two runs over one axis, aligned where both have started"(browser) {
      const archives = ["shmem-tcp-mixed", "shmem-sm-mixed"].map((name) => {
        const directory = join(root, `two-${name}`);
        cpSync(resolve("../tests/data/archives", name), directory, { recursive: true });
        dwell("analyze", directory);
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
      dwell("analyze", directory, "--causes", "never");
      const { page, context, problems } = await tab(browser, { runs: [directory] });
      await go(page, { view: "timeline" });
      assert.match(await page.locator("main").innerText(), /dwell timeline/);
      assert.deepEqual(problems, []);
      await context.close();
    },
  };
}
