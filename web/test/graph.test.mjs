import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, compile, line, lineOf, look, open, pictureOf, state } from "./harness.mjs";

const queue = compile("queue");
after(closeBrowser);

/** The height of the smallest letters on the screen. */
const letters = (page) =>
  page.evaluate(() => {
    const text = [...document.querySelectorAll("#graph .label text")];
    return Math.min(...text.map((t) => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a));
  });

/** Whether the current state is in the panel. */
const inSight = (page) =>
  page.evaluate(() => {
    const panel = document.querySelector("#graph").getBoundingClientRect();
    const node = document.querySelector("#graph .current").getBoundingClientRect();
    return node.left >= panel.left && node.right <= panel.right && node.top >= panel.top && node.bottom <= panel.bottom;
  });

test("labels can be read in any panel, and the current state is in sight", async (t) => {
  const session = await open("debug", "-p", "std:mutex", "-p", "queue.prop", "--web", queue);
  t.after(session.close);
  const page = await look(session.url);
  for (const [width, height] of [[1024, 768], [1920, 1080], [3840, 2160]]) {
    await page.setViewportSize({ width, height });
    for (const property of ["1", "2"]) {
      await page.keyboard.press(property);
      const name = property === "1" ? "mutex" : "queue";
      await page.locator(`#graph svg[aria-label="Graph of property ${name}"]`).waitFor();
      await page.waitForFunction(() => document.querySelector("#graph .current"));
      assert.ok((await letters(page)) >= 10.4, `${name} at ${width}: ${await letters(page)} px`);
      assert.ok(await inSight(page), `${name} at ${width}`);
    }
  }
  // All of a label that was cut.
  await page.setViewportSize({ width: 1024, height: 768 });
  await page.keyboard.press("1");
  await page.locator("#graph .label title", { hasText: "pthread_mutex_init(arg 0 as m, arg 1 as attr" }).first().waitFor({ state: "attached" });
  // The whole is smaller; the same key comes back to what can be read.
  const read = await letters(page);
  await page.locator("#graph").focus();
  await page.keyboard.press("0");
  await page.locator('#graph-fit[aria-pressed="true"]').waitFor();
  assert.ok((await letters(page)) < read);
  assert.ok(await page.evaluate(() => document.querySelector("#graph").scrollWidth <= document.querySelector("#graph").clientWidth));
  await page.keyboard.press("0");
  assert.equal(await letters(page), read);
  await page.locator("#graph-in").click();
  assert.ok((await letters(page)) > read);
  assert.deepEqual(page.complaints, []);
});

test("a state that somebody sets is shown, while its slice is looked at", async (t) => {
  const session = await open("debug", "-p", "queue.prop", "--web", queue);
  t.after(session.close);
  const page = await look(session.url);
  await line(page, `break ${lineOf("queue.c", "queue_pop(&queue, 3)")}`);
  await page.keyboard.press("r");
  await state(page, "stopped");
  await page.locator("#slices-rows .row", { hasText: "queue_ready" }).click();
  const panel = page.locator("#panel-slice");
  const n = panel.getByLabel("value of N");
  await n.focus();
  await panel.getByLabel("state of the slice").evaluate((select) => {
    select.value = "sink";
    select.dispatchEvent(new Event("change"));
  });
  // The field still has the focus, and all the rest tells the truth.
  await panel.locator(".badge", { hasText: "non-accepting" }).waitFor();
  await panel.locator(".facts", { hasText: "verdict false" }).waitFor();
  await pictureOf(page, { current: ["sink"], previous: [], taken: [], counts: ["root", "", "1"] });
  assert.ok(await n.evaluate((input) => input === document.activeElement));
  await page.locator("#graph-follow").click();
  await pictureOf(page, { current: ["sink"], previous: [], taken: [] });
  // What does not fit is refused and taken back.
  await page.locator("#slices-rows .row", { hasText: "sink" }).click();
  await n.fill("100000000000000000000000");
  await n.press("Enter");
  await page.locator("#toast", { hasText: "64 bits" }).waitFor();
  await page.waitForFunction(() => document.querySelector('[aria-label="value of N"]').value === "2");
});
