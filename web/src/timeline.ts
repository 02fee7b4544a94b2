// Events in time, a track for each thread, on a canvas.

import { command } from "./controls.js";
import { byId, h, onFrame, setText } from "./dom.js";
import { type Checkpoint, duration, type EventView, pairs } from "./model.js";
import { store } from "./store.js";

const canvas = byId<HTMLCanvasElement>("timeline");
const tip = byId("tip");

/** What is in sight, in nanoseconds. */
let from = 0;
let to = 1e9;
/** Keeps up with the newest events. */
let follow = true;
/** Shows everything that is known. */
let whole = true;
let hovered: EventView | null = null;
let tracks: number[] = [];

interface Colours {
  text: string;
  faint: string;
  line: string;
  event: string;
  bad: string;
  flag: string;
  chosen: string;
  band: string;
}

let colours: Colours | null = null;

function palette(): Colours {
  if (colours) return colours;
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(name).trim();
  colours = {
    text: get("--text"),
    faint: get("--muted"),
    line: get("--line"),
    event: get("--event"),
    bad: get("--bad"),
    flag: get("--flag"),
    chosen: get("--text"),
    band: get("--band"),
  };
  return colours;
}

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const left = () => rem() * 7;
const top = () => rem() * 1.7;

function x(time: number): number {
  return left() + ((time - from) / (to - from)) * (canvas.clientWidth - left() - 8);
}

function timeAt(px: number): number {
  return from + ((px - left()) / (canvas.clientWidth - left() - 8)) * (to - from);
}

function trackHeight(): number {
  const room = canvas.clientHeight - top() - 4;
  return Math.min(rem() * 2.2, Math.max(8, room / Math.max(tracks.length, 1)));
}

function bounds(): [number, number] {
  const first = store.events[0]?.time ?? 0;
  const last = Math.max(store.events.at(-1)?.time ?? 0, store.running ? store.time : 0);
  const span = Math.max(last - first, 1000);
  return [first - span * 0.01, last + span * 0.02];
}

/** A round step so that about `most` of them fit. */
function stepOf(span: number, most: number): number {
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((k) => k * power >= rough) ?? 10);
}

function aim(): void {
  const [first, last] = bounds();
  if (whole) [from, to] = [first, last];
  else if (follow) [from, to] = [last - (to - from), last];
}

const draw = onFrame(() => {
  const c = palette();
  const ratio = devicePixelRatio || 1;
  const { clientWidth: w, clientHeight: hgt } = canvas;
  if (w === 0) return;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(hgt * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(hgt * ratio);
  }
  const g = canvas.getContext("2d");
  if (!g) return;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, w, hgt);
  aim();
  const seen = new Set(tracks);
  for (const e of store.events) if (!seen.has(e.tid)) seen.add(e.tid);
  if (store.events.length === 0) seen.clear();
  tracks = [...seen].sort((a, b) => a - b);
  const size = rem() * 0.85;
  g.font = `${size}px system-ui, sans-serif`;
  g.textBaseline = "middle";
  // The scale.
  const step = stepOf(to - from, Math.max(2, (w - left()) / (rem() * 8)));
  g.fillStyle = c.faint;
  g.strokeStyle = c.line;
  g.lineWidth = 1;
  for (let t = Math.ceil(from / step) * step; t < to; t += step) {
    if (t < 0) continue;
    const at = Math.round(x(t)) + 0.5;
    g.beginPath();
    g.moveTo(at, top() - 4);
    g.lineTo(at, hgt);
    g.stroke();
    g.fillText(duration(Math.round(t)), at + 3, top() / 2);
  }
  // The tracks.
  const height = trackHeight();
  const names = new Map(store.program?.threads.map((t) => [t.tid, t.name]));
  tracks.forEach((tid, i) => {
    const y = top() + i * height;
    if (i % 2 === 0) {
      g.fillStyle = c.band;
      g.fillRect(0, y, w, height);
    }
    if (height >= size) {
      g.fillStyle = c.text;
      g.fillText(names.get(tid) || "thread", 8, y + height / 2, left() * 0.45);
      g.fillStyle = c.faint;
      g.fillText(String(tid), 8 + left() * 0.48, y + height / 2, left() * 0.42);
    }
  });
  g.save();
  g.beginPath();
  g.rect(left() - 1, 0, w, hgt);
  g.clip();
  const place = new Map(tracks.map((tid, i) => [tid, i]));
  const bad = new Set(store.violations.map((v) => v.n));
  // Events that fall on the same pixel are drawn once, and darker.
  g.fillStyle = c.event;
  let lastKey = "";
  const marks: [number, number][] = [];
  for (const e of store.events) {
    if (e.time < from || e.time > to) continue;
    const at = Math.round(x(e.time));
    const y = top() + (place.get(e.tid) ?? 0) * height;
    if (bad.has(e.n)) marks.push([at, y]);
    const key = `${at}:${e.tid}`;
    if (key === lastKey) continue;
    lastKey = key;
    g.fillRect(at - 1, y + height * 0.18, 2, height * 0.64);
  }
  g.fillStyle = c.bad;
  for (const [at, y] of marks) {
    const r = Math.min(height * 0.42, rem() * 0.6);
    const m = y + height / 2;
    g.beginPath();
    g.moveTo(at, m - r);
    g.lineTo(at + r, m);
    g.lineTo(at, m + r);
    g.lineTo(at - r, m);
    g.fill();
  }
  for (const point of store.checkpoints) {
    const time = timeOf(point);
    if (time === null) continue;
    const at = Math.round(x(time)) + 0.5;
    g.strokeStyle = g.fillStyle = c.flag;
    g.beginPath();
    g.moveTo(at, 2);
    g.lineTo(at, hgt);
    g.stroke();
    g.fillRect(at, 2, rem() * 1.3, rem() * 1.1);
    g.fillStyle = "#fff";
    g.fillText(String(point.number), at + rem() * 0.4, 2 + rem() * 0.58);
  }
  for (const e of [store.chosen.event, hovered]) {
    if (!e) continue;
    const i = place.get(e.tid) ?? 0;
    g.strokeStyle = c.chosen;
    g.lineWidth = 1.5;
    g.strokeRect(Math.round(x(e.time)) - 4, top() + i * height + 2, 8, height - 4);
  }
  g.restore();
  setText(byId("timeline-kept"), store.total > store.events.length ? `last ${store.events.length} of ${store.total} events` : "");
});

