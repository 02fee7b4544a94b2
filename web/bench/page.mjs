// What the live page costs the program, and how fast it filters.
//   node bench/page.mjs [EVENTS]

import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { closeBrowser, look, open, room, state, verde } from "../test/harness.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const events = process.argv[2] ?? "200000";
const program = join(room, "busy");
execFileSync("gcc", ["-g", "-O2", "-o", program, join(here, "busy.c")]);
const property = join(here, "busy.prop");

const firstNumber = (child) =>
  new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (more) => {
      text += more;
      if (text.includes("\n")) resolve(Number(text));
    });
    child.on("error", reject);
  });

/** Milliseconds of the program's loop without a page. */
async function bare() {
  const child = spawn(verde, ["check", "-p", property, program, events], { stdio: ["ignore", "pipe", "ignore"] });
  return firstNumber(child);
}

/** The same while a browser shows the page. */
async function watched() {
  const session = await open("debug", "-p", property, "--ex", "break main", "--ex", "run", "--web", program, events);
  const page = await look(session.url);
  await state(page, "stopped");
  await page.keyboard.press("c");
  const took = new Promise((resolve) => {
    const timer = setInterval(() => {
      const found = /^(\d+)$/m.exec(session.said().split("Continuing.").at(-1) ?? "");
      if (!found) return;
      clearInterval(timer);
      resolve(Number(found[1]));
    }, 50);
  });
  const ms = await took;
  await page.close();
  await session.close();
  return ms;
}

/** The same at the prompt without a page. */
async function unwatched() {
  const args = ["debug", "--batch", "-p", property, "--ex", "run", program, events];
  const text = execFileSync(verde, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 30 });
  return Number(/^(\d+)$/m.exec(text)[1]);
}

async function filtering() {
  const trace = join(room, "many.jsonl");
  let text = "";
  for (let i = 0; i < 100_000; i++) text += `{"event":"touch","args":{"object":${0x550000000000 + i * 32},"value":1}}\n`;
  writeFileSync(trace, text);
  const session = await open("replay", "-p", property, "--show", "final", "--web", trace);
  const page = await look(session.url);
  await state(page, "ended");
  await page.locator("#slices-count", { hasText: /^100.001$/ }).waitFor();
  const times = [];
  for (const filter of ["state:seen n>0", "object=0x5500001..", "n=1 object>0x550000100000", "0x550000"]) {
    times.push(
      await page.evaluate(async (filter) => {
        const input = document.querySelector("#filter");
        const count = document.querySelector("#slices-count");
        const begun = performance.now();
        const changed = new Promise((resolve) => {
          new MutationObserver((_, o) => {
            o.disconnect();
            requestAnimationFrame(() => resolve());
          }).observe(count, { childList: true, characterData: true, subtree: true });
        });
        input.value = filter;
        input.dispatchEvent(new Event("input"));
        await changed;
        return Math.round(performance.now() - begun);
      }, filter),
    );
  }
  await session.close();
  return Math.max(...times);
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const rounds = { bare: [], unwatched: [], watched: [] };
for (let i = 0; i < 5; i++) {
  rounds.bare.push(await bare());
  rounds.unwatched.push(await unwatched());
  rounds.watched.push(await watched());
}
const [plain, shown] = [median(rounds.unwatched), median(rounds.watched)];
console.log(`| | |\n|---|---|`);
console.log(`| ${events} events, unattended | ${median(rounds.bare)} ms |`);
console.log(`| at the prompt, no page | ${plain} ms |`);
console.log(`| at the prompt, page open in Chromium | ${shown} ms (${(((shown - plain) / plain) * 100).toFixed(1)} %) |`);
console.log(`| 100,000 slices filtered, slowest of four filters, to the painted row | ${await filtering()} ms |`);
await closeBrowser();
process.exit(0);
