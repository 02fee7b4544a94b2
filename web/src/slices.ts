// The table of slices. The session filters; only the rows in sight are ever here.

import { byId, h, isTyping, onFrame, setText } from "./dom.js";
import { grouped, sameSlice, type SliceLine } from "./model.js";
import { ask } from "./net.js";
import { store } from "./store.js";

/** Rows of one question. */
const CHUNK = 100;
/** Browsers cannot scroll through more. */
const TALLEST = 8_000_000;

const scroller = byId("slices-scroll");
const body = byId("slices-rows");
const head = byId("slices-head");
const input = byId<HTMLInputElement>("filter");
const count = byId("slices-count");

let chunks = new Map<number, SliceLine[]>();
let matching = 0;
/** The column that the rows are sorted by; without one they stand as they were created. */
let by = "";
/** The last first. */
let down = false;
/** Changes with every filter and refresh: late answers are dropped. */
let epoch = 0;
let asked = new Set<number>();
let seenTotal = -1;
let cost = 0;
let timer = 0;
let pool: HTMLElement[] = [];
/** Row with the focus of the keyboard. */
let cursor = 0;
/** Chosen before its row was here. */
let wanted: number | null = null;

function rowHeight(): number {
  return Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * 1.85);
}

function first(): number {
  const whole = matching * rowHeight();
  if (whole <= TALLEST) return Math.floor(scroller.scrollTop / rowHeight());
  const visible = Math.floor(scroller.clientHeight / rowHeight());
  const room = TALLEST - scroller.clientHeight;
  return Math.round((scroller.scrollTop / room) * Math.max(0, matching - visible));
}

function row(index: number): SliceLine | undefined {
  return chunks.get(Math.floor(index / CHUNK))?.[index % CHUNK];
}

async function fetchChunk(chunk: number): Promise<void> {
  if (asked.has(chunk)) return;
  asked.add(chunk);
  const mine = epoch;
  const answer = await ask({
    do: "slices",
    property: store.property,
    filter: input.value,
    offset: chunk * CHUNK,
    limit: CHUNK,
    by,
    down,
  }).catch(() => null);
  if (mine !== epoch || !answer) return;
  if (answer.is === "failed") {
    input.setAttribute("aria-invalid", "true");
    setText(count, answer.error);
    return;
  }
  if (answer.is !== "slices") return;
  input.removeAttribute("aria-invalid");
  cost = answer.micros / 1000;
  matching = answer.matching;
  chunks.set(chunk, answer.rows);
  widen(answer.rows);
  const filtered = input.value.trim() !== "";
  setText(count, filtered ? `${grouped(matching)} of ${grouped(answer.total)}` : grouped(answer.total));
  if (wanted !== null && row(wanted)) choose(wanted);
  render();
}

/** Letters of the longest value of each column that was seen. */
let widths: number[] = [];

/** Columns are as wide as what is in them. */
function widen(rows: SliceLine[]): void {
  const names = ["state", ...columns()];
  const before = widths.join();
  // Two more for the mark of the sorted column.
  names.forEach((name, i) => (widths[i] = Math.max(widths[i] ?? 0, name.length + 2, 4)));
  for (const line of rows) {
    const values = new Map([...line.slice, ...line.env]);
    widths[0] = Math.max(widths[0] ?? 0, (store.shape?.states[line.state]?.name.length ?? 0) + 2);
    columns().forEach((name, i) => (widths[i + 1] = Math.max(widths[i + 1] ?? 0, Math.min(values.get(name)?.length ?? 0, 40))));
  }
  if (widths.join() === before) return;
  const tracks = widths.map((n) => `minmax(calc(${n}ch + 1.6rem), ${n}fr)`);
  byId("slices").style.setProperty("--columns", tracks.join(" "));
}

const columns = () => [...(store.shape?.slice_on ?? []), ...(store.shape?.env ?? [])];

function cells(line: SliceLine | undefined): HTMLElement[] {
  const shape = store.shape;
  if (!line || !shape) return [h("span", { class: "cell pending" }, "…")];
  const state = shape.states[line.state];
  const kind = state?.accepting ? "accepting" : "rejecting";
  const values = new Map([...line.slice, ...line.env]);
  return [
    h("span", { class: "cell state", role: "gridcell" }, h("i", { class: `dot ${kind}` }), state?.name ?? "?"),
    ...columns().map((name) =>
      h("span", { class: "cell", role: "gridcell", title: values.get(name) ?? "" }, values.get(name) ?? (line.slice.length === 0 && shape.slice_on.includes(name) ? "root" : "")),
    ),
  ];
}

/** There is room for all rows, in sight or not. */
function stretch(): void {
  body.style.height = `${Math.min(matching * rowHeight(), TALLEST)}px`;
}

const render = onFrame(() => {
  const height = rowHeight();
  const whole = matching * height;
  stretch();
  const from = Math.max(0, first() - 4);
  const to = Math.min(matching, first() + Math.ceil(scroller.clientHeight / height) + 5);
  for (let chunk = Math.floor(from / CHUNK); chunk * CHUNK < to; chunk++) {
    if (!chunks.has(chunk)) void fetchChunk(chunk);
  }
  while (pool.length < to - from) {
    const made = h("div", { class: "row", role: "row" });
    pool.push(made);
    body.append(made);
  }
  const base = whole <= TALLEST ? 0 : scroller.scrollTop - first() * height;
  pool.forEach((element, i) => {
    const index = from + i;
    element.hidden = index >= to;
    if (element.hidden) return;
    const line = row(index);
    const selected = sameSlice(line?.id ?? null, store.slice);
    element.style.transform = `translateY(${base + index * height}px)`;
    element.setAttribute("aria-rowindex", String(index + 1));
    element.setAttribute("aria-selected", String(selected));
    element.classList.toggle("odd", index % 2 === 1);
    element.classList.toggle("cursor", index === cursor);
    const key = JSON.stringify(line ?? index);
    if (element.dataset["key"] !== key) {
      element.dataset["key"] = key;
      element.replaceChildren(...cells(line));
      element.onclick = () => {
        cursor = index;
        choose(index);
      };
    }
  });
  body.setAttribute("aria-rowcount", String(matching));
  byId("slices-none").hidden = matching > 0 || chunks.size === 0 || input.value.trim() === "";
});

