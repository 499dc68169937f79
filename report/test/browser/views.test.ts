// Every view of every kind of document, as a user clicks through them.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { mixedCluster, profiled, verified } from "../kinds";
import { data, Folder, launch, meshwright, Opened } from "../support";

const folder = new Folder();
let browser: Browser;
let page: string;
let fsdp: string; // a program whose shardings are given: FSDP over 4 devices

before(async () => {
  const one = folder.plan("one.json", "hlo/tiny_gpt.train.hlo.txt.gz", "--cluster", "8xh100-sxm", "--mesh", "x=2,y=4");
  const other = folder.plan("other.json", "hlo/tiny_gpt.train.hlo.txt.gz", "--cluster", "4xh100-sxm", "--mesh", "4", "--memory", "2GiB");
  const pipeline = folder.plan("pipeline.json", "hlo/pipeline/tied_clip.train.hlo.txt.gz", "--cluster", "2xh100-sxm", "--pipeline", "2", "--micro-batches", "4", "--schedule", "1f1b");
  const model = folder.file("model.json");
  meshwright("plan", "gpt3-1.3b", "--cluster", "2x8xh100-sxm", "--global-batch", "64", "--seq", "2048", "-o", model);
  fsdp = folder.file("fsdp.json");
  meshwright("estimate", data("measured/gpt_2048x4.fsdp4.hlo.txt.gz"), "--cluster", "4xh100-sxm", "--mesh", "4", "-o", fsdp);
  const sweep = folder.file("sweep.csv");
  meshwright("plan", "gpt3-1.3b", "--cluster", "2x8xh100-sxm", "--global-batch", "64", "--seq", "2048", "--sweep", "gpus=4..16", "--csv", sweep, "-o", folder.file("swept.json"));
  const front = folder.file("front.json");
  meshwright("plan", "gpt3-1.3b", "--cluster", folder.write("mixed.yaml", mixedCluster), "--global-batch", "32", "--seq", "1024", "--tokens", "1B", "--pareto", "-o", front);
  page = folder.report("report.html", one, other, pipeline, model, sweep, front, folder.write("verified.json", verified));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  folder.remove();
});

test("every view of every plan opens, in both themes, without an error or a request", async () => {
  const opened = await Opened.open(browser, page);
  const seen = new Set<string>();
  for (const plan of ["0", "1", "2", "3", "4"]) {
    await opened.go("Summary");
    await opened.page.selectOption("#plan", plan);
    for (const view of await opened.views()) {
      seen.add(view);
      await opened.go(view);
      assert.ok((await opened.page.locator("main").innerText()).length > 60, view);
      await opened.page.locator("#theme").click();
      await opened.expectClean();
    }
  }
  assert.deepEqual([...seen].sort(), [
    "Alternatives", "Compare plans", "Memory", "Mesh and devices", "Network", "Predicted and measured", "Scaling",
    "Summary", "Tensor placement", "Time", "Timeline",
  ]);
  await opened.page.close();
});

test("the figures are those of the plan", async () => {
  const plan = JSON.parse(readFileSync(folder.file("one.json"), "utf8"));
  const opened = await Opened.open(browser, page);
  const text = await opened.page.locator("main").innerText();
  const table = meshwright("simulate", folder.file("one.json"));
  assert.match(table, /^one step: /);
  assert.ok(text.includes("tiny_gpt.train.hlo.txt.gz on 8 x h100-sxm"), text);
  assert.ok(plan.gap !== 0 || text.includes("optimal"));
  await opened.go("Tensor placement");
  await opened.page.fill("#search", plan.parameters[3].name);
  await opened.page.locator("#results-0").click();
  const spec = `[${plan.parameters[3].spec.map((axes: string[]) => (axes.length === 0 ? "_" : axes.length === 1 ? axes[0] : `(${axes.join(",")})`)).join(",")}]`;
  assert.ok((await opened.page.locator("section[aria-label='The chosen array']").innerText()).includes(spec));
  await opened.expectClean();
  await opened.page.close();
});

