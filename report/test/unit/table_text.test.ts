import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, countText, dollarsText, percentText, runTimeText, secondsText } from "../../src/format";
import { orderOf, tabSeparated, unitOf } from "../../src/table_text";

test("units are those of the figures' text", () => {
  for (const value of [0.5, 3e-3, 4e-6, 5e-9, 20, 12345]) assert.equal(unitOf(secondsText(value)), "s", secondsText(value));
  for (const value of [1e4, 1e6]) assert.equal(unitOf(runTimeText(value)), "s", runTimeText(value));
  for (const value of [0, 12, 5000, 3e6, 4e9, 5e12]) assert.equal(unitOf(bytesText(value)), "bytes", bytesText(value));
  assert.equal(unitOf(`≥ ${dollarsText(1234)}`), "dollars");
  for (const text of [percentText(0.5), countText(12), "2.00 of 3", "no limit", ""]) assert.equal(unitOf(text), "", text);
});

test("rows are sorted by their figures, equal ones stay in order and those without come last", () => {
  assert.deepEqual(orderOf([1, null, 3, 2, 3], true), [2, 4, 3, 0, 1]);
  assert.deepEqual(orderOf([1, null, 3, 2, 3], false), [0, 3, 2, 4, 1]);
  assert.deepEqual(orderOf(["layer10", "", "layer9"], false), [2, 0, 1]);
});

test("copied cells hold no tab or line break", () => {
  assert.equal(tabSeparated([["a\tb", "time [s]"], ["x\ny", 0.25], [null, "z"]]), "a b\ttime [s]\nx y\t0.25\n\tz\n");
});
