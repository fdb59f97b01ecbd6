// How fast the timeline is on a large archive that was analysed and has its index. Prints one line for each thing that was
// measured, and fails where a goal is missed. The first argument is the directory of the archive; with `--requests` every answer
// is listed with its size and the time that it took.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { end, go, launch, open, serve } from "./setup.mjs";

const run = resolve(process.argv[2]);
const isListed = process.argv.includes("--requests");
const browser = await launch();
let missed = 0;
let pid;

function told(what, times, goal) {
  const [least, most] = [Math.min(...times.map((it) => it.wall)), Math.max(...times.map((it) => it.wall))];
  const server = times.map((it) => it.server).filter((it) => it !== undefined);
  const over = goal !== undefined && most > goal;
  missed += over ? 1 : 0;
  const range = least === most ? most.toFixed(0) : `${least.toFixed(0)} to ${most.toFixed(0)}`;
  const used = server.length > 0 ? `, server ${Math.min(...server)} to ${Math.max(...server)} ms of processor time` : "";
  console.log(`${what.padEnd(52)} ${range} ms${goal === undefined ? "" : `, goal ${goal}`}${used}${over ? "  MISSED" : ""}`);
}

/** Processor time of the server in milliseconds, to 10 of them. */
function processorTime() {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Takes what the kernel keeps of the files of a directory out of memory. */
function forget(directory) {
  for (const name of readdirSync(directory)) {
    execFileSync("dd", [`of=${join(directory, name)}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"], { stdio: ["ignore", "ignore", "inherit"] });
  }
}

/** Notes when something of the rows is first on the screen, and when all of it is exact, counted from the begin of the visit. */
function watch() {
  const look = () => {
    const canvas = document.querySelector("canvas");
    const box = canvas?.getBoundingClientRect();
    const hit = box && globalThis.__dwell?.hit(box.left + 600, box.top + 100);
    if (hit?.parts && !globalThis.painted) globalThis.painted = performance.now();
    if (hit?.sharp && !globalThis.exact) globalThis.exact = performance.now();
    const busy = __dwell.pending() > 0 || document.querySelector("[aria-busy], .stale");
    if (globalThis.exact && !busy) globalThis.stood = performance.now();
    else requestAnimationFrame(look);
  };
  addEventListener("DOMContentLoaded", () => requestAnimationFrame(look));
}

function list(entries) {
  if (!isListed) return;
  for (const it of entries) console.log(`    ${it.at.toFixed(0).padStart(6)} ${it.took.toFixed(0).padStart(6)} ms ${String(it.bytes).padStart(9)} B  ${it.name.slice(0, 110)}`);
}

const requests = (since) => `performance.getEntriesByType("resource").filter((it) => it.startTime >= ${since} && it.name.includes("/api/"))
  .map((it) => ({ at: it.startTime - ${since}, took: it.duration, bytes: it.encodedBodySize, name: it.name.replace(/^.*api.v1./, "") }))`;

/**
 * From doing something until all of the picture is exact, and until every answer has come. The picture before stays until the next one is
 * there, and is exact too: `isNext` says whether the next one is shown, given the rows and times at both ends of its first row.
 */
async function reaction(page, act, isNext) {
  const before = processorTime();
  const { wall, settled, answers } = await page.evaluate(`(async () => {
    performance.clearResourceTimings();
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    const start = performance.now();
    ${act};
    const box = document.querySelector("canvas").getBoundingClientRect();
    const isNext = ${isNext};
    const isSharp = () => {
      const [left, right] = [box.left + 152, box.right - 2].map((x) => __dwell.hit(x, box.top + 74));
      return left?.sharp && right?.sharp && isNext(left, right);
    };
    let sharp;
    for (;;) {
      await frame();
      if (!sharp && isSharp()) sharp = performance.now();
      if (sharp && isSharp() && __dwell.pending() === 0 && !document.querySelector(".stale, [aria-busy]")) break;
    }
    await frame();
    return { wall: sharp - start, settled: performance.now() - start, answers: ${requests("start")} };
  })()`);
  list(answers);
  return { wall, settled, server: processorTime() - before };
}

function toldBoth(what, times, goal) {
  told(`${what}: sharp`, times, goal);
  told(`${what}: settled`, times.map((it) => ({ wall: it.settled })));
}

/** Opens the whole run. */
async function first(what, goal) {
  const server = await serve(run);
  pid = server.pid;
  const before = processorTime();
  const { page } = await open(browser, `${server.address}&v=1&view=timeline`, { width: 1920, before: watch });
  await page.waitForFunction(() => globalThis.stood, undefined, { timeout: 120000 });
  const { painted, exact, stood, answers } = await page.evaluate(`({ painted, exact, stood, answers: ${requests("0")} })`);
  list(answers);
  told(`${what}: first paint`, [{ wall: painted }], goal);
  told(`${what}: sharp`, [{ wall: exact }]);
  told(`${what}: settled`, [{ wall: stood, server: processorTime() - before }]);
  return page;
}

let page;
for (const what of ["first view, cold", "first view, warm"]) {
  if (page) {
    end();
    await page.context().close();
  }
  if (what.endsWith("cold")) forget(join(run, "dwell-timeline"));
  page = await first(what, 300);
}
const length = await page.evaluate(`fetch("/api/v1/runs/0/timeline", { headers: { authorization: "Bearer " + sessionStorage.getItem("dwell-secret") } }).then((it) => it.json()).then((it) => it.length)`);
const zoom = (from, part, more = "") => `location.hash = "v=1&view=timeline&t=${Math.round(length * from)}-${Math.round(length * (from + part))}${more}"`;
const zooms = async (more) => {
  const times = [];
  for (const [from, part] of [[0.41, 1 / 8], [0.46, 1 / 64], [0.467, 1 / 512], [0.4675, 1 / 4096], [0.1, 1 / 2], [0.3, 1 / 8]]) {
    // To a column.
    const isNext = `(left, right) => Math.abs(left.time - ${length * from}) < ${length * part} / 500 && Math.abs(right.time - ${length * (from + part)}) < ${length * part} / 500`;
    times.push(await reaction(page, zoom(from, part, more), isNext));
  }
  return times;
};
toldBoth("zoom, all processes in bands", await zooms(""), 400);
await go(page, { view: "timeline", rows: "128-192" });
toldBoth("zoom, 64 rows", await zooms("&rows=128-192"), 400);
await go(page, { view: "timeline", finding: "1" });
const next = [];
for (let n = 0; n < 8; n++) {
  const key = `document.querySelector("canvas").dispatchEvent(new KeyboardEvent("keydown", { code: "Period", key: ".", bubbles: true }))`;
  // The selected wait is that of the first row, and in the middle of the span.
  const isNext = `(left, right) => {
    const [location_, time] = new URLSearchParams(location.hash.slice(1)).get("sel").split("@").map(Number);
    return left.location === location_ && left.time < time && time < right.time;
  }`;
  next.push(await reaction(page, key, isNext));
}
toldBoth("from one instance of a finding to the next", next, 200);

/** Moves and zooms in each frame for a while, and returns the times between frames and how many requests were made and dropped. */
async function frames(seconds) {
  return page.evaluate(`(async () => {
    performance.clearResourceTimings();
    performance.setResourceTimingBufferSize(10000);
    const canvas = document.querySelector("canvas");
    const box = canvas.getBoundingClientRect();
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const times = [];
    const white = [];
    const turn = (options) => canvas.dispatchEvent(new WheelEvent("wheel", { clientX: box.left + box.width / 2, clientY: box.top + 200, bubbles: true, cancelable: true, ...options }));
    let last = await frame();
    const end = last + ${1000 * seconds};
    for (let n = 0; last < end; n++) {
      // Two seconds in, two back and forth, two out.
      const part = Math.floor(n / 120) % 4;
      if (part === 0 || part === 3) turn({ ctrlKey: true, deltaY: (part === 0) === (n % 8 !== 7) ? -1 : 1 });
      else turn({ shiftKey: true, deltaY: part === 1 ? 1 : -1 });
      const now = await frame();
      times.push(now - last);
      last = now;
      if (n % 10 === 0) {
        const line = canvas.getContext("2d").getImageData(200 * devicePixelRatio, 80 * devicePixelRatio, canvas.width - 220 * devicePixelRatio, 1).data;
        let empty = 0;
        for (let at = 3; at < line.length; at += 4) if (line[at] === 0) empty += 1;
        white.push(empty / (line.length / 4));
      }
    }
    return { times, white: Math.max(...white), asked: performance.getEntriesByType("resource").filter((it) => it.name.includes("/api/")).length };
  })()`);
}

await go(page, { view: "timeline" });
const { times, white, asked } = await frames(10);
times.sort((a, b) => a - b);
const within = times.filter((it) => it <= 20).length / times.length;
const at = (part) => times[Math.floor(part * (times.length - 1))].toFixed(1);
console.log(`${times.length} frames of 10 s of zooming and moving: median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, ${(100 * within).toFixed(1)} % within 20 ms, goal 95; at most ${(100 * white).toFixed(1)} % of the first row without a picture; ${asked} answers`);
if (within < 0.95) missed += 1;
const status = readFileSync(`/proc/${pid}/status`, "utf8");
const [now, most] = ["VmRSS", "VmHWM"].map((it) => Number(new RegExp(`${it}:\\s+(\\d+)`).exec(status)[1]) / 1000);
console.log(`server: resident ${now.toFixed(0)} MB, at most ${most.toFixed(0)} MB, goal 300`);
if (most > 300) missed += 1;
await browser.close();
end();
process.exit(missed > 0 ? 1 : 0);
