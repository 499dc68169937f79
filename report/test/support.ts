// Reports made by the program itself, and a browser to look at them.
//
// MESHWRIGHT names the program (default: that of the release build), CHROMIUM the browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

const repository = path.resolve(process.env.MESHWRIGHT_REPOSITORY ?? "..");
const program = process.env.MESHWRIGHT ?? path.join(repository, "build", "release", "meshwright");

export const data = (name: string): string => path.join(repository, "tests", "data", name);

/** Runs the program; its standard output. */
export function meshwright(...options: string[]): string {
  return execFileSync(program, options, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
}

export class Folder {
  readonly path = mkdtempSync(path.join(tmpdir(), "meshwright-report-"));

  file(name: string): string {
    return path.join(this.path, name);
  }
  write(name: string, text: string): string {
    writeFileSync(this.file(name), text);
    return this.file(name);
  }
  /** A plan of a program in tests/data, as an object. */
  plan(name: string, program: string, ...options: string[]): string {
    meshwright("plan", data(program), ...options, "-o", this.file(name));
    return this.file(name);
  }
  report(name: string, ...files: string[]): string {
    meshwright("report", ...files, "-o", this.file(name));
    return this.file(name);
  }
  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export const readJson = (file: string): any => JSON.parse(readFileSync(file, "utf8"));

export async function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  assert.ok(existsSync(executablePath), `${executablePath} is not there: install chromium, or name one in CHROMIUM`);
  const quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath, args: [...quiet, ...(root ? ["--no-sandbox"] : [])] });
}

/** A report in a page of its own that notes everything which must not happen. */
export class Opened {
  readonly errors: string[] = [];
  readonly requests: string[] = [];

  private constructor(readonly page: Page) {}

  static async open(browser: Browser, file: string, options: { dark?: boolean; width?: number } = {}): Promise<Opened> {
    const page = await browser.newPage({
      viewport: { width: options.width ?? 1360, height: 900 },
      colorScheme: options.dark ? "dark" : "light",
    });
    const opened = new Opened(page);
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") opened.errors.push(message.text());
    });
    page.on("pageerror", (error) => opened.errors.push(String(error)));
    page.on("dialog", (dialog) => {
      opened.errors.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const own = pathToFileURL(file).href;
    page.on("request", (request) => {
      if (request.url() !== own) opened.requests.push(request.url());
    });
    await page.goto(own);
    await page.waitForSelector("html[data-ready=true]");
    return opened;
  }

  /** The names of the views, as the navigation has them. */
  async views(): Promise<string[]> {
    return this.page.locator("nav a").allTextContents();
  }

  async go(view: string): Promise<void> {
    await this.page.locator("nav a", { hasText: new RegExp(`^${view}$`) }).click();
    await this.page.locator("h1", { hasText: new RegExp(`^${view}$`) }).waitFor();
  }

  async expectClean(): Promise<void> {
    assert.equal(await this.page.locator(".error").count(), 0, await this.page.locator("main").innerText());
    assert.deepEqual(this.errors, []);
    assert.deepEqual(this.requests, []);
  }
}