function choose(index: number): void {
  const line = row(index);
  wanted = line ? null : index;
  if (line) store.select(sameSlice(line.id, store.slice) ? null : line.id);
  render();
}

/** Asks again for the rows in sight; the old ones stay until the new ones are there. */
function refresh(): void {
  epoch++;
  asked = new Set();
  const from = Math.floor(Math.max(0, first() - 4) / CHUNK);
  const to = Math.floor((first() + scroller.clientHeight / rowHeight() + 5) / CHUNK);
  for (const chunk of chunks.keys()) if (chunk < from || chunk > to) chunks.delete(chunk);
  for (let chunk = from; chunk <= to; chunk++) {
    if (chunk === from || chunk * CHUNK < matching) void fetchChunk(chunk);
  }
}

/** At once when the program is stopped; else seldom enough to cost it nothing to speak of. */
function refreshSoon(): void {
  if (timer && store.running) return;
  window.clearTimeout(timer);
  const pause = store.running ? Math.max(400, cost * 50) : 0;
  timer = window.setTimeout(() => {
    timer = 0;
    refresh();
  }, pause);
}

function restart(): void {
  chunks = new Map();
  matching = 0;
  cursor = 0;
  scroller.scrollTop = 0;
  refresh();
  render();
}

/** Up, down, and back to the order of creation. */
function sortBy(name: string): void {
  if (by !== name) [by, down] = [name, false];
  else if (!down) down = true;
  else [by, down] = ["", false];
  renderHead();
  restart();
}

function headCell(name: string, kind: string): HTMLElement {
  const sorted = by === name;
  const button = h("button", { title: `sort by ${name}` }, sorted ? `${name} ${down ? "▼" : "▲"}` : name);
  button.onclick = () => sortBy(name);
  const order = sorted ? (down ? "descending" : "ascending") : "none";
  return h("span", { class: `cell ${kind}`, role: "columnheader", "aria-sort": order, "data-column": name }, button);
}

function renderHead(): void {
  const focused = document.activeElement?.closest<HTMLElement>("#slices-head [data-column]")?.dataset["column"];
  head.replaceChildren(headCell("state", "state"), ...columns().map((name) => headCell(name, "")));
  if (focused) head.querySelector<HTMLElement>(`[data-column="${CSS.escape(focused)}"] button`)?.focus();
  byId("newest").setAttribute("aria-pressed", String(down && by === ""));
  const shape = store.shape;
  widths = [];
  widen([]);
  const example = [
    shape ? `state:${shape.states.at(-1)?.name}` : "",
    shape?.env[0] ? `${shape.env[0]}>3` : "",
    shape?.slice_on[0] ? `${shape.slice_on[0]}=0x55..` : "",
  ];
  input.placeholder = `filter, e.g. ${example.filter(Boolean).join(" ")}`;
}

function move(by: number): void {
  cursor = Math.min(Math.max(cursor + by, 0), Math.max(matching - 1, 0));
  const height = rowHeight();
  const top = cursor * height;
  // The next frame may be late, and nothing scrolls to where there is no room yet.
  stretch();
  if (matching * height <= TALLEST) {
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    const bottom = top + height - scroller.clientHeight;
    if (bottom > scroller.scrollTop) scroller.scrollTop = bottom;
  }
  render();
}

export function startSlices(): void {
  scroller.addEventListener("scroll", render);
  new ResizeObserver(render).observe(scroller);
  input.addEventListener("input", () => {
    chunks = new Map();
    cursor = 0;
    scroller.scrollTop = 0;
    refresh();
  });
  input.addEventListener("keydown", (e) => {
    if (e.key === "Escape") {
      input.value = "";
      input.blur();
      restart();
    } else if (e.key === "ArrowDown" || e.key === "Enter") {
      scroller.focus();
      e.preventDefault();
    }
  });
  byId("newest").onclick = () => {
    [by, down] = ["", !(down && by === "")];
    renderHead();
    restart();
  };
  scroller.addEventListener("keydown", (e) => {
    if (isTyping(e.target) || head.contains(e.target as Node)) return;
    const page = Math.floor(scroller.clientHeight / rowHeight());
    const moves: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -matching,
      End: matching,
    };
    const by = moves[e.key];
    if (by !== undefined) move(by);
    else if (e.key === "Enter" || e.key === " ") choose(cursor);
    else if (e.key === "Escape") store.select(null);
    else return;
    e.preventDefault();
  });
  store.on("shapes", () => {
    if (by !== "state" && !columns().includes(by)) [by, down] = ["", by === "" && down];
    renderHead();
    restart();
  });
  store.on("frame", () => {
    const mark = store.total * 2 + (store.running ? 1 : 0);
    if (mark === seenTotal && store.running) return;
    seenTotal = mark;
    refreshSoon();
  });
  store.on("selection", render);
}
