// Bundles the page and writes it as it goes into the program:
//   node build.mjs --page FILE    the page's head and tail, around the place for the data, as HTML
//   node build.mjs --cc FILE      the same as C++ (src/meshwright/report/page_parts.h)

import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));

async function bundle(entry, packages) {
  const result = await build({
    entryPoints: [path.join(here, entry)],
    absWorkingDir: here,
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["es2020"],
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "error",
    metafile: true,
  });
  for (const input of Object.keys(result.metafile.inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
    if (name) packages.add(name);
  }
  return result.outputFiles[0].text;
}

/** What the licences of the bundled packages ask to be kept with every copy. */
async function licences(packages) {
  const texts = [];
  for (const name of [...packages].sort()) {
    const folder = path.join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? await readFile(path.join(folder, file), "utf8") : "";
    texts.push(`${name} ${version} (${license})\n\n${text.trim()}`);
  }
  return texts.join("\n\n\n").replaceAll("--", "- -");
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The page in front of its data and behind it. */
export async function pageParts() {
  // Nothing in the bundle may end the element that it stands in.
  const packages = new Set();
  const script = (await bundle("src/main.tsx", packages)).replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const style = await bundle("src/styles.css", packages);
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Meshwright report</title>
<style>${style}</style>
</head>
<body>
<div id="page"><noscript>This report is drawn by a script that it carries; nothing is loaded. Allow scripts to see it.</noscript></div>
<script type="application/json" id="data">`;
  const tail = `</script>
<script>${script}</script>
<!-- The script above contains:

${await licences(packages)}
-->
</body>
</html>
`;
  return { head, tail };
}

// Lines of a C++ string literal; octal escapes, as hexadecimal ones would run on.
function literal(text) {
  const bytes = Buffer.from(text, "utf8");
  const lines = [];
  for (let start = 0; start < bytes.length; start += 4096) {
    let line = "";
    for (const byte of bytes.subarray(start, start + 4096)) {
      if (byte === 0x22 || byte === 0x5c) line += `\\${String.fromCharCode(byte)}`;
      else if (byte < 0x20 || byte > 0x7e || byte === 0x3f) line += `\\${byte.toString(8).padStart(3, "0")}`;
      else line += String.fromCharCode(byte);
    }
    lines.push(`    "${line}"`);
  }
  return { text: lines.join("\n"), bytes: bytes.length };
}

function source({ head, tail }) {
  const part = (name, text) => {
    const one = literal(text);
    return `const char k${name}[] =\n${one.text};\nconst std::size_t k${name}Bytes = ${one.bytes};\n`;
  };
  return `// Made by report/build.mjs.
#include "meshwright/report/page_parts.h"

namespace meshwright::report_page {
${part("Head", head)}${part("Tail", tail)}}  // namespace meshwright::report_page
`;
}

const [, main, option, file] = process.argv;
if (path.resolve(main) === fileURLToPath(import.meta.url)) {
  const parts = await pageParts();
  if (option === "--cc" && file) await writeFile(file, source(parts));
  else if (option === "--page" && file) await writeFile(file, `${parts.head}null${parts.tail}`);
  else {
    console.error("usage: node build.mjs --cc FILE | --page FILE");
    process.exit(2);
  }
}