test("tables are sorted by a click on a title, and copied with figures in base units", async () => {
  const model = JSON.parse(readFileSync(folder.file("model.json"), "utf8"));
  const opened = await Opened.open(browser, page);
  await opened.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await opened.page.selectOption("#plan", "3");
  await opened.go("Alternatives");
  const all: number[] = [model.peak_bytes, ...model.transformer.alternatives.map((one: { peak_bytes: number }) => one.peak_bytes)];
  const copied = async (): Promise<string[][]> => {
    await opened.page.getByRole("button", { name: "Copy table" }).first().click();
    await opened.page.getByText("copied", { exact: true }).waitFor();
    const text = await opened.page.evaluate(() => navigator.clipboard.readText());
    return text.trimEnd().split("\n").map((line) => line.split("\t"));
  };
  const column = (rows: string[][]) => rows.slice(1).map((row) => Number(row[rows[0].indexOf("memory [bytes]")]));
  assert.deepEqual(column(await copied()), all);
  const title = opened.page.locator("th", { hasText: "memory" });
  await title.getByRole("button").click();
  assert.equal(await title.getAttribute("aria-sort"), "descending");
  assert.deepEqual(column(await copied()), [...all].sort((a, b) => b - a));
  await title.getByRole("button").click();
  assert.equal(await title.getAttribute("aria-sort"), "ascending");
  assert.deepEqual(column(await copied()), [...all].sort((a, b) => a - b));
  await title.getByRole("button").click();
  assert.equal(await title.getAttribute("aria-sort"), null);
  await opened.expectClean();
  await opened.page.close();
});

test("the most expensive collectives are those of explain, with their causes and lines", async () => {
  for (const file of [fsdp, folder.file("pipeline.json")]) {
    const { parts } = JSON.parse(meshwright("explain", file, "--json"));
    const opened = await Opened.open(browser, folder.report("expensive.html", file));
    await opened.go("Time");
    const expected = parts[0].collectives.slice(0, 8);
    assert.equal(expected.length, file === fsdp ? 8 : 0);
    const rows = opened.page.getByRole("table", { name: "The most expensive collectives" }).locator("tbody tr");
    for (const [r, one] of expected.entries()) {
      const cells = await rows.nth(r).locator("td, th").allInnerTexts();
      assert.equal(cells[0], `${one.kind} ${one.axes.join(",")}`);
      assert.deepEqual([cells[2], cells[4], cells[5], cells[6]], [String(one.count), one.cause, one.phase, one.source]);
    }
    for (const one of parts[0].phases) {
      if (one.phase !== "") assert.ok((await opened.page.getByRole("img", { name: /by phase/ }).textContent())!.includes(one.phase));
    }
    await opened.expectClean();
    await opened.page.close();
  }
});

test("what moves an array further along is shown, as explain --tensor has it", async () => {
  const plan = JSON.parse(readFileSync(fsdp, "utf8"));
  const opened = await Opened.open(browser, folder.report("further.html", fsdp));
  await opened.go("Tensor placement");
  const section = opened.page.locator("section[aria-label='The chosen array']");
  let through = 0;
  for (const { name } of plan.parameters) {
    const [tensor] = JSON.parse(meshwright("explain", fsdp, "--tensor", name, "--json")).tensors;
    const moved = tensor.readers.filter((one: any) => one.collectives.length > 0);
    if (moved.length === 0 || through > 4) continue;
    await opened.page.fill("#search", name);
    await opened.page.locator("#results-0").click();
    const text = await section.innerText();
    for (const reader of moved) {
      for (const one of reader.collectives) assert.ok(text.includes(`${one.kind} ${one.axes.join(",")}`), `${name}: ${text}`);
      if (reader.through === "") continue;
      through += 1;
      assert.match(text, /through/);
    }
  }
  assert.ok(through > 0);
  await opened.expectClean();
  await opened.page.close();
});

test("a verification says which plan it is of", async () => {
  const plan = JSON.parse(readFileSync(folder.file("one.json"), "utf8"));
  const three = (value: number) => Number(value.toPrecision(3));
  const figures = `${three(1e3 * plan.step_seconds)} ms, ${three(plan.peak_bytes / 2 ** 30)} GiB`;
  const own = folder.write("own.json", JSON.stringify({ ...JSON.parse(verified), plan: `Plan for 8xh100-sxm, mesh x=2,y=4: ${figures}` }));
  const opened = await Opened.open(browser, folder.report("verified.html", folder.file("one.json"), folder.file("verified.json"), own));
  await opened.go("Predicted and measured");
  const text = await opened.page.locator("main").innerText();
  assert.equal(text.split("Of none of the plans in this report.").length, 2);
  assert.equal(text.split("The plan of ").length, 2);
  assert.ok(text.includes("one.json"));
  await opened.expectClean();
  await opened.page.close();
});

