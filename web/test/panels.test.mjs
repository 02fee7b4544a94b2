import assert from "node:assert/strict";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, compile, here, line, lineOf, look, open, room, state } from "./harness.mjs";

const queue = compile("queue");
after(closeBrowser);

test("a source that is not here is said to be missing", async (t) => {
  const source = join(room, "lost.c");
  copyFileSync(join(here, "queue.c"), source);
  execFileSync("gcc", ["-g", "-O0", "-pthread", "-o", "lost", "lost.c"], { cwd: room });
  rmSync(source);
  const session = await open("debug", "-p", "queue.prop", "--web", join(room, "lost"));
  t.after(session.close);
  const page = await look(session.url);
  await page.locator("#source", { hasText: "was not started" }).waitFor();
  await line(page, "break main");
  await page.keyboard.press("r");
  await state(page, "stopped");
  await page.locator("#source", { hasText: /lost\.c:\d+, but its source is not here: .*lost\.c/ }).waitFor();
});

test("keys say why they do nothing, and lists are one stop of the Tab key", async (t) => {
  const session = await open("debug", "-p", "names.prop", "--web", compile("names"));
  t.after(session.close);
  const page = await look(session.url);
  const toast = (text) => page.locator("#toast", { hasText: text }).waitFor();
  await page.keyboard.press("k");
  await toast("r runs it");
  await page.keyboard.press("r");
  await state(page, "running");
  await page.locator("#source", { hasText: "The program is running" }).waitFor();
  await page.keyboard.press("k");
  await toast("i interrupts it");
  await page.keyboard.press("i");
  await state(page, "stopped");
  await page.keyboard.press("b");
  await toast("There is no checkpoint");
  await page.locator("#stack button").nth(1).waitFor();
  assert.equal(await page.locator('#stack button[tabindex="0"]').count(), 1);
  await page.locator('#stack button[tabindex="0"]').focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => [...document.querySelectorAll("#stack button")].indexOf(document.activeElement)), 1);
  // A session that dies is not a program that is stopped.
  session.child.kill("SIGKILL");
  await state(page, "lost");
  assert.equal(await page.locator(".controls button:not([disabled]):visible").count(), 0);
});

test("back to the last checkpoint by a key", async (t) => {
  const session = await open("debug", "-p", "queue.prop", "--web", queue);
  t.after(session.close);
  const page = await look(session.url);
  await line(page, `break ${lineOf("queue.c", "queue_pop(&queue, 3)")}`);
  await page.keyboard.press("r");
  await state(page, "stopped");
  await page.keyboard.press("k");
  await page.locator(".flag").waitFor();
  await page.keyboard.press("n");
  await page.locator("#total", { hasText: /^4$/ }).waitFor();
  await page.keyboard.press("b");
  await page.locator("#total", { hasText: /^3$/ }).waitFor();
});

test("an unattended run ends once, with the report's last word", async (t) => {
  const program = join(room, "once");
  writeFileSync(join(room, "once.c"), 'void greet(const char *name) { (void)name; }\nint main(void) { greet("you"); }\n');
  execFileSync("gcc", ["-g", "-O0", "-o", program, join(room, "once.c")]);
  const session = await open("check", "-p", "names.prop", "--web", program);
  t.after(session.close);
  const page = await look(session.url);
  await state(page, "ended");
  await page.locator("#properties .badge", { hasText: /^holds$/ }).waitFor();
  assert.ok(await page.locator("#do-run").isHidden());
  await line(page, "run");
  await page.locator("#toast", { hasText: "This run is the only one" }).waitFor();
});

test("all verdicts are in sight, and odd filters are explained", async (t) => {
  const properties = ["std:mutex", "std:fd", "std:malloc", "queue.prop", "names.prop"].flatMap((p) => ["-p", p]);
  const session = await open("debug", ...properties, "--web", queue);
  t.after(session.close);
  const page = await look(session.url, { viewport: { width: 1024, height: 768 } });
  await page.locator("#properties .property").nth(4).waitFor();
  const hidden = await page.evaluate(() => {
    const room = document.querySelector("#properties").getBoundingClientRect();
    const outside = (b) => b.right > room.right + 1 || b.bottom > room.bottom + 1;
    return [...document.querySelectorAll("#properties .badge")].filter((b) => outside(b.getBoundingClientRect())).length;
  });
  assert.equal(hidden, 0);
  await page.keyboard.press("4");
  for (const [filter, says] of [["state:", "which state? there is init, queue_ready, sink"], ['"', "NAME=VALUE"], ["N>0 (", "NAME=VALUE"]]) {
    await page.locator("#filter").fill(filter);
    await page.locator("#slices-count", { hasText: says }).waitFor();
  }
  await page.locator("#filter").fill("STATE:sink");
  await page.locator("#slices-none:visible", { hasText: "No slice passes" }).waitFor();
});

test("a property chosen before its shape is here stays chosen", async (t) => {
  const session = await open("debug", "-p", "names.prop", "-p", "queue.prop", "--web", queue);
  t.after(session.close);
  const page = await look(session.url);
  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  await page.route("**/data/properties", async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await page.locator("#properties .property").nth(1).waitFor();
  await page.keyboard.press("2");
  answer();
  await page.locator("#graph .node", { hasText: "queue_ready" }).waitFor();
});

test("the address works without its last slash", async (t) => {
  const session = await open("debug", "-p", "queue.prop", "--web", queue);
  t.after(session.close);
  const page = await look(session.url.replace(/\/$/, ""));
  assert.equal(page.url(), session.url);
});
