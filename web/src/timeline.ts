// Events in time, a track for each thread: how it is moved and what is chosen in it.

import { command } from "./controls.js";
import { openViolation } from "./detail.js";
import { byId, fillList, h, setText } from "./dom.js";
import { duration, type EventView, named, pairs } from "./model.js";
import { draw, drawSoon, forgetColours } from "./paint.js";
import { store } from "./store.js";
import { canvas, flags, left, near, rem, scroller, timeAt, top, trackHeight, view, violationAt, x, y } from "./view.js";

const tip = byId("tip");

function zoom(by: number, at: number): void {
  const t = timeAt(at);
  view.from = t - (t - view.from) * by;
  view.to = Math.max(t + (view.to - t) * by, view.from + 100);
  setMode(false, false);
}

/** Around the chosen event, else around the middle. */
function zoomHere(by: number): void {
  const chosen = store.chosen.event;
  const inSight = chosen && chosen.time >= view.from && chosen.time <= view.to;
  zoom(by, inSight ? x(chosen.time) : (left() + canvas.clientWidth) / 2);
}

function pan(by: number): void {
  view.from += by;
  view.to += by;
  setMode(false, false);
}

function setMode(whole: boolean, follow: boolean): void {
  view.whole = whole;
  view.follow = follow;
  byId("timeline-all").setAttribute("aria-pressed", String(whole));
  byId("timeline-follow").setAttribute("aria-pressed", String(follow && !whole));
  draw();
}

/** Brings an event into sight, in its time and its track. */
function show(event: EventView): void {
  if (event.time < view.from || event.time > view.to) pan(event.time - (view.from + view.to) / 2);
  const at = y(view.places.get(event.tid) ?? 0);
  if (at < top()) scroller.scrollTop += at - top();
  const below = at + trackHeight() - canvas.clientHeight;
  if (below > 0) scroller.scrollTop += below;
  store.show({ event });
}

/** The neighbour of the chosen event. */
function walk(by: number): void {
  const { events } = store;
  const chosen = store.chosen.event;
  const at = chosen ? events.findIndex((e) => e.serial === chosen.serial) : by > 0 ? -1 : events.length;
  const next = events[Math.min(Math.max(at + by, 0), events.length - 1)];
  if (next) show(next);
}

/** The nearest event in time of a neighbouring track. */
function climb(by: number): void {
  const chosen = store.chosen.event;
  if (!chosen) return walk(1);
  for (let i = (view.places.get(chosen.tid) ?? 0) + by; view.tracks[i]; i += by) {
    const there = store.events.filter((e) => e.tid === view.tracks[i]?.tid);
    const off = (e: EventView) => Math.abs(e.time - chosen.time);
    const best = there.reduce<EventView | null>((b, e) => (b && off(b) <= off(e) ? b : e), null);
    if (best) return show(best);
  }
}

let shownPoints = "";

function checkpoints(): void {
  const key = JSON.stringify(store.checkpoints) + store.program?.state;
  if (key === shownPoints) return;
  shownPoints = key;
  const shown = store.checkpoints.map((p) => {
    const button = h(
      "button",
      { class: "flag", title: `restore checkpoint ${p.number}: ${p.label} (event ${p.event})` },
      `⚑ ${p.number}`,
    );
    button.disabled = store.program?.state === "running";
    button.onclick = () => void command(`restart ${p.number}`);
    return button;
  });
  fillList(byId("checkpoints"), shown, shown.length - 1, ["ArrowLeft", "ArrowRight"]);
}

function tell(text: string, e: PointerEvent): void {
  tip.hidden = text === "";
  if (!text) return;
  setText(tip, text);
  const room = innerWidth - tip.offsetWidth - 12;
  tip.style.left = `${Math.max(8, Math.min(e.clientX + 12, room))}px`;
  tip.style.top = `${e.clientY - tip.offsetHeight - 12}px`;
}

function flagAt(px: number, py: number) {
  if (py > rem() * 1.4) return undefined;
  return flags().reverse().find((f) => px >= f.at - 2 && px <= f.at + f.width);
}

