// The picture of README and of the site's home page: the report of README's plan of a model.
// `npm run picture` takes it, as docs/images/report.png.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Folder, launch, meshwright, Opened } from "../support";

const size = { width: 1200, height: 712 };

test("the picture of the front pages holds where time and memory of README's plan go", async () => {
  const folder = new Folder();
  const browser = await launch();
  try {
    meshwright("plan", "llama3-70b", "--cluster", "8x8xh100-sxm", "--global-batch", "512", "--seq", "4096", "--for", "megatron", "-o", folder.file("plan.json"));
    const opened = await Opened.open(browser, folder.report("report.html", folder.file("plan.json")));
    await opened.page.setViewportSize(size);
    for (const title of ["Where the time goes", "What fills memory at its peak"]) {
      const box = await opened.page.locator("section", { has: opened.page.locator("h2", { hasText: title }) }).boundingBox();
      assert.ok(box && box.y + box.height < size.height, `${title}: ${JSON.stringify(box)}`);
    }
    if (process.env.MESHWRIGHT_PICTURE) await opened.page.screenshot({ path: process.env.MESHWRIGHT_PICTURE });
    await opened.expectClean();
  } finally {
    await browser.close();
    folder.remove();
  }
});
