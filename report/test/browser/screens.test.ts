// How every view of every kind of plan looks, at the widths of a screen, a small one and a telephone,
// in both themes. `npm run screenshots` keeps a picture of each in build/screenshots.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { reportOfAllKinds } from "../kinds";
import { Folder, launch, Opened } from "../support";

const pictures = process.env.MESHWRIGHT_SCREENSHOTS;
const widths = [1400, 1024, 390];
const folder = new Folder();
let browser: Browser;
let page: string;

before(async () => {
  page = reportOfAllKinds(folder);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  folder.remove();
});

/** Runs in the page: what is wider than the window, and texts whose rest is not to be seen. */
function faultsOfLayout(): string[] {
  const faults: string[] = [];
  const over = document.documentElement.scrollWidth - window.innerWidth;
  if (over > 0) faults.push(`the page is ${over} pixels wider than the window`);
  for (const element of document.querySelectorAll<HTMLElement>("main *, nav *")) {
    const style = getComputedStyle(element);
    const hides = (value: string) => value === "hidden" || value === "clip";
    if (element.classList.contains("hidden") || element.clientWidth === 0 || element.textContent === "") continue;
    const cutAcross = hides(style.overflowX) && element.scrollWidth > element.clientWidth + 1 && style.textOverflow !== "ellipsis";
    const cutBelow = hides(style.overflowY) && element.scrollHeight > element.clientHeight + 2 && style.webkitLineClamp === "none" && style.textOverflow !== "ellipsis";
    if (cutAcross || cutBelow) faults.push(`cut: <${element.tagName.toLowerCase()} class="${element.className}"> ${element.textContent?.slice(0, 80)}`);
  }
  // Texts of a chart: none over another, none beyond its picture.
  for (const svg of document.querySelectorAll("main svg[role=img]")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((text) => ({ box: text.getBoundingClientRect(), text: text.textContent }));
    texts.forEach(({ box, text }, i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) faults.push(`beyond its chart: ${text}`);
      for (const other of texts.slice(0, i)) {
        const apart = box.right <= other.box.left + 1 || other.box.right <= box.left + 1 || box.bottom <= other.box.top + 2 || other.box.bottom <= box.top + 2;
        if (!apart) faults.push(`one over another: ${text} and ${other.text}`);
      }
    });
  }
  return faults;
}

test("no view is too wide, cuts a text, lays one over another or breaks a rule of axe-core", async () => {
  const source = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
  if (pictures) mkdirSync(pictures, { recursive: true });
  const opened = await Opened.open(browser, page);
  await opened.page.emulateMedia({ reducedMotion: "reduce" }); // colours on their way have no contrast
  await opened.page.evaluate(source);
  const plans = await opened.page.locator("#plan option").allTextContents();
  const found: string[] = [];
  const seenOfAll = new Set<string>();
  for (const [number, name] of plans.entries()) {
    await opened.go("Summary");
    await opened.page.selectOption("#plan", String(number));
    for (const view of await opened.views()) {
      await opened.go(view);
      // Views of all plans look the same whichever is chosen.
      if ((await opened.page.locator("#plan").count()) === 0 && !seenOfAll.has(view)) seenOfAll.add(view);
      else if ((await opened.page.locator("#plan").count()) === 0) continue;
      for (const width of widths) {
        await opened.page.setViewportSize({ width, height: 900 });
        await opened.page.waitForTimeout(30); // charts are drawn again when their width is known
        const at = `${name}, ${view}, ${width}`;
        found.push(...(await opened.page.evaluate(faultsOfLayout)).map((fault) => `${at}: ${fault}`));
        if (pictures) {
          for (const theme of ["one", "other"]) {
            const file = `${name}-${view}-${width}-${theme}`.replace(/[^\w]+/g, "_");
            await opened.page.screenshot({ path: path.join(pictures, `${file}.png`), fullPage: true });
            await opened.page.locator("#theme").click();
          }
        }
      }
      await opened.page.setViewportSize({ width: widths[0], height: 900 });
      for (const theme of ["light", "dark"]) {
        const violations = await opened.page.evaluate(async () => {
          const axe = (window as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe;
          return (await axe.run()).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
        });
        found.push(...violations.map((fault) => `${name}, ${view}, ${theme}: ${fault}`));
        await opened.page.locator("#theme").click();
      }
    }
  }
  assert.deepEqual(found, []);
  await opened.expectClean();
  await opened.page.close();
});