function hover(e: PointerEvent): void {
  const flag = flagAt(e.offsetX, e.offsetY);
  const violation = violationAt(e.offsetX, e.offsetY);
  const found = flag || violation ? null : near(e.offsetX, e.offsetY);
  if (found !== view.hovered) {
    view.hovered = found;
    draw();
  }
  const track = e.offsetX < left() && e.offsetY > top() ? view.tracks[Math.floor((e.offsetY - y(0)) / trackHeight())] : undefined;
  if (flag) {
    const lines = flag.points.map((p) => `checkpoint ${p.number}: ${p.label} (event ${p.event})`);
    tell(flag.points.length === 1 ? `${lines[0]}; a click restores it` : lines.slice(0, 12).join("\n"), e);
  } else if (violation) {
    const who = named(violation.slice);
    tell(`violation: ${violation.property}${who ? ` [${who}]` : ""} in ${violation.state} at event ${violation.n}`, e);
  } else if (found) tell(`${found.n}  ${found.name}(${pairs(found.args)})  ${found.loc ?? ""}  ${duration(found.time)}`, e);
  else if (track) tell(`${track.name}, thread ${track.tid}`, e);
  else tell("", e);
}

function click(e: MouseEvent): void {
  const flag = flagAt(e.offsetX, e.offsetY);
  if (flag) {
    const [point] = flag.points;
    // Several under one flag are told apart by coming nearer.
    if (flag.points.length > 1 || !point) return zoom(0.25, flag.at);
    if (store.program?.state !== "running") void command(`restart ${point.number}`);
    return;
  }
  const violation = violationAt(e.offsetX, e.offsetY);
  const found = violation ? store.events.find((one) => one.n === violation.n) : near(e.offsetX, e.offsetY);
  if (found) store.show({ event: found });
  else if (violation) openViolation(violation);
}

function key(e: KeyboardEvent): void {
  const keys: Record<string, () => void> = {
    ArrowRight: () => walk(1),
    ArrowLeft: () => walk(-1),
    ArrowDown: () => climb(1),
    ArrowUp: () => climb(-1),
    Home: () => walk(-store.events.length),
    End: () => walk(store.events.length),
    PageUp: () => (scroller.scrollTop -= scroller.clientHeight - top()),
    PageDown: () => (scroller.scrollTop += scroller.clientHeight - top()),
    "+": () => zoomHere(0.7),
    "-": () => zoomHere(1.4),
    "0": () => setMode(true, true),
  };
  const run = keys[e.key];
  if (!run || e.ctrlKey || e.metaKey) return;
  run();
  e.preventDefault();
}

function wheel(e: WheelEvent): void {
  const sideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
  const overflows = scroller.scrollHeight > scroller.clientHeight;
  // More tracks than fit are scrolled, as everywhere.
  if (overflows && !sideways && !e.ctrlKey) return;
  e.preventDefault();
  if (sideways) pan(((e.deltaX || e.deltaY) / 800) * (view.to - view.from));
  else zoom(Math.exp(e.deltaY / 400), e.offsetX);
}

export function startTimeline(): void {
  store.on("frame", () => {
    checkpoints();
    drawSoon();
  });
  store.on("event", draw);
  new ResizeObserver(draw).observe(canvas);
  const recolour = () => {
    forgetColours();
    draw();
  };
  window.addEventListener("theme", recolour);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  byId("timeline-all").onclick = () => setMode(true, true);
  byId("timeline-follow").onclick = () => {
    if (view.whole) view.from = view.to - Math.min(view.to - view.from, 2e9);
    setMode(false, true);
  };
  byId("timeline-in").onclick = () => zoomHere(0.6);
  byId("timeline-out").onclick = () => zoomHere(1.7);
  scroller.addEventListener("scroll", draw);
  canvas.addEventListener("wheel", wheel, { passive: false });
  let dragged = false;
  canvas.addEventListener("pointerdown", () => (dragged = false));
  canvas.addEventListener("pointermove", (e) => {
    if (e.buttons !== 1) return hover(e);
    dragged ||= Math.abs(e.movementX) + Math.abs(e.movementY) > 1;
    if (!dragged) return;
    scroller.scrollTop -= e.movementY;
    pan((-e.movementX / (canvas.clientWidth - left())) * (view.to - view.from));
  });
  canvas.addEventListener("pointerleave", () => {
    view.hovered = null;
    tip.hidden = true;
    draw();
  });
  canvas.addEventListener("click", (e) => {
    if (!dragged) click(e);
  });
  canvas.addEventListener("keydown", key);
  setMode(true, true);
}
