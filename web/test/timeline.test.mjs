import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, compile, look, open, room, state } from "./harness.mjs";

after(closeBrowser);

/** Many threads; the property is violated early, and most events come later. */
function manyThreads() {
  const trace = join(room, "threads.jsonl");
  const event = (i, name, q, b) =>
    `{"event":"${name}","args":{"queue":${q},"${b}":4},"tid":${5000 + (i % 30)},"time":${i * 1000}}\n`;
  let text = event(0, "queue_new", 64, "size");
  for (let i = 1; i <= 60_000; i++) text += event(i, "queue_push", 64 + (i > 8 ? 1 : 0), "prod_id");
  writeFileSync(trace, text);
  return trace;
}

/** Whether a colour of the page is somewhere on the canvas. */
const painted = (page, name) =>
  page.evaluate((name) => {
    const canvas = document.querySelector("#timeline");
    const colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const wanted = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < data.length; i += 4) if (wanted.every((c, k) => data[i + k] === c)) return true;
    return false;
  }, name);

test("every thread has a track that can be read, and violations stay", async (t) => {
  const session = await open("replay", "-p", "queue.prop", "--show", "final", "--web", manyThreads());
  t.after(session.close);
  const first = await look(session.url, { viewport: { width: 1024, height: 768 } });
  await state(first, "ended");
  const second = await look(session.url, { viewport: { width: 1024, height: 768 } });
  for (const page of [first, second]) {
    await page.locator('#timeline[aria-description="30 threads, 1 violations, 0 checkpoints"]').waitFor();
    await page.locator("#timeline-kept", { hasText: /of 60.001 events/ }).waitFor();
    assert.ok(await painted(page, "--bad"), "the violation is marked");
  }
  assert.equal(await second.locator("#timeline-kept").innerText(), await first.locator("#timeline-kept").innerText());
  // The last track is reached by scrolling.
  const box = await first.locator("#timeline").boundingBox();
  await first.mouse.move(box.x + 20, box.y + box.height - 6);
  await first.locator("#tip", { hasText: /thread 50\d\d/ }).waitFor();
  await first.locator("#timeline").focus();
  for (let i = 0; i < 8; i++) await first.keyboard.press("PageDown");
  await first.mouse.move(box.x + 20, box.y + box.height - 8);
  await first.locator("#tip", { hasText: "thread 5029" }).waitFor();
  assert.deepEqual(first.complaints, []);
});

test("the chosen event stays in sight while time is stretched", async (t) => {
  const session = await open("replay", "-p", "queue.prop", "--show", "final", "--web", manyThreads());
  t.after(session.close);
  const page = await look(session.url);
  await state(page, "ended");
  await page.locator("#timeline").focus();
  const number = () => page.locator("#panel-event .facts b").first().innerText();
  await page.keyboard.press("Home");
  await page.locator("#panel-event h3", { hasText: "queue_push" }).waitFor();
  const first = Number(await number());
  assert.ok(await painted(page, "--text"), "it is framed");
  for (let i = 0; i < 30; i++) await page.keyboard.press("+");
  await page.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))));
  assert.ok(await painted(page, "--text"), "it is still in sight");
  await page.keyboard.press("End");
  await page.locator("#panel-event .facts b", { hasText: "60001" }).waitFor();
  assert.ok(first < 60001);
  await page.keyboard.press("ArrowDown");
  await page.locator("#panel-event .facts", { hasText: /thread 5001/ }).waitFor();
  assert.deepEqual(page.complaints, []);
});

test("a clock that counts from 1970 is told from the first event on", async (t) => {
  const trace = join(room, "clock.jsonl");
  // More digits than a number keeps; every event a microsecond after the one before.
  const event = (i, name, b) =>
    `{"event":"${name}","args":{"queue":64,"${b}":4},"tid":${5000 + (i % 2)},"time":${1_763_000_000_000_000_001n + BigInt(i) * 1000n}}\n`;
  let text = event(0, "queue_new", "size");
  for (let i = 1; i <= 8; i++) text += event(i, "queue_push", "prod_id");
  writeFileSync(trace, text);
  const session = await open("replay", "-p", "queue.prop", "--show", "final", "--web", trace);
  t.after(session.close);
  const page = await look(session.url);
  await state(page, "ended");
  await page.locator('#timeline[aria-description="2 threads, 1 violations, 0 checkpoints"]').waitFor();
  assert.ok(await painted(page, "--bad"), "the violation is marked");
  await page.locator("#timeline").focus();
  await page.keyboard.press("End");
  await page.locator("#panel-event .facts", { hasText: /at 8(\.0+)? µs/ }).waitFor();
  assert.deepEqual(page.complaints, []);
});

test("tracks have the threads' names", async (t) => {
  const session = await open("debug", "-p", "names.prop", "--web", compile("names"));
  t.after(session.close);
  const page = await look(session.url);
  await page.keyboard.press("r");
  await page.waitForFunction(() => Number(document.querySelector("#total").textContent) > 5);
  await page.locator('#timeline[aria-description^="1 threads"]').waitFor();
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.move(box.x + 20, box.y + 40);
  await page.locator("#tip", { hasText: /^names, thread \d+$/ }).waitFor();
});
