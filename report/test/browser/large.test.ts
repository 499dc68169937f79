// A program of 50,000 operators, and names that want to be more than names.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Folder, launch, meshwright, Opened, readJson } from "../support";

const folder = new Folder();
let browser: Browser;

/** The plan of a small program as a pattern: the shape of a document with every key. */
function pattern(): any {
  return readJson(folder.plan("pattern.json", "hlo/mlp_adam.train.hlo.txt", "--cluster", "4xh100-sxm", "--mesh", "x=2,y=2"));
}

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
  folder.remove();
});

function largePlan(layers: number, perLayer: number): any {
  const plan = pattern();
  const weight = { name: "w", opcode: "parameter", dtype: "f32", shape: [64, 64], operands: [], spec: [[], ["y"]], strategy: "free", executions: 1, seconds: 0, collective: [] };
  plan.instructions = [{ ...weight }];
  plan.op_names = Array.from({ length: layers }, (_, l) => `jit(step)/layer${l}/dot_general`);
  plan.source_files = ["model.py"];
  for (const phase of ["forward", "backward"]) {
    for (let i = 0; i < layers; i += 1) {
      const layer = phase === "forward" ? i : layers - 1 - i;
      for (let k = 0; k < perLayer; k += 1) {
        const before = plan.instructions.length - 1;
        plan.instructions.push({
          ...weight, name: `${phase}.${layer}.${k}`, opcode: k % 5 === 0 ? "dot" : "add", operands: [before, k % 5 === 0 ? 0 : before],
          op_name: layer, source: [0, k + 1], layer, phase, spec: [["x"], []], strategy: "m=x", seconds: 1e-6 * (1 + (k % 7)),
          collective: k % 50 === 0 ? [{ kind: "all-reduce", axes: ["y"], count: 1, bytes_per_device: 1 << 20, seconds: 1e-5, value: `${phase}.${layer}.${k}` }] : [],
        });
      }
    }
  }
  // One after the other; collectives run beside what follows them.
  const timeline = { contention_seconds: 1e-5, launch_seconds: 1e-4, start: [] as number[], collectives: [] as object[] };
  let now = 0;
  plan.instructions.forEach((one: any, i: number) => {
    timeline.start.push(now);
    now += one.seconds;
    if (one.collective.length > 0) timeline.collectives.push({ start: now, seconds: 1e-5, instructions: [i], positions: [0] });
  });
  plan.step_timeline = timeline;
  return plan;
}

test("50,000 operators: small enough, there within two seconds, and quick to search", async () => {
  const plan = largePlan(100, 250);
  assert.ok(plan.instructions.length > 50_000);
  const html = folder.report("large.html", folder.write("large.json", JSON.stringify(plan)));
  assert.ok(statSync(html).size < 8 << 20, `${statSync(html).size} bytes`);
  const begin = Date.now();
  const opened = await Opened.open(browser, html);
  await opened.go("Network");
  assert.ok(Date.now() - begin < 2000 * slowness(), `${Date.now() - begin} ms`);
  assert.equal(await opened.page.locator("button.segment").count(), 3); // the first forward layer differs from the others
  await opened.page.fill("#search", "back*.42.17");
  await opened.page.locator("#found", { hasText: /^1 match$/ }).waitFor();
  await opened.page.locator("#results-0").click();
  await opened.page.locator("#details", { hasText: "backward.42.17" }).waitFor();
  await opened.page.locator("#opened", { hasText: "cheap operators" }).waitFor();
  for (const view of await opened.views()) await opened.go(view);
  await opened.go("Timeline");
  await opened.page.locator("canvas").focus();
  await opened.page.keyboard.press("n");
  assert.match(await opened.page.locator("#picked").innerText(), /forward\.0\.0/);
  await opened.expectClean();
  await opened.page.close();
});

/** Shared machines: bounds in seconds hold for one that does nothing else. */
function slowness(): number {
  return Number(process.env.MESHWRIGHT_TEST_SLOWNESS ?? "1");
}

