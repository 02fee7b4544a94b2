import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, compile, line, lineOf, look, open, openBy, pictureOf, room, state } from "./harness.mjs";

const GREEN = "rgb(31, 143, 62)";
const RED = "rgb(207, 35, 48)";
const LIGHT_RED = "rgb(255, 217, 214)";
const GREY = "rgb(169, 175, 182)";
const BROWN = "rgb(138, 84, 32)";

const queue = compile("queue");
after(closeBrowser);

async function debugged(t, ...more) {
  const session = await open("debug", "-p", "queue.prop", ...more, "--web", queue);
  t.after(session.close);
  return session;
}

test("the four pictures of the paper's figure", async (t) => {
  const session = await debugged(t);
  const page = await look(session.url);
  // Before the property's initialization.
  await pictureOf(page, { current: ["init"], previous: [], taken: [], currentFill: GREEN, rejectingFill: LIGHT_RED, rings: [2, 2, 1] });
  // On initialization.
  await line(page, `break ${lineOf("queue.c", "queue_push(&queue, 1)")}`);
  await page.keyboard.press("r");
  await state(page, "stopped");
  await pictureOf(page, {
    current: ["queue_ready"],
    previous: ["init"],
    taken: ["queue_new(queue, size : int)"],
    currentFill: GREEN,
    previousFill: GREY,
    takenStroke: BROWN,
    counts: ["root", "1", ""],
  });
  // While the property is verified.
  await page.keyboard.press("n");
  await pictureOf(page, {
    current: ["queue_ready"],
    previous: [],
    own: ["queue_push(queue, prod_id)", "[N < maxSize]", "N = N + 1"],
    currentFill: GREEN,
    takenStroke: BROWN,
  });
  // When it becomes falsified.
  await line(page, "delete");
  await page.keyboard.press("c");
  await pictureOf(page, {
    current: ["sink"],
    previous: ["queue_ready"],
    own: ["queue_push(queue, prod_id)", "[not (N < maxSize)]"],
    currentFill: RED,
    previousFill: GREY,
    takenStroke: BROWN,
    counts: ["root", "", "1"],
  });
  assert.deepEqual(page.complaints, []);
});

