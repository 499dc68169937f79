// node test/run.mjs unit|browser [PART]: bundles the tests of a folder, or those whose file names have
// PART in them, and runs them with Node's runner.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];
if (folder !== "unit" && folder !== "browser") {
  console.error("usage: node test/run.mjs unit|browser");
  process.exit(2);
}
const tests = readdirSync(path.join(here, folder)).filter((name) => name.endsWith(".test.ts") && name.includes(process.argv[3] ?? ""));
const out = path.join(here, "..", "node_modules", ".cache", "tests", folder);
await build({
  entryPoints: tests.map((name) => path.join(here, folder, name)),
  absWorkingDir: path.join(here, ".."),
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node18",
  outdir: out,
  outExtension: { ".js": ".mjs" },
  packages: "external",
  jsx: "automatic",
  jsxImportSource: "preact",
  sourcemap: "inline",
  logLevel: "error",
});
const files = tests.map((name) => path.join(out, name.replace(/\.ts$/, ".mjs")));
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test-concurrency=1", "--test", ...files], { stdio: "inherit" });
process.exit(run.status ?? 1);
