// Data, servers and a browser for the tests.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const DWELL = process.env.DWELL ?? resolve("../target/debug/dwell");
const roots = [];
/** The directory of the data. */
export let root;
newRoot();

/** Makes another directory, so that a test that is run again finds nothing of its first attempt. */
export function newRoot() {
  root = mkdtempSync(join(tmpdir(), "dwell-web-"));
  roots.push(root);
}

/** Removes the data. */
export function removeRoots() {
  roots.forEach((it) => rmSync(it, { recursive: true, force: true }));
}

export function dwell(...args) {
  return execFileSync(DWELL, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** A synthetic run with known waits, analysed. */
export function analysed(kind, name, ...options) {
  const directory = join(root, name);
  dwell("synth", kind, "-o", directory, ...options);
  dwell("analyze", directory);
  return directory;
}

/** Whether OpenSHMEM programs can be recorded here. Where they must be, it is not asked. */
export function hasShmem() {
  return process.env.DWELL_REQUIRE_SHMEM === "1" || (existsSync("/usr/bin/oshcc") && existsSync("/usr/bin/oshrun"));
}

/** A recorded run of a program of tests/programs on four processes, analysed. `edit` changes its source. */
export function recorded(program, name, { flags = [], binary = program, edit = (text) => text } = {}) {
  const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1", OMPI_MCA_rmaps_base_oversubscribe: "1" };
  const directory = join(root, name);
  const sources = mkdtempSync(join(root, "source-"));
  writeFileSync(join(sources, `${program}.c`), edit(readFileSync(resolve(`../tests/programs/${program}.c`), "utf8")));
  execFileSync("oshcc", ["-O1", "-g", ...flags, "-o", join(root, binary), join(sources, `${program}.c`)], { cwd: root, env });
  execFileSync("oshrun", ["-np", "4", "-mca", "osc", "^rdma", DWELL, "run", "-o", directory, `./${binary}`], { cwd: root, env, stdio: "ignore" });
  dwell("analyze", directory);
  return directory;
}

/** Whether MPI programs can be recorded here. Where they must be, it is not asked. */
export function hasMpi() {
  return process.env.DWELL_REQUIRE_MPI === "1" || (existsSync("/usr/bin/mpicc.openmpi") && existsSync("/usr/bin/mpirun.openmpi"));
}

/** A recorded run of an MPI program of tests/programs, on two processes unless said otherwise, analysed if it is no profile. */
export function recordedMpi(program, name, { options = [], args = [], isAnalysed = true, processes = 2 } = {}) {
  const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1", OMPI_MCA_rmaps_base_oversubscribe: "1" };
  const directory = join(root, name);
  execFileSync("mpicc.openmpi", ["-g", "-I", resolve("../include"), "-o", join(root, program), resolve(`../tests/programs/${program}.c`)], { cwd: root, env });
  execFileSync("mpirun.openmpi", ["-np", String(processes), DWELL, "run", ...options, "-o", directory, `./${program}`, ...args], { cwd: root, env, stdio: "ignore" });
  if (isAnalysed) dwell("analyze", directory);
  return directory;
}

/** A run whose program and findings are called as an attacker would call them. */
export function hostile(from) {
  const directory = join(root, "hostile");
  cpSync(from, directory, { recursive: true });
  const report = join(directory, "trace.cubex");
  const bytes = readFileSync(report);
  // The same length, so that the file stays whole.
  const [name, evil] = ["ARMCI_AllFence", "&lt;img&gt;xyz"];
  for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at)) bytes.write(evil, at);
  // Without its marks the report has no checksums.
  const mark = "cubex CRC-32";
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at)) bytes.fill(0, at, at + mark.length);
  writeFileSync(report, bytes);
  const findings = join(directory, "findings.json");
  const document = JSON.parse(readFileSync(findings, "utf8"));
  const markup = "<img src=x onerror=\"globalThis.pwned=1\"><script>globalThis.pwned=1</script>";
  for (const finding of document.findings) {
    finding.explanation = markup;
    finding.remedy = markup;
    finding.origins.forEach((party) => (party.who = markup));
    finding.path.at(-1).caller = markup;
  }
  document.damage = [markup];
  writeFileSync(findings, JSON.stringify(document));
  return directory;
}

/** Reports by other tools, where they are at hand. */
export function others() {
  const shared = resolve("../../shared/data");
  const names = ["mpi_waits/scout.cubex", "mpi_waits/profile.cubex", "shmem_ops/profile.cubex"];
  return names.map((name) => join(shared, name)).filter((file) => existsSync(file));
}

const servers = [];

/** Serves reports; gives an address that works once. */
export function serve(...reports) {
  return started(["view", reports[0], "--no-browser", ...reports.slice(1).flatMap((it) => ["--compare", it])]);
}

/** Starts a command that serves a page. */
export function started(args) {
  const child = spawn(DWELL, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  servers.push(child);
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      const found = /^(http\S+)\n/m.exec(text);
      if (found) resolve({ address: found[1], pid: child.pid });
    });
    child.on("exit", () => reject(new Error(`the server ended: ${text}`)));
  });
}

export function end() {
  servers.forEach((child) => child.kill());
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--headless", "--disable-gpu", "--font-render-hinting=none", "--force-color-profile=srgb",
      "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A tab, and everything that went wrong in it. */
export async function open(browser, address, options = {}) {
  const { width = 1280, theme = "light", offline = false } = options;
  const context = await browser.newContext({
    viewport: { width, height: width > 1500 ? 1080 : 800 },
    colorScheme: theme,
    reducedMotion: "reduce",
  });
  if (offline) await context.setOffline(true);
  const page = await context.newPage();
  if (options.before) await page.addInitScript(options.before);
  const problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(address);
  await page.waitForSelector("#app > *");
  return { page, context, problems };
}

/** Goes to a state and waits until its answers have arrived. */
export async function go(page, state) {
  await page.evaluate((hash) => (location.hash = hash), new URLSearchParams({ v: "1", ...state }).toString());
  await settled(page);
}

export async function settled(page) {
  const frames = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await frames();
  await page.waitForFunction(() => __dwell.pending() === 0 && !document.querySelector("[aria-busy], .stale"));
  await frames();
}

/** What the server answers to this tab. */
export function asked(page, question) {
  return page.evaluate(async (what) => {
    const secret = sessionStorage.getItem("dwell-secret");
    const answer = await fetch(`/api/v1/${what}`, { headers: { authorization: `Bearer ${secret}` } });
    const binary = answer.headers.get("content-type") === "application/octet-stream";
    return binary ? [...new Float64Array(await answer.arrayBuffer())] : answer.json();
  }, question);
}