const hostile: Record<string, string> = {
  markup: "<img src=x onerror=alert(1)><b>bold</b>",
  script: "</script><script>alert(2)</script><!--",
  quotes: "\"'`${alert(3)}\\",
  emoji: "👩‍👩‍👧‍👦😀\u0301",
  rightToLeft: "\u202eabc \u05d0\u05d1\u05d2 (x)",
  lines: "a\nb\tc\u2028d\u0000e",
  long: "long".repeat(2500),
};

test("hostile names are shown as text, and break nothing", async () => {
  const plan = pattern();
  const names = Object.values(hostile);
  plan.parameters.forEach((tensor: any, i: number) => {
    if (i < names.length) tensor.name = names[i];
  });
  const operators = plan.instructions.filter((one: any) => one.opcode !== "parameter" && one.phase !== undefined);
  const renamed = new Map<string, string>();
  operators.slice(0, names.length).forEach((one: any, i: number) => {
    renamed.set(one.name, names[i]);
    one.name = names[i];
  });
  for (const one of plan.instructions) for (const move of one.collective) move.value = renamed.get(move.value) ?? move.value;
  plan.op_names = plan.op_names.map((name: string, i: number) => names[i % names.length] + name);
  plan.source_files = plan.source_files.map(() => hostile.markup);
  plan.cluster.name = hostile.script;
  plan.inputs[0].path = hostile.markup;
  plan.peak_at = hostile.long;
  plan.warnings = names;
  const html = folder.report("hostile.html", folder.write("hostile.json", JSON.stringify(plan)));
  const opened = await Opened.open(browser, html);
  const summary = await opened.page.locator("main").innerText();
  assert.ok(summary.includes(hostile.markup));
  assert.ok(summary.includes(hostile.script));
  await opened.go("Tensor placement");
  for (const name of [hostile.markup, hostile.script, hostile.quotes, hostile.emoji, hostile.rightToLeft, hostile.long]) {
    await opened.page.fill("#search", name.slice(0, 60));
    await opened.page.locator("#results-0").click();
    const heading = opened.page.locator("section[aria-label='The chosen array'] h2");
    assert.equal(await heading.innerText(), name);
    const width = await opened.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(width <= 0, `${name.slice(0, 20)} makes the page ${width} pixels too wide`);
  }
  await opened.go("Network");
  await opened.page.fill("#search", "<img");
  await opened.page.locator("#results-0").click();
  for (const view of await opened.views()) await opened.go(view);
  assert.equal(await opened.page.locator("main img").count(), 0);
  assert.equal(await opened.page.evaluate(() => document.scripts.length), 2);
  await opened.expectClean();
  await opened.page.close();
});

test("names of 10,000 characters, and those that turn text round, widen nothing and turn nothing else", async () => {
  const plan = pattern();
  plan.inputs[0].path = `${hostile.rightToLeft}.hlo`;
  plan.cluster.name = hostile.long;
  plan.cluster.parts[0].device = `dev${hostile.long}`;
  plan.mesh.axes[0].name = "x";
  plan.options.fixes = [`${hostile.long}=[x]`];
  plan.warnings = [hostile.long];
  plan.peak_at = hostile.long;
  plan.op_names = plan.op_names.map((name: string) => name + hostile.long);
  plan.source_files = plan.source_files.map((name: string) => name + hostile.long);
  plan.parameters.forEach((tensor: any) => (tensor.name += hostile.long));
  const file = folder.write(`${"n".repeat(200)}.json`, JSON.stringify(plan));
  const opened = await Opened.open(browser, folder.report("wide.html", file, folder.write("other.json", JSON.stringify(pattern()))), { width: 360 });
  const first = opened.page.locator(".headline li").first();
  // The name is apart, its mark is shown, and what follows is read from left to right.
  assert.equal(await first.locator("bdi").first().innerText(), `${hostile.rightToLeft}.hlo`);
  assert.equal(await first.locator(".unseen").first().getAttribute("data-code"), "U+202E");
  assert.equal(await first.evaluate((element) => getComputedStyle(element).direction), "ltr");
  for (const view of await opened.views()) {
    await opened.go(view);
    for (const segment of await opened.page.locator("button.segment").all()) await segment.click();
    const width = await opened.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(width <= 0, `${view}: ${width} pixels too wide`);
  }
  await opened.expectClean();
  await opened.page.close();
});

