// Looks at every view in Chromium. `--sample` looks at less, `--pictures` makes the pictures that views are held against and those
// of the book, `--baselines` only the former.
//
// A view that fails is looked at once more, because a busy machine may keep a page waiting. One that holds only then is a
// defect of its test or of the page, and the last lines name it.

import { end, launch, newRoot, removeRoots } from "./setup.mjs";
import { tests } from "./views.mjs";

const sample = process.argv.includes("--sample");
const pictures = process.argv.includes("--pictures");
const baselines = pictures || process.argv.includes("--baselines");
const only = process.argv.find((it) => it.startsWith("--only="))?.slice(7);
const browser = await launch();
let failed = 0;
const again = [];
const began = Date.now();

async function holds(name, run) {
  const start = Date.now();
  try {
    await run(browser, { sample, pictures, baselines });
    console.log(`ok      ${((Date.now() - start) / 1000).toFixed(1)} s  ${name}`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${((Date.now() - start) / 1000).toFixed(1)} s  ${name}\n${error.stack ?? error}`);
    return false;
  }
}

for (const [name, run] of Object.entries(tests)) {
  if (only && !name.includes(only)) continue;
  if (await holds(name, run)) continue;
  newRoot();
  if (await holds(name, run)) again.push(name);
  else failed += 1;
}
await browser.close();
end();
removeRoots();
for (const name of again) console.log(`passed only when it was tried again: ${name}`);
console.log(`${failed === 0 ? "all views hold" : `${failed} failed`}, ${((Date.now() - began) / 1000).toFixed(0)} s`);
process.exit(failed === 0 ? 0 : 1);
