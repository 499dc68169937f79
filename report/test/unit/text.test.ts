import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, costText, countText, dollarsText, percentText, runTimeText, secondsText, specText } from "../../src/format";
import { finite, shareOf, sumOf } from "../../src/numbers";
import { partsOf, piecesOf, shortened, together, visible } from "../../src/text";

test("characters that turn text round are shown by their codes", () => {
  assert.equal(visible("a\u202eb"), "a‹U+202E›b");
  assert.deepEqual(piecesOf("a\u202eb"), [{ text: "a", code: "" }, { text: "\u202e", code: "U+202E" }, { text: "b", code: "" }]);
  for (const hidden of ["\u0000", "\u001b", "\u007f", "\u061c", "\u200b", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff"]) {
    assert.match(visible(`x${hidden}`), /^x‹U\+[0-9A-F]{4}›$/);
    assert.equal(piecesOf(hidden).map((piece) => piece.text).join(""), hidden);
  }
  // What is written with: other scripts, emoji with joiners, line breaks.
  for (const plain of ["\u05d0\u05d1", "\u0645\u0631\u062d\u0628\u0627", "👩‍👩‍👧‍👦", "a\tb\nc", ""]) assert.equal(visible(plain), plain);
});

test("sentences keep names apart", () => {
  assert.deepEqual(partsOf("\u2068a.hlo\u2069 on 8 x \u2068h100\u2069."), ["", "a.hlo", " on 8 x ", "h100", "."]);
  assert.deepEqual(partsOf("nothing"), ["nothing"]);
});

test("figures stay with their units", () => {
  assert.equal(together("7.01 % of 80.0 GiB, 1.10 ms."), "7.01\u00a0% of 80.0\u00a0GiB, 1.10\u00a0ms.");
  for (const plain of ["8 x h100", "4 stages", "3 by 2 d4", "1 s4"]) assert.equal(together(plain), plain);
});

test("long names lose their middle, by whole characters", () => {
  assert.equal(shortened("abc", 5), "abc");
  assert.equal(shortened("abcdefgh", 5), "ab…gh");
  assert.equal(shortened("😀".repeat(5000), 5), "😀😀…😀😀");
  assert.equal(shortened("\u202ea", 20), "‹U+202E›a");
});

test("no figure is without a number, however extreme", () => {
  const values = [0, -0, 5e-324, 1e-300, 1, 1e7, 1e21, 1e300, Number.MAX_VALUE, Infinity, -Infinity, NaN];
  for (const value of values) {
    for (const text of [bytesText, secondsText, percentText, countText, dollarsText, runTimeText]) {
      assert.doesNotMatch(text(value), /NaN|Infinity|undefined|∞/, `${text.name} of ${value}`);
      assert.ok(text(value).length < 24, `${text.name} of ${value}: ${text(value)}`);
    }
    assert.doesNotMatch(costText(value, false), /NaN|Infinity/);
  }
  assert.equal(sumOf([1e308, 1e308]), Number.MAX_VALUE);
  assert.equal(shareOf(1, 0), 0);
  assert.equal(shareOf(1e300, 1e-300), Number.MAX_VALUE);
  assert.equal(finite(NaN), 0);
});

test("times and costs of a run", () => {
  assert.equal(runTimeText(206220), "2.39 d");
  assert.equal(runTimeText(9000), "2.50 h");
  assert.equal(runTimeText(0.52), "520 ms");
  assert.equal(dollarsText(2336.574), "$2,337");
  assert.equal(dollarsText(0.00589), "$0.00589");
  assert.equal(specText([["a\u202eb"]]), "[a‹U+202E›b]");
});
