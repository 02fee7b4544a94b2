// The timeline's picture.

import { byId, onFrame, setText } from "./dom.js";
import { duration, grouped } from "./model.js";
import { store } from "./store.js";
import { aim, canvas, findTracks, firstAfter, flags, flagText, left, markOf, rem, scroller, top, trackHeight, view, x, y } from "./view.js";

type Colour = "text" | "muted" | "line" | "event" | "bad" | "flag" | "card" | "band";
const COLOURS: Colour[] = ["text", "muted", "line", "event", "bad", "flag", "card", "band"];

let colours: Record<Colour, string> | null = null;

export function forgetColours(): void {
  colours = null;
}

function palette(): Record<Colour, string> {
  if (colours) return colours;
  const style = getComputedStyle(document.documentElement);
  const read = COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]);
  return (colours = Object.fromEntries(read) as Record<Colour, string>);
}

/** A round step so that about `most` of them fit. */
function stepOf(span: number, most: number): number {
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  return Math.max(1, power * ([1, 2, 5, 10].find((k) => k * power >= rough) ?? 10));
}

/** A text that ends with an ellipsis where its room does. */
function fitted(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (g.measureText(text).width <= room) return text;
  let cut = text;
  while (cut && g.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1);
  return cut ? `${cut}…` : "";
}

function paintScale(g: CanvasRenderingContext2D, w: number, height: number): void {
  const c = palette();
  const step = stepOf(view.to - view.from, Math.max(2, (w - left()) / (rem() * 8)));
  g.strokeStyle = c.line;
  g.lineWidth = 1;
  for (let t = Math.ceil(view.from / step) * step; t < view.to; t += step) {
    const at = Math.round(x(t)) + 0.5;
    g.beginPath();
    g.moveTo(at, top() - 4);
    g.lineTo(at, height);
    g.stroke();
    g.fillStyle = c.muted;
    g.fillText(duration(Math.round(t), step), at + 3, top() / 2);
  }
}

function paintNames(g: CanvasRenderingContext2D, height: number): void {
  const c = palette();
  const tall = trackHeight();
  view.tracks.forEach(({ tid, name }, i) => {
    const at = y(i);
    if (at > height || at + tall < top()) return;
    const id = String(tid);
    const room = left() - 16;
    const idWidth = g.measureText(id).width;
    const middle = at + tall / 2 + 0.5;
    g.fillStyle = c.text;
    g.fillText(fitted(g, name, room - idWidth - 6), 8, middle);
    g.fillStyle = c.muted;
    g.fillText(id, 8 + room - idWidth, middle);
  });
}

function paintBands(g: CanvasRenderingContext2D, w: number): void {
  g.fillStyle = palette().band;
  view.tracks.forEach((_, i) => {
    if (i % 2 === 0) g.fillRect(0, y(i), w, trackHeight());
  });
}

function paintEvents(g: CanvasRenderingContext2D): void {
  const c = palette();
  const tall = trackHeight();
  g.fillStyle = c.event;
  // Events that fall on the same pixel are drawn once.
  const drawn = new Map<number, number>();
  for (let i = firstAfter(view.from); i < store.events.length; i++) {
    const e = store.events[i]!;
    if (e.time > view.to) break;
    const at = Math.round(x(e.time));
    if (drawn.get(e.tid) === at) continue;
    drawn.set(e.tid, at);
    g.fillRect(at - 1, y(view.places.get(e.tid) ?? 0) + tall * 0.18, 2, tall * 0.64);
  }
}

/** Diamonds, in the tracks and, for tracks that are out of sight, on the scale. */
function paintViolations(g: CanvasRenderingContext2D, onScale: boolean): void {
  const c = palette();
  g.fillStyle = c.bad;
  g.strokeStyle = c.card;
  g.lineWidth = 1;
  for (const v of store.violations) {
    if (v.time === undefined) continue;
    const { at, middle, r } = markOf(v.time, v.tid, onScale);
    g.beginPath();
    g.moveTo(at, middle - r);
    g.lineTo(at + r, middle);
    g.lineTo(at, middle + r);
    g.lineTo(at - r, middle);
    g.closePath();
    g.fill();
    g.stroke();
  }
}

function paintFlags(g: CanvasRenderingContext2D, height: number): void {
  const c = palette();
  for (const flag of flags()) {
    g.strokeStyle = g.fillStyle = c.flag;
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(flag.at, 2);
    g.lineTo(flag.at, height);
    g.stroke();
    g.fillRect(flag.at, 3, flag.width, rem() * 1.2);
    g.fillStyle = c.card;
    g.fillText(flagText(flag), flag.at + rem() * 0.4, 3 + rem() * 0.63);
  }
}

function paintChosen(g: CanvasRenderingContext2D): void {
  for (const e of [store.chosen.event, view.hovered]) {
    if (!e) continue;
    g.strokeStyle = palette().text;
    g.lineWidth = 1.5;
    g.strokeRect(Math.round(x(e.time)) - 4, y(view.places.get(e.tid) ?? 0) + 2, 8, trackHeight() - 4);
  }
}

function clipped(g: CanvasRenderingContext2D, from: number, above: number, paint: () => void): void {
  g.save();
  g.beginPath();
  g.rect(from, above, canvas.clientWidth, canvas.clientHeight);
  g.clip();
  paint();
  g.restore();
}

/** Draws at the next frame. */
export const draw = onFrame(() => {
  aim();
  findTracks();
  // As high as its tracks need, within bounds.
  byId("main").style.setProperty("--time", `${5 + view.tracks.length * 1.3}rem`);
  byId("timeline-room").style.height = `${Math.ceil(top() + view.tracks.length * trackHeight()) + 2}px`;
  const ratio = devicePixelRatio || 1;
  const { clientWidth: w, clientHeight: height } = canvas;
  if (w === 0) return;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d");
  if (!g) return;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, w, height);
  g.font = `${rem() * 0.85}px system-ui, sans-serif`;
  g.textBaseline = "middle";
  clipped(g, 0, top(), () => paintBands(g, w));
  if (store.events.length > 0 || store.running) paintScale(g, w, height);
  clipped(g, 0, top(), () => paintNames(g, height));
  clipped(g, left() - 1, top(), () => {
    paintEvents(g);
    paintViolations(g, false);
    paintChosen(g);
  });
  clipped(g, left() - 1, 0, () => {
    paintFlags(g, height);
    paintViolations(g, true);
  });
  const things: [number, string][] = [
    [view.tracks.length, "threads"],
    [store.violations.length, "violations"],
    [store.checkpoints.length, "checkpoints"],
  ];
  canvas.setAttribute("aria-description", things.map(([n, what]) => `${n} ${what}`).join(", "));
  const missing = store.total > store.events.length;
  setText(byId("timeline-kept"), missing ? `${grouped(store.events.length)} of ${grouped(store.total)} events` : "");
  scroller.classList.toggle("overflows", scroller.scrollHeight > scroller.clientHeight);
});

/** While events stream, a picture every now and then is enough, and leaves the program its time. */
let later = 0;
export function drawSoon(): void {
  if (!store.running) return draw();
  later ||= window.setTimeout(() => {
    later = 0;
    draw();
  }, 100);
}