/** A checkpoint stands right after its last event. */
function timeOf(point: Checkpoint): number | null {
  return store.events.find((e) => e.n === point.event)?.time ?? null;
}

function near(px: number, py: number): EventView | null {
  const tid = tracks[Math.floor((py - top()) / trackHeight())];
  if (tid === undefined) return null;
  const time = timeAt(px);
  let best: EventView | null = null;
  for (const e of store.events) {
    if (e.tid !== tid) continue;
    if (!best || Math.abs(e.time - time) < Math.abs(best.time - time)) best = e;
  }
  return best && Math.abs(x(best.time) - px) < 12 ? best : null;
}

function zoom(by: number, at: number): void {
  const t = timeAt(at);
  from = t - (t - from) * by;
  to = Math.max(t + (to - t) * by, from + 100);
  whole = follow = false;
  showMode();
  draw();
}

function pan(by: number): void {
  from += by;
  to += by;
  whole = follow = false;
  showMode();
  draw();
}

function showMode(): void {
  byId("timeline-all").setAttribute("aria-pressed", String(whole));
  byId("timeline-follow").setAttribute("aria-pressed", String(follow && !whole));
}

/** The neighbour of the chosen event. */
function walk(by: number): void {
  const { events } = store;
  const at = store.chosen.event ? events.indexOf(store.chosen.event) : by > 0 ? -1 : events.length;
  const next = events[Math.min(Math.max(at + by, 0), events.length - 1)];
  if (!next) return;
  if (next.time < from || next.time > to) pan(next.time - (from + to) / 2);
  store.show({ event: next });
  draw();
}

let shownPoints = "";

function checkpoints(): void {
  const key = JSON.stringify(store.checkpoints) + store.program?.state;
  if (key === shownPoints) return;
  shownPoints = key;
  byId("checkpoints").replaceChildren(
    ...store.checkpoints.map((p) => {
      const button = h(
        "button",
        { class: "flag", title: `restore checkpoint ${p.number}: ${p.label} (event ${p.event})` },
        `⚑ ${p.number}`,
      );
      button.disabled = store.program?.state === "running";
      button.onclick = () => void command(`restart ${p.number}`);
      return button;
    }),
  );
}

export function startTimeline(): void {
  store.on("frame", () => {
    checkpoints();
    draw();
  });
  store.on("event", draw);
  new ResizeObserver(draw).observe(canvas);
  window.addEventListener("theme", () => {
    colours = null;
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = null;
    draw();
  });
  byId("timeline-all").onclick = () => {
    whole = true;
    follow = true;
    showMode();
    draw();
  };
  byId("timeline-follow").onclick = () => {
    if (whole) from = to - Math.min(to - from, 2e9);
    whole = false;
    follow = true;
    showMode();
    draw();
  };
  canvas.addEventListener(
    "wheel",
    (e) => {
      e.preventDefault();
      if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(((e.deltaX || e.deltaY) / 800) * (to - from));
      else zoom(Math.exp(e.deltaY / 400), e.offsetX);
    },
    { passive: false },
  );
  canvas.addEventListener("pointermove", (e) => {
    if (e.buttons === 1) {
      pan((-e.movementX / (canvas.clientWidth - left())) * (to - from));
      return;
    }
    const found = near(e.offsetX, e.offsetY);
    if (found !== hovered) {
      hovered = found;
      draw();
    }
    tip.hidden = !found;
    if (!found) return;
    setText(tip, `${found.n}  ${found.name}(${pairs(found.args)})  ${found.loc ?? ""}  ${duration(found.time)}`);
    const room = innerWidth - tip.offsetWidth - 12;
    tip.style.left = `${Math.max(8, Math.min(e.clientX + 12, room))}px`;
    tip.style.top = `${e.clientY - tip.offsetHeight - 12}px`;
  });
  canvas.addEventListener("pointerleave", () => {
    hovered = null;
    tip.hidden = true;
    draw();
  });
  canvas.addEventListener("click", (e) => {
    const point = store.checkpoints.find((p) => {
      const time = timeOf(p);
      if (time === null) return false;
      const at = x(time);
      return e.offsetY < rem() * 1.4 && e.offsetX >= at - 2 && e.offsetX <= at + rem() * 1.4;
    });
    if (point && store.program?.state !== "running") return void command(`restart ${point.number}`);
    const found = near(e.offsetX, e.offsetY);
    if (found) store.show({ event: found });
  });
  canvas.addEventListener("keydown", (e) => {
    const centre = (left() + canvas.clientWidth) / 2;
    if (e.key === "ArrowRight") walk(1);
    else if (e.key === "ArrowLeft") walk(-1);
    else if (e.key === "+") zoom(0.7, centre);
    else if (e.key === "-") zoom(1.4, centre);
    else if (e.key === "0") byId("timeline-all").click();
    else return;
    e.preventDefault();
  });
  showMode();
}