test("a plan over groups of nodes has its front, its costs and its pipeline; what it has none of is said", async () => {
  const plan = JSON.parse(readFileSync(folder.file("front.json"), "utf8"));
  const opened = await Opened.open(browser, folder.report("groups.html", folder.file("front.json")));
  const main = opened.page.locator("main");
  const over = plan.transformer.over_groups;
  assert.ok(over.choices.length > 2);
  assert.match(await main.innerText(), /Cost of the run\n\$[0-9]/);
  assert.match(await main.innerText(), /A step costs \$/);
  await opened.go("Alternatives");
  const chart = opened.page.locator("svg[role=img][aria-label^='Time and cost of the whole run']");
  await chart.locator("circle").first().waitFor();
  assert.ok((await chart.locator("circle").count()) >= over.choices.filter((one: any) => one.on_front).length);
  assert.equal(await opened.page.locator("main tbody tr").count(), over.choices.length);
  // Views without anything to see are not offered; who has their address is told why.
  const offered = await opened.views();
  for (const view of ["Network", "Tensor placement", "Compare plans"]) assert.ok(!offered.includes(view), view);
  await opened.page.evaluate(() => {
    window.location.hash = "network";
  });
  await opened.page.locator("h1", { hasText: "Network" }).waitFor();
  assert.match(await main.innerText(), /This is the plan of a model: it has degrees of parallelism, but no program/);
  await opened.go("Timeline");
  assert.equal(await opened.page.locator("canvas").count(), 1);
  await opened.go("Mesh and devices");
  assert.match(await main.innerText(), /Groups of nodes/);
  assert.equal(await opened.page.locator("svg rect[width^='-'], svg rect[height^='-'], svg[width^='-']").count(), 0);
  await opened.expectClean();
  await opened.page.close();
});

test("a plan of a sweep shows how it scales, as the table by itself does", async () => {
  const model = ["plan", "gpt3-1.3b", "--cluster", "8xh100-sxm", "--global-batch", "64", "--seq", "2048"];
  meshwright(...model, "--sweep", "batch=16..64", "-o", folder.file("batches.json"));
  meshwright(...model, "--sweep", "seq=512..2048", "--csv", folder.file("lengths.csv"));
  for (const [file, axis] of [["swept.json", "GPUs"], ["sweep.csv", "GPUs"], ["batches.json", "sequences of a step"], ["lengths.csv", "tokens of a sequence"]]) {
    const opened = await Opened.open(browser, folder.report(`${file}.html`, folder.file(file)));
    await opened.go("Scaling");
    const chart = opened.page.locator(`svg[role=img][aria-label='Tokens a second by ${axis}']`);
    await chart.locator("circle").first().waitFor();
    assert.equal(await chart.locator("circle").count(), 3);
    assert.doesNotMatch(await chart.innerHTML(), /NaN/);
    await opened.expectClean();
    await opened.page.close();
  }
});

test("a plan with a profile database shows what was measured beside what the model says", async () => {
  const opened = await Opened.open(browser, folder.report("profiled.html", profiled(folder, folder.file("one.json"))));
  await opened.go("Predicted and measured");
  const rows = await opened.page.locator("main tbody tr").allInnerTexts();
  assert.equal(rows.length, 3);
  assert.match(rows[0], /^the whole step\t1\t31\.0 ms\t40\.0 ms\t1\.00 ms\t5\t29\.0 %/);
  assert.match(rows[1], /20\.0 ms\t10\.0 ms\t.*-50\.0 %/);
  assert.match(rows[2], /not measured/);
  await opened.expectClean();
  await opened.page.close();
});

