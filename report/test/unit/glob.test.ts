import assert from "node:assert/strict";
import { test } from "node:test";
import { globMatcher, isGlob } from "../../src/glob";

const all = ["a0b", "a1b", "a3b", "a03b", "a7b", "a13b", "ab", "a{0..3}b"];
const matches = (pattern: string) => all.filter(globMatcher(pattern));

test("stars and question marks stand for characters", () => {
  assert.deepEqual(matches("a?b"), ["a0b", "a1b", "a3b", "a7b"]);
  assert.deepEqual(matches("a*3b"), ["a3b", "a03b", "a13b"]);
  assert.deepEqual(matches("*"), all);
  assert.deepEqual(matches("a"), []);
  assert.equal(globMatcher("*a*b*c")("aXbYbZc"), true);
  assert.equal(globMatcher("a.b")("axb"), false);
});

test("sets stand for whole numbers", () => {
  assert.deepEqual(matches("a{0..3}b"), ["a0b", "a1b", "a3b", "a{0..3}b"]); // and for its own text
  assert.deepEqual(matches("a{0,13}b"), ["a0b", "a13b"]);
  assert.deepEqual(matches("a{1..13..2}b"), ["a1b", "a3b", "a7b", "a13b"]);
  assert.deepEqual(matches("a{03}b"), ["a03b"]);
  assert.deepEqual(matches("*{3}b"), ["a3b"]); // not the end of 13
  assert.deepEqual(matches("a{3..1}b"), []);
});

test("a text without anything special is no pattern", () => {
  for (const text of ["w1", "state['w']", "{", "{}", "{a}", "{1..}", "{1..5..0}", "{-1}"]) assert.equal(isGlob(text), false, text);
  for (const text of ["w*", "?", "{0}", "{0..3,7}", "x{1..9..2}"]) assert.equal(isGlob(text), true, text);
});
