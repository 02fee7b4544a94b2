// A session with its page, and a browser to look at it.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const here = fileURLToPath(new URL(".", import.meta.url));
export const verde =
  process.env.VERDE ?? fileURLToPath(new URL("../../target/debug/verde", import.meta.url));

export const room = mkdtempSync(join(tmpdir(), "verde-page-"));
process.on("exit", () => rmSync(room, { recursive: true, force: true }));

/** Compiles a fixture; the path of the program. */
export function compile(name) {
  const program = join(room, name);
  execFileSync("gcc", ["-g", "-O0", "-pthread", "-o", program, `${name}.c`], { cwd: here });
  return program;
}

/** Where a fixture has a text, as a location for `break`. */
export function lineOf(file, text) {
  const lines = readFileSync(join(here, file), "utf8").split("\n");
  return `${file}:${lines.findIndex((l) => l.includes(text)) + 1}`;
}

/** Starts verde with its page. */
export const open = (...args) => openBy("", ...args);

/** Starts verde and types something that opens its page. */
export async function openBy(typed, ...args) {
  const child = spawn(verde, args, { cwd: here, stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stdout.on("data", (text) => (said += text));
  if (typed) child.stdin.write(`${typed}\n`);
  const url = await new Promise((resolve, reject) => {
    let text = "";
    const read = (more) => {
      text += more;
      const found = /at (http:\/\/\S+)/.exec(text);
      if (found) resolve(found[1]);
    };
    child.stderr.on("data", read);
    child.stdout.on("data", read);
    child.on("exit", (code) => reject(new Error(`verde exited with ${code}: ${text}`)));
  });
  return {
    url,
    child,
    said: () => said,
    close: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.on("exit", resolve);
        child.kill("SIGKILL");
      }),
  };
}

let browser = null;

/** A page of the session, which must not complain. */
export async function look(url, options = {}) {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(e.message));
  page.on("console", (m) => m.type() === "error" && complaints.push(m.text()));
  await page.goto(url);
  await page.locator("#link", { hasText: "live" }).waitFor();
  // The first frame is there: keys mean something.
  await page.locator("#state", { hasNotText: "…" }).waitFor();
  return Object.assign(page, { complaints });
}

export const closeBrowser = () => browser?.close();

/** A line for the prompt, by the page's console. */
export async function line(page, text) {
  await page.locator("#tab-console").click();
  await page.locator("#console-input").fill(text);
  const answered = page.waitForResponse((r) => r.url().endsWith("/data/ask") && r.request().postData().includes('"line"'));
  await page.keyboard.press("Enter");
  await answered;
  await page.locator("#console-input").blur();
}

export const state = (page, text) => page.locator("#state", { hasText: text }).waitFor();

/** Who is what in the graph. */
export const picture = (page) =>
  page.evaluate(() => {
    const names = (selector) =>
      [...document.querySelectorAll(`#graph ${selector}`)].map((g) => g.querySelector("text").textContent.trim());
    const fill = (selector) => {
      const shape = document.querySelector(`#graph ${selector} ellipse`);
      return shape && getComputedStyle(shape).fill;
    };
    const stroke = document.querySelector("#graph .edge.taken path");
    return {
      current: names(".node.current"),
      previous: names(".node.previous"),
      taken: names(".label.taken"),
      own: [...document.querySelectorAll("#graph .own text")].map((t) => t.textContent.trim()),
      currentFill: fill(".node.current"),
      previousFill: fill(".node.previous"),
      rejectingFill: fill(".node.rejecting"),
      takenStroke: stroke && getComputedStyle(stroke).stroke,
      rings: [...document.querySelectorAll("#graph .node.accepting, #graph .node.rejecting")].map((g) => g.querySelectorAll("ellipse").length),
      counts: [...document.querySelectorAll("#graph text.count")].map((t) => t.textContent),
    };
  });

/** Waits until the picture is as wanted; colours settle after their animation. */
export async function pictureOf(page, wanted) {
  const end = Date.now() + 20_000;
  for (;;) {
    const now = await picture(page);
    const wrong = Object.entries(wanted).filter(([k, v]) => JSON.stringify(now[k]) !== JSON.stringify(v));
    if (wrong.length === 0) return now;
    if (Date.now() > end) throw new Error(`wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(now)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