test("a tensor is found, and its parts are shown", async () => {
  const opened = await Opened.open(browser, page);
  await opened.go("Tensor placement");
  await opened.page.fill("#search", "*wq*");
  await opened.page.locator("#found", { hasText: "match" }).waitFor();
  await opened.page.locator("#results").focus();
  await opened.page.keyboard.press("ArrowDown");
  const chosen = opened.page.locator("section[aria-label='The chosen array']");
  assert.match(await chosen.locator("h2").innerText(), /wq/);
  const parts = await chosen.locator("#tile option").count();
  assert.ok(parts >= 1);
  await opened.page.selectOption("#tile", String(parts - 1));
  assert.match(await chosen.locator("[role=status]").innerText(), /^on \d+ devices?: /);
  await chosen.locator("summary").click();
  assert.equal(await chosen.locator("details tbody tr").count(), parts);
  // The address has what is chosen: it can be kept, and sent.
  const name = await chosen.locator("h2").innerText();
  await opened.page.reload();
  await opened.page.waitForSelector("html[data-ready=true]");
  assert.equal(await chosen.locator("h2").innerText(), name);
  await opened.expectClean();
  await opened.page.close();
});

test("a segment opens to its operators, and an operator says what it is", async () => {
  const opened = await Opened.open(browser, page);
  await opened.go("Network");
  const segment = opened.page.locator("button.segment").first();
  await segment.click();
  assert.equal(await segment.getAttribute("aria-expanded"), "true");
  const operator = opened.page.locator("#opened g.node").first();
  await operator.focus();
  await opened.page.keyboard.press("Enter");
  assert.match(await opened.page.locator("#details").innerText(), /sharding/);
  await opened.page.fill("#search", "dot");
  await opened.page.locator("#results-1").click();
  assert.match(await opened.page.locator("#details").innerText(), /dot/);
  await segment.click();
  await opened.expectClean();
  await opened.page.close();
});

test("the timeline zooms and reads out its boxes by keyboard", async () => {
  const opened = await Opened.open(browser, page);
  await opened.page.selectOption("#plan", "2");
  await opened.go("Timeline");
  const canvas = opened.page.locator("canvas").first();
  await canvas.focus();
  const whole = await opened.page.locator("#span").first().innerText();
  await opened.page.keyboard.press("+");
  await opened.page.keyboard.press("ArrowRight");
  assert.notEqual(await opened.page.locator("#span").first().innerText(), whole);
  await opened.page.keyboard.press("0");
  assert.equal(await opened.page.locator("#span").first().innerText(), whole);
  await opened.page.keyboard.press("n");
  assert.match(await opened.page.locator("#picked").first().innerText(), /^Group 0, stage 0: forward of micro-batch 0/);
  await opened.page.keyboard.press("ArrowDown");
  assert.match(await opened.page.locator("#picked").first().innerText(), /^Group 1/);
  const area = (await canvas.boundingBox())!;
  await opened.page.mouse.click(area.x + 200, area.y + 38);
  assert.match(await opened.page.locator("#picked").first().innerText(), /^Group 0/);
  await opened.page.mouse.move(area.x + 210, area.y + 38);
  await opened.page.locator(".tip", { hasText: /^Group 0, stage 0/ }).first().waitFor();
  await opened.page.mouse.wheel(0, -300);
  await opened.page.locator("#span").first().filter({ hasNotText: whole }).waitFor();
  await opened.expectClean();
  await opened.page.close();
});

test("one step is drawn in lanes, and an operator leads to what it is and where it stands", async () => {
  const plan = JSON.parse(readFileSync(fsdp, "utf8"));
  const opened = await Opened.open(browser, folder.report("lanes.html", fsdp));
  const shown = Number((1e3 * plan.step_seconds).toPrecision(3));
  await opened.go("Timeline");
  const main = opened.page.locator("main");
  await main.locator("h2", { hasText: `What the step consists of: ${shown} ms` }).waitFor();
  assert.match(await main.locator("[aria-label^='Parts of the step']").getAttribute("aria-label") ?? "", /computation .*exposed communication, .*launch overhead/);
  await opened.page.locator("canvas").focus();
  await opened.page.keyboard.press("n");
  const details = opened.page.locator("#details");
  assert.match(await details.innerText(), /result[^]*sharding[^]*phase/);
  await opened.page.keyboard.press("ArrowDown"); // a collective: the operator that needs it
  assert.match(await opened.page.locator("#picked").innerText(), /^(all|reduce)-\w+ over .*(Hidden|Exposed)/);
  const operator = await details.locator("h2").innerText();
  await details.locator("button", { hasText: "Show in the network" }).click();
  await opened.page.locator("h1", { hasText: "Network" }).waitFor();
  assert.equal(await details.locator("h2").innerText(), operator);
  await opened.page.waitForFunction(() => window.scrollY > 0 && Math.abs(document.getElementById("opened")!.getBoundingClientRect().top) < 20);
  await opened.expectClean();
  await opened.page.close();
});

