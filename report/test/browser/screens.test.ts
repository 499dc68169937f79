// How every view of every kind of plan looks, at the widths of a screen, a small one and a telephone,
// in both themes. `npm run test:browser` looks at each view once, in turn at another width and in another
// theme; `npm run screenshots` at all of them, and keeps a picture of each in build/screenshots.

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

/** Runs in the page: what is wider than the window, texts whose rest is not to be seen, and texts that lie over others. */
function faultsOfLayout(): string[] {
  const faults: string[] = [];
  const over = document.documentElement.scrollWidth - window.innerWidth;
  if (over > 0) faults.push(`the page is ${over} pixels wider than the window`);
  // Above the view, on narrow windows, the navigation is as tall as what it holds.
  const side = document.querySelector<HTMLElement>(".side")!;
  const held = Math.max(...[...side.children].map((child) => child.getBoundingClientRect().bottom));
  const left = side.getBoundingClientRect().bottom - held;
  if (side.clientWidth > 0.9 * window.innerWidth && left > 24) faults.push(`the navigation is ${left} pixels taller than what it holds`);
  const hides = (value: string) => value === "hidden" || value === "clip";
  const inFull = (element: Element) => element.closest("[title], [aria-label]") !== null || element.querySelector("[title]") !== null;
  for (const element of document.querySelectorAll<HTMLElement>("main *, nav *")) {
    const style = getComputedStyle(element);
    if (element.classList.contains("hidden") || element.clientWidth === 0 || element.textContent === "") continue;
    const across = hides(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
    const below = hides(style.overflowY) && element.scrollHeight > element.clientHeight + 2;
    const marked = style.textOverflow === "ellipsis" || (below && style.webkitLineClamp !== "none");
    const where = `<${element.tagName.toLowerCase()} class="${element.className}"> ${element.textContent?.slice(0, 80)}`;
    if ((across || below) && !marked) faults.push(`cut: ${where}`);
    else if ((across || below) && !inFull(element)) faults.push(`cut, and nowhere in full: ${where}`);
  }
  const apart = (a: DOMRect, b: DOMRect) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
  // Texts of a chart: none beyond its picture.
  for (const svg of document.querySelectorAll("main svg[role=img]")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((text) => ({ box: text.getBoundingClientRect(), text: text.textContent }));
    texts.forEach(({ box, text }, i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) faults.push(`beyond its chart: ${text}`);
      for (const other of texts.slice(0, i)) if (!apart(box, other.box)) faults.push(`one over another: ${text} and ${other.text}`);
    });
  }
  // All others: as much of each as what scrolls around it lets be seen.
  const shown: { box: DOMRect; node: Node; text: string }[] = [];
  const walker = document.createTreeWalker(document.querySelector("main")!, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && shown.length < 1500; node = walker.nextNode()) {
    const parent = node.parentElement!;
    if (node.textContent?.trim() === "" || parent.closest("svg, select, .hidden, details:not([open]) > :not(summary)")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      let [left, top, right, bottom] = [rect.left, rect.top, rect.right, rect.bottom];
      for (let around: HTMLElement | null = parent; around && around.tagName !== "MAIN"; around = around.parentElement) {
        if (getComputedStyle(around).overflowX === "visible") continue;
        const frame = around.getBoundingClientRect();
        [left, top, right, bottom] = [Math.max(left, frame.left), Math.max(top, frame.top), Math.min(right, frame.right), Math.min(bottom, frame.bottom)];
      }
      if (right - left > 2 && bottom - top > 2) shown.push({ box: new DOMRect(left, top, right - left, bottom - top), node, text: node.textContent!.trim() });
    }
  }
  shown.forEach(({ box, node, text }, i) => {
    for (const other of shown.slice(0, i)) if (node !== other.node && !apart(box, other.box)) faults.push(`one over another: ${text.slice(0, 60)} and ${other.text.slice(0, 60)}`);
  });
  return faults;
}

/** Runs in the page: what axe-core has against it. */
async function faultsOfAccess(): Promise<string[]> {
  const axe = (window as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe;
  return (await axe.run()).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
}

test("no view is empty or too wide, cuts a text, lays one over another or breaks a rule of axe-core", async () => {
  const source = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
  if (pictures) mkdirSync(pictures, { recursive: true });
  const opened = await Opened.open(browser, page);
  await opened.page.emulateMedia({ reducedMotion: "reduce" }); // colours on their way have no contrast
  await opened.page.evaluate(source);
  const plans = await opened.page.locator("#plan option").allTextContents();
  const found: string[] = [];
  const seenOfAll = new Set<string>();
  let turn = 0;
  const look = async (name: string, view: string, width: number, theme: string) => {
    const at = `${name}, ${view}, ${width}, ${theme}`;
    await opened.page.setViewportSize({ width, height: 900 });
    if ((await opened.page.locator("html").getAttribute("data-theme")) !== theme) await opened.page.locator("#theme").click();
    await opened.page.waitForTimeout(30); // charts are drawn again when their width is known
    found.push(...[...(await opened.page.evaluate(faultsOfLayout)), ...(await opened.page.evaluate(faultsOfAccess))].map((fault) => `${at}: ${fault}`));
    if (!pictures) return;
    await opened.page.screenshot({ path: path.join(pictures, `${`${name}-${view}-${width}-${theme}`.replace(/[^\w]+/g, "_")}.png`), fullPage: true });
  };
  for (const [number, name] of plans.entries()) {
    await opened.page.setViewportSize({ width: widths[0], height: 900 });
    await opened.go("Summary");
    await opened.page.selectOption("#plan", String(number));
    for (const view of await opened.views()) {
      await opened.go(view);
      // Views of all plans look the same whichever is chosen.
      const ofAll = (await opened.page.locator("#plan").count()) === 0;
      if (ofAll && seenOfAll.has(view)) continue;
      if (ofAll) seenOfAll.add(view);
      if ((await opened.page.locator("main").innerText()).length < 100 && (await opened.page.locator("main svg, main canvas, main table").count()) === 0) found.push(`${name}, ${view}: empty`);
      if (pictures) {
        for (const width of widths) for (const theme of ["light", "dark"]) await look(name, view, width, theme);
        continue;
      }
      await look(name, view, widths[turn % widths.length], turn % 2 === 0 ? "light" : "dark");
      turn += 1;
    }
  }
  assert.deepEqual(found, []);
  await opened.expectClean();
  await opened.page.close();
});