test("a violation appears with its backtrace, its events and the source", async (t) => {
  const session = await debugged(t);
  const page = await look(session.url);
  await page.keyboard.press("r");
  await page.locator("#properties .badge", { hasText: "violated · 1" }).waitFor();
  await page.locator("#tab-violations", { hasText: "Violations 1" }).click();
  const text = await page.locator("#panel-violations").innerText();
  assert.match(text, /queue \[queue = 0x[0-9a-f]+\] in sink at event 7, queue\.c:\d+/);
  assert.match(text, /queue_push at queue\.c:\d+\s+main at queue\.c:\d+/);
  assert.equal(await page.locator("#panel-violations .event-line").count(), 7);
  assert.match(await page.locator(".line.here").innerText(), /queue_push\(struct queue \*queue/);
  assert.match(await page.locator("#stack").innerText(), /#1 .*main/);
  // The terminal saw it as well.
  assert.match(session.said(), /violation: queue .* reached sink at event 7/);
});

test("a click on a checkpoint brings the counters back", async (t) => {
  const session = await debugged(t);
  const page = await look(session.url);
  await line(page, `break ${lineOf("queue.c", "queue_pop(&queue, 3)")}`);
  await page.keyboard.press("r");
  await state(page, "stopped");
  await page.keyboard.press("k");
  await page.locator(".flag", { hasText: "1" }).waitFor();
  await line(page, "delete");
  await page.keyboard.press("c");
  await pictureOf(page, { current: ["sink"] });
  assert.equal(await page.locator("#total").innerText(), "7");
  await page.locator(".flag", { hasText: "1" }).click();
  await page.locator("#total", { hasText: /^3$/ }).waitFor();
  // All is as it was then, here and for whoever comes later.
  const then = { current: ["queue_ready"], previous: [], own: ["queue_push(queue, prod_id)", "[N < maxSize]", "N = N + 1"], counts: ["root", "1", ""] };
  for (const tab of [page, await look(session.url)]) {
    await pictureOf(tab, then);
    await tab.locator("#graph-who", { hasText: "last moved: queue = 0x" }).waitFor();
    await tab.locator("#tab-violations", { hasText: /^Violations$/ }).waitFor();
    assert.equal(await tab.locator("#reason").innerText(), "restored checkpoint 1");
  }
  const row = page.locator("#slices-rows .row", { hasText: "queue_ready" });
  await row.waitFor();
  assert.match((await row.innerText()).replace(/\s+/g, " "), /queue_ready 0x[0-9a-f]+ 2 3/);
  await row.click();
  await page.locator("#graph-who", { hasText: "slice queue = 0x" }).waitFor();
  await pictureOf(page, then);
  // What was undone can be brought back, with all that was known of it.
  await line(page, "restart undo");
  await page.locator("#graph-follow").click();
  await pictureOf(page, { current: ["sink"], previous: ["queue_ready"], counts: ["root", "", "1"] });
  await page.locator("#tab-violations", { hasText: "Violations 1" }).waitFor();
});

test("a slice is chosen, shown and changed by keyboard", async (t) => {
  const session = await debugged(t);
  const page = await look(session.url);
  await line(page, `break ${lineOf("queue.c", "queue_pop(&queue, 3)")}`);
  await page.keyboard.press("r");
  await state(page, "stopped");
  await page.keyboard.press("/");
  await page.keyboard.type("state:queue_ready N>1");
  await page.locator("#slices-count", { hasText: "1 of 2" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const panel = page.locator("#panel-slice");
  await panel.locator("h3", { hasText: "queue = 0x" }).waitFor();
  assert.match(await panel.innerText(), /parent root/);
  assert.equal(await panel.locator(".event-line").count(), 3);
  // The session keeps to the new value: one push less breaks the property.
  const n = panel.getByLabel("value of N");
  assert.equal(await n.inputValue(), "2");
  await n.fill("3");
  await n.press("Enter");
  await page.locator("#slices-rows .row", { hasText: /queue_ready\s*0x[0-9a-f]+\s*3\s*3/ }).waitFor();
  await panel.getByLabel("state of the slice").selectOption("init");
  await page.locator("#filter").fill("");
  await page.locator("#slices-rows .row", { hasText: /init\s*0x/ }).waitFor();
  // What is wrong is said, and nothing changes.
  await page.locator("#filter").fill("M>3");
  await page.locator("#slices-count", { hasText: "nothing is called M" }).waitFor();
});

test("reloading and other tabs show the truth", async (t) => {
  const session = await debugged(t);
  const page = await look(session.url);
  const other = await look(session.url, { colorScheme: "dark" });
  await page.keyboard.press("r");
  for (const tab of [page, other]) {
    await pictureOf(tab, { current: ["sink"], previous: ["queue_ready"], counts: ["root", "", "1"] });
  }
  await page.reload();
  await pictureOf(page, { current: ["sink"], previous: ["queue_ready"], counts: ["root", "", "1"] });
  assert.equal(await page.locator("#total").innerText(), "7");
  await page.locator("#tab-violations", { hasText: "Violations 1" }).waitFor();
});

test("a running program is interrupted and goes on; its texts are only texts", async (t) => {
  const session = await open("debug", "-p", "names.prop", "--web", compile("names"));
  t.after(session.close);
  const page = await look(session.url);
  await page.keyboard.press("r");
  await state(page, "running");
  await page.waitForFunction(() => Number(document.querySelector("#total").textContent) > 20);
  await page.keyboard.press("i");
  await state(page, "stopped");
  const total = Number(await page.locator("#total").innerText());
  await page.locator("#timeline").focus();
  await page.keyboard.press("ArrowLeft");
  await page.locator("#panel-event", { hasText: "<b id=owned>" }).waitFor();
  await page.keyboard.press("c");
  await state(page, "running");
  await page.waitForFunction((n) => Number(document.querySelector("#total").textContent) > n + 10, total);
  assert.equal(await page.locator("#owned, img").count(), 0);
  assert.deepEqual(page.complaints, []);
});

/** A request as no browser would send it; its status. */
function knock(url, headers = {}, path = undefined, method = "GET") {
  const { hostname, port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path: path ?? pathname, method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on("error", reject);
    asked.end();
  });
}

test("strangers are refused", async (t) => {
  const session = await debugged(t);
  const { url } = session;
  const host = new URL(url).host;
  const { pathname, port } = new URL(url);
  assert.equal(await knock(url), 200);
  assert.equal(await knock(url, { host: `localhost:${port}` }), 200);
  // A wrong token.
  assert.equal(await knock(url, {}, "/"), 404);
  const wrong = pathname.replace(/[0-9a-f]/, (c) => (c === "0" ? "1" : "0"));
  for (const file of ["", "page.js", "data/frames", "data/properties"]) {
    assert.equal(await knock(url, {}, wrong + file), 404);
  }
  // A name that somebody else made for this machine, as in DNS rebinding.
  for (const file of ["", "data/frames", "data/properties"]) {
    assert.equal(await knock(url, { host: `evil.example:${port}` }, pathname + file), 421);
  }
  // Another page.
  for (const origin of ["http://evil.example", "null", `http://127.0.0.1:${Number(port) + 1}`]) {
    assert.equal(await knock(url, { host, origin }, `${pathname}data/ask`, "POST"), 403);
    assert.equal(await knock(url, { host, origin }, `${pathname}data/interrupt`, "POST"), 403);
    assert.equal(await knock(url, { host, origin }, `${pathname}data/frames`), 403);
  }
  // Such a page in a real browser, even if it knew the token.
  const server = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end("<!doctype html><title>evil</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const page = await look(url);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const tried = await page.evaluate(async (base) => {
    const attempt = (run) => run.then(() => "came through", () => "refused");
    const body = JSON.stringify({ do: "line", line: "run" });
    const script = new Promise((yes, no) => {
      const element = document.createElement("script");
      element.src = `${base}page.js`;
      element.onload = yes;
      element.onerror = no;
      document.head.append(element);
    });
    return [
      await attempt(fetch(`${base}data/properties`)),
      await attempt(fetch(`${base}data/ask`, { method: "POST", headers: { "content-type": "application/json" }, body })),
      await attempt(script),
    ];
  }, url);
  assert.deepEqual(tried, ["refused", "refused", "refused"]);
  // Without a preflight the browser sends it, but it is not obeyed.
  await page.evaluate((base) => fetch(`${base}data/interrupt`, { method: "POST", mode: "no-cors" }).catch(() => {}), url);
  const again = await look(url);
  await state(again, "not started");
});

test("a hundred thousand slices", async (t) => {
  const trace = join(room, "many.jsonl");
  const event = (name, q, b) => `{"event":"${name}","args":{"queue":${q},"${b}":4}}\n`;
  let text = "";
  for (let i = 0; i < 100_000; i++) {
    const q = 0x550000000000 + i * 32;
    text += event("queue_new", q, "size");
    if (i % 100 === 7) text += event("queue_push", q, "prod_id").repeat(5);
  }
  writeFileSync(trace, text);
  const session = await open("replay", "-p", "queue.prop", "--show", "final", "--web", trace);
  t.after(session.close);
  const page = await look(session.url);
  const count = page.locator("#slices-count");
  await state(page, "ended");
  await count.filter({ hasText: /^100.001$/ }).waitFor();
  const begun = Date.now();
  await page.locator("#filter").fill("state:sink");
  await count.filter({ hasText: /^1.000 of 100.001$/ }).waitFor();
  t.diagnostic(`filtered in ${Date.now() - begun} ms`);
  await page.locator("#filter").fill("N>2 queue=0x5500002..");
  await count.filter({ hasText: /^327 of 100.001$/ }).waitFor();
  // To the end and back, with few rows in the page.
  await page.locator("#filter").fill("");
  await count.filter({ hasText: /^100.001$/ }).waitFor();
  await page.locator("#slices-scroll").focus();
  await page.keyboard.press("End");
  await page.locator("#slices-rows .row:not([hidden])", { hasText: "0x55000030d3e0" }).waitFor();
  assert.ok((await page.locator("#slices-rows .row").count()) < 100);
  // Sorted by the session: the full queues first, and back to the first one created.
  const top = (text) => page.locator('#slices-rows .row[aria-rowindex="1"]', { hasText: text }).waitFor();
  const head = page.locator('#slices-head [data-column="N"]');
  await head.getByRole("button").click();
  await page.locator('#slices-head [data-column="N"][aria-sort="ascending"]').waitFor();
  await page.keyboard.press("Enter");
  await top(/sink\s*0x\w+\s*3\s*3/);
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  await page.keyboard.press("Enter");
  await top("root");
  assert.deepEqual(page.complaints, []);
});

test("an unattended run is watched, stopped and let go", async (t) => {
  const session = await open("check", "-p", "names.prop", "--web", compile("names"));
  t.after(session.close);
  const page = await look(session.url);
  await page.waitForFunction(() => Number(document.querySelector("#total").textContent) > 10);
  await page.keyboard.press("i");
  await state(page, "stopped");
  await page.keyboard.press("c");
  await state(page, "running");
  session.child.kill("SIGINT");
  await new Promise((resolve) => session.child.on("exit", resolve));
  assert.equal(session.child.exitCode, 130);
});

test("a process that runs already is watched, and goes on afterwards", async (t) => {
  const running = spawn(compile("names"), { stdio: "ignore" });
  t.after(() => running.kill("SIGKILL"));
  const session = await open("attach", "-p", "names.prop", "--web", String(running.pid));
  t.after(session.close);
  const page = await look(session.url);
  await state(page, "stopped");
  await page.keyboard.press("c");
  await page.waitForFunction(() => Number(document.querySelector("#total").textContent) > 10);
  await page.keyboard.press("i");
  await state(page, "stopped");
  // The terminal is asked in between.
  session.child.stdin.write("info monitors\n");
  await page.locator("#state", { hasText: "stopped" }).waitFor();
  session.child.stdin.end();
  await new Promise((resolve) => session.child.on("exit", resolve));
  assert.match(session.said(), /names .* running/);
  assert.equal(running.exitCode, null);
});

test("the prompt opens the page, and both command the session", async (t) => {
  const session = await openBy("verde show-graph", "debug", "-p", "queue.prop", queue);
  t.after(session.close);
  const page = await look(session.url);
  session.child.stdin.write(`break ${lineOf("queue.c", "queue_pop(&queue, 3)")}\nrun\n`);
  await state(page, "stopped");
  await page.keyboard.press("n");
  await page.locator("#total", { hasText: /^4$/ }).waitFor();
  session.child.stdin.write("continue\n");
  await pictureOf(page, { current: ["sink"] });
  session.child.stdin.write("quit\n");
  await new Promise((resolve) => session.child.on("exit", resolve));
  assert.equal(session.child.exitCode, 0);
  await page.locator("#link.off").waitFor();
});
