// One browser, one key; links without it; pictures of every view.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { go, settled } from "./setup.mjs";

const VIEWS = ["findings", "panes", "calls", "matrix", "processes", "spread", "timeline"];

/** Whether a text has something like a key. */
const KEY = /[0-9a-f]{64}/;

export function sharing(tab) {
  return {
    async "sharing: tabs of one browser have one key, and links have none"(browser) {
      const { page, context, problems } = await tab(browser, {});
      await go(page, { view: "calls" });
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy link" }).click();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(copied, /#v=1&view=calls$/);
      assert.doesNotMatch(copied, KEY);
      // A link in another tab of this browser shows what it is about.
      const second = await context.newPage();
      second.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
      await second.goto(copied);
      await second.waitForSelector("main.view-calls");
      await settled(second);
      // What tabs share is kept nowhere beyond them.
      const kept = await second.evaluate(() => JSON.stringify([{ ...localStorage }, document.cookie, location.href, document.referrer]));
      assert.doesNotMatch(kept, KEY);
      assert.deepEqual(problems, []);
      // In another browser it asks for an address.
      const other = await browser.newContext();
      const stranger = await other.newPage();
      await stranger.goto(copied);
      await stranger.waitForSelector("main.gate");
      await other.close();
      // When all tabs are closed, the key is gone.
      const last = await context.newPage();
      await Promise.all([page.close(), second.close()]);
      await last.goto(copied);
      await last.waitForSelector("main.gate");
      await context.close();
    },

    async "sharing: every view is saved as a picture"(browser, { sample }) {
      const { page, context, problems } = await tab(browser);
      for (const view of sample ? ["timeline"] : VIEWS) {
        await go(page, { view });
        const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Picture" }).click()]);
        assert.equal(download.suggestedFilename(), `${view}.png`);
        const colours = await page.evaluate(async (data) => {
          const image = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
          return [image.width, new Set(pixels).size];
        }, readFileSync(await download.path()).toString("base64"));
        assert.ok(colours[0] >= 2400 && colours[1] > 60, `${view}: ${colours}`);
      }
      assert.deepEqual(problems, []);
      await context.close();
    },
  };
}
