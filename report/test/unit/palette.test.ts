// The page's colours, as styles.css gives them: seen on every ground, and told apart.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { categoryColours, collectiveColour, inkOn, partColour, spectrum, stepPartColour, taskColours } from "../../src/palette";

type Rgb = [number, number, number];

const css = readFileSync("src/styles.css", "utf8");
const blocks = { light: /:root \{([^}]*)\}/.exec(css)![1], dark: /:root\[data-theme="dark"\] \{([^}]*)\}/.exec(css)![1] };
const names = [...Array.from({ length: 8 }, (_, i) => `--c${i}`), "--none"];

function variable(theme: "light" | "dark", name: string): Rgb {
  const hex = new RegExp(`${name}: #([0-9a-f]{6});`).exec(blocks[theme])![1];
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255) as Rgb;
}

const linear = (rgb: Rgb): Rgb => rgb.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as Rgb;
const times = (matrix: number[][], v: Rgb): Rgb => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as Rgb;

/** WCAG 2.2, "contrast ratio". */
function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [a, b].map((one) => times([[0.2126, 0.7152, 0.0722]], linear(one))[0]).sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency" (2009), severity 1.0, on linear RGB.
const sight: Record<string, number[][]> = {
  common: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

/** Ottosson, "A perceptual color space for image processing" (2020). */
function oklab(light: Rgb): Rgb {
  const lms = times([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], light);
  return times([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], lms.map(Math.cbrt) as Rgb);
}

for (const theme of ["light", "dark"] as const) {
  test(`every colour stands out from every ground of the ${theme} theme`, () => {
    for (const name of names) {
      for (const ground of ["--page", "--panel", "--raised"]) {
        const ratio = contrast(variable(theme, name), variable(theme, ground));
        assert.ok(ratio >= 3, `${name} on ${ground}: ${ratio.toFixed(2)}`);
      }
    }
    // Names of collectives are written in it.
    assert.ok(contrast(variable(theme, "--c3"), variable(theme, "--panel")) >= 4.5);
  });

  for (const [kind, matrix] of Object.entries(sight)) {
    test(`no two colours of the ${theme} theme look alike with ${kind} sight`, () => {
      const seen = names.map((name) => oklab(times(matrix, linear(variable(theme, name))).map((c) => Math.min(1, Math.max(0, c))) as Rgb));
      for (let a = 0; a < names.length; a += 1) {
        for (let b = 0; b < a; b += 1) {
          const distance = Math.hypot(...seen[a].map((c, i) => c - seen[b][i]));
          assert.ok(distance > 0.08, `${names[a]} and ${names[b]}: ${distance.toFixed(3)}`); // 0.02 is just noticed
        }
      }
    });
  }
}

test("colours that stand side by side are all different", () => {
  const step = ["compute", "tensor_communication", "context_communication", "expert_communication", "data_communication", "pipeline_communication", "host_communication", "bubble", "optimizer"];
  const kinds = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"];
  for (const colours of [step.map(stepPartColour), kinds.map(collectiveColour), categoryColours, taskColours, Array.from({ length: 9 }, (_, i) => partColour(i))]) {
    assert.equal(new Set(colours).size, colours.length, colours.join());
  }
  for (const count of [3, 8, 9, 64]) {
    assert.equal(new Set(Array.from({ length: count }, (_, i) => spectrum(i, count))).size, count);
  }
});

test("text on a colour has the ink that is read better", () => {
  assert.equal(inkOn("#01500c"), "#ffffff");
  assert.equal(inkOn("#ffd730"), "#000000");
  for (const theme of ["light", "dark"] as const) {
    for (const name of names) {
      const hex = new RegExp(`${name}: (#[0-9a-f]{6});`).exec(blocks[theme])![1];
      const ink: Rgb = inkOn(hex) === "#000000" ? [0, 0, 0] : [1, 1, 1];
      assert.ok(contrast(ink, variable(theme, name)) >= 4.5, `${theme} ${name}`);
    }
  }
});
