// Looks at every view in Chromium. `--sample` looks at less, `--pictures` makes the pictures that views are held against and those
// of the book, `--baselines` only the former.

import { rmSync } from "node:fs";
import { end, launch, root } from "./setup.mjs";
import { tests } from "./views.mjs";

const sample = process.argv.includes("--sample");
const pictures = process.argv.includes("--pictures");
const baselines = pictures || process.argv.includes("--baselines");
const only = process.argv.find((it) => it.startsWith("--only="))?.slice(7);
const browser = await launch();
let failed = 0;
const began = Date.now();
for (const [name, run] of Object.entries(tests)) {
  if (only && !name.includes(only)) continue;
  const start = Date.now();
  try {
    await run(browser, { sample, pictures, baselines });
    console.log(`ok      ${((Date.now() - start) / 1000).toFixed(1)} s  ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack ?? error}`);
  }
}
await browser.close();
end();
rmSync(root, { recursive: true, force: true });
console.log(`${failed === 0 ? "all views hold" : `${failed} failed`}, ${((Date.now() - began) / 1000).toFixed(0)} s`);
process.exit(failed === 0 ? 0 : 1);