/** Every number of a document in turn as extreme as the reader takes it. */
function extremes(plan: any): any[] {
  const results: any[] = [];
  for (const [key, value] of [["seconds", 1e9], ["seconds", 5e-324], ["seconds", 0], ["bytes", 0], ["bytes", 2 ** 62]] as const) {
    const change = (one: any, name: string): any => {
      if (Array.isArray(one)) return one.map((element) => change(element, name));
      if (one !== null && typeof one === "object") return Object.fromEntries(Object.entries(one).map(([k, v]) => [k, change(v, k)]));
      return typeof one === "number" && (name.endsWith(`_${key}`) || name === key) ? value : one;
    };
    const result = change(plan, "");
    // The reader wants parts that add up to the step.
    for (const part of Object.keys(result.time_use ?? {})) result.time_use[part] = part === "other_kernels" ? result.step_seconds : 0;
    for (const [index, one] of (result.time_classes ?? []).entries()) one.seconds = index === 0 ? result.step_seconds : 0;
    results.push(result);
  }
  return results;
}

test("extreme figures are shown as figures", async () => {
  const model = folder.file("model.json");
  meshwright("plan", "gpt3-1.3b", "--cluster", "8xh100-sxm", "--global-batch", "8", "--seq", "512", "--mtbf", "50000h", "-o", model);
  const pipeline = folder.plan("pipe.json", "hlo/pipeline/tied_clip.train.hlo.txt.gz", "--cluster", "2xh100-sxm", "--pipeline", "2", "--micro-batches", "2");
  const huge = readJson(model);
  for (const key of ["step_seconds", "objective_seconds", "bound_seconds", "compute_seconds", "communication_seconds", "gap"]) huge[key] = 1.7e308;
  huge.transformer.mfu = huge.transformer.hfu = 1e300;
  for (const part of Object.keys(huge.transformer.seconds)) huge.transformer.seconds[part] = 1e308;
  const files: string[] = [];
  for (const plan of [...extremes(pattern()), ...extremes(readJson(model)), ...extremes(readJson(pipeline)), huge]) {
    const file = folder.write(`extreme${files.length}.json`, JSON.stringify(plan));
    try {
      meshwright("report", file, "--csv", folder.file(`tables${files.length}`));
      files.push(file);
    } catch {
      // The reader refuses it: there is nothing to show.
    }
  }
  assert.ok(files.length >= 10, `${files.length} plans`);
  const opened = await Opened.open(browser, folder.report("extreme.html", ...files));
  for (let plan = 0; plan < files.length; plan += 1) {
    await opened.go("Summary");
    await opened.page.selectOption("#plan", String(plan));
    for (const view of await opened.views()) {
      await opened.go(view);
      const main = opened.page.locator("main");
      assert.doesNotMatch(await main.innerText(), /NaN|Infinity|undefined/, `${view} of ${files[plan]}`);
      assert.doesNotMatch(await main.innerHTML(), /="[^"]*(NaN|Infinity)/, `${view} of ${files[plan]}`);
    }
  }
  await opened.expectClean();
  await opened.page.close();
});

test("a narrow window has no sideways scrolling", async () => {
  const html = folder.report("narrow.html", folder.write("narrow.json", JSON.stringify(pattern())));
  const opened = await Opened.open(browser, html, { width: 480 });
  for (const view of await opened.views()) {
    await opened.go(view);
    const width = await opened.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(width <= 0, `${view}: ${width} pixels too wide`);
  }
  await opened.expectClean();
  await opened.page.close();
});