test("a measured trace is laid beside the plan, and what is none is told", async () => {
  const plan = JSON.parse(readFileSync(folder.file("one.json"), "utf8"));
  const slow = plan.instructions.filter((one: any) => one.seconds > 0).slice(0, 5);
  const events = ["1", "2"].flatMap((run) => slow.map((one: any, i: number) => ({ ph: "X", pid: 1, tid: 2, name: one.name, ts: 1e6 * Number(run) + 100 * i, dur: 40, args: { hlo_op: one.name, run_id: run } })));
  const packed = folder.file("step.trace.json.gz");
  writeFileSync(packed, gzipSync(JSON.stringify({ traceEvents: events })));
  const opened = await Opened.open(browser, page);
  await opened.go("Timeline");
  await opened.page.setInputFiles("#trace", packed);
  assert.match(await opened.page.locator("#trace-summary").innerText(), /^2 steps measured, matched by operator: 200 us a step/);
  const rows = opened.page.getByRole("table", { name: "Measured beside predicted" }).locator("tbody tr");
  assert.equal(await rows.count(), 5);
  assert.match(await rows.first().innerText(), /40\.0 us/);
  await opened.page.setInputFiles("#trace", folder.file("one.json"));
  assert.match(await opened.page.locator("[role=alert]").innerText(), /^one\.json cannot be laid beside the plan: it has no list traceEvents/);
  await opened.expectClean();
  await opened.page.close();
});

test("one field finds everything, by keyboard and by pointer", async () => {
  const opened = await Opened.open(browser, page);
  await opened.page.keyboard.press("/");
  await opened.page.keyboard.type("layer 1");
  const found = opened.page.locator("#everything-found li");
  await found.first().waitFor();
  assert.match(await found.first().innerText(), /^layer\s+layer 1/);
  await opened.page.evaluate(readFileSync("node_modules/axe-core/axe.min.js", "utf8"));
  const violations = await opened.page.evaluate(async () => (await (window as any).axe.run()).violations.map((one: any) => `${one.id} ${one.nodes[0].html}`));
  assert.deepEqual(violations, []);
  await opened.page.keyboard.press("Enter");
  await opened.page.locator("h1", { hasText: "Network" }).waitFor();
  assert.match(await opened.page.locator("#opened h2").innerText(), /layers? .*1/);
  await opened.page.fill("#everything", "*layer1*wq*");
  await found.filter({ hasText: "tensor" }).first().click();
  await opened.page.locator("h1", { hasText: "Tensor placement" }).waitFor();
  assert.match(await opened.page.locator("section[aria-label='The chosen array'] h2").innerText(), /layer1.*wq/);
  await opened.page.fill("#everything", "pipeline.json");
  await found.first().click();
  await opened.page.locator("h1", { hasText: "Summary" }).waitFor();
  assert.equal(await opened.page.locator("#plan").inputValue(), "2");
  await opened.page.fill("#everything", "no such thing at all");
  await opened.page.locator(".nowhere").waitFor();
  await opened.page.keyboard.press("Escape");
  assert.equal(await opened.page.locator(".nowhere").count(), 0);
  await opened.expectClean();
  await opened.page.close();
});

test("it can be used by keyboard alone, and views take the focus to their heading", async () => {
  const opened = await Opened.open(browser, page);
  await opened.page.keyboard.press("Tab");
  assert.equal(await opened.page.evaluate(() => document.activeElement?.className), "skip");
  await opened.page.keyboard.press("Tab");
  await opened.page.keyboard.press("Tab");
  await opened.page.keyboard.press("Enter");
  await opened.page.locator("h1", { hasText: "Mesh and devices" }).waitFor();
  // The focus follows once the view is drawn.
  await opened.page.waitForFunction(() => document.activeElement?.tagName === "H1");
  await opened.expectClean();
  await opened.page.close();
});
