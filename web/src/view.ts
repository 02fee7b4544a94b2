// What of the timeline is in sight: its time, its tracks, and where on the canvas they are.

import { byId } from "./dom.js";
import type { Checkpoint, EventView, Violation } from "./model.js";
import { store } from "./store.js";

export const canvas = byId<HTMLCanvasElement>("timeline");
export const scroller = byId("timeline-scroll");

export interface Track {
  tid: number;
  name: string;
}

export const view = {
  /** In nanoseconds. */
  from: 0,
  to: 1e9,
  /** Keeps up with the newest events. */
  follow: true,
  /** Shows everything that is known. */
  whole: true,
  tracks: [] as Track[],
  /** Place of a thread among the tracks. */
  places: new Map<number, number>(),
  hovered: null as EventView | null,
};

export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
/** Room for the threads' names. */
export const left = () => rem() * Math.min(12, Math.max(8, canvas.clientWidth / rem() / 10));
/** Room for the scale. */
export const top = () => rem() * 1.9;
const RIGHT = 10;

export function x(time: number): number {
  return left() + ((time - view.from) / (view.to - view.from)) * (canvas.clientWidth - left() - RIGHT);
}

export function timeAt(px: number): number {
  return view.from + ((px - left()) / (canvas.clientWidth - left() - RIGHT)) * (view.to - view.from);
}

/** Tracks share the room; when it gets too narrow to read they keep their height and are scrolled. */
export function trackHeight(): number {
  const room = canvas.clientHeight - top() - 2;
  return Math.round(Math.min(rem() * 2.2, Math.max(rem() * 1.3, room / Math.max(view.tracks.length, 1))));
}

/** The upper edge of a track on the canvas. */
export function y(track: number): number {
  return top() + track * trackHeight() - scroller.scrollTop;
}

/** Threads with events or violations, in the order of their ids. */
export function findTracks(): void {
  const tids = new Set(store.threads);
  for (const v of store.violations) if (v.time !== undefined) tids.add(v.tid ?? 0);
  view.tracks = [...tids]
    .sort((a, b) => a - b)
    .map((tid) => ({ tid, name: store.tracks.get(tid) || "thread" }));
  view.places = new Map(view.tracks.map((t, i) => [t.tid, i]));
}

export function bounds(): [number, number] {
  const { events, violations, checkpoints } = store;
  const times = [events[0]?.time, events.at(-1)?.time, ...violations.map((v) => v.time), ...checkpoints.map(timeOf)];
  const known = times.filter((t): t is number => typeof t === "number");
  if (store.running) known.push(store.time);
  if (known.length === 0) return [0, 1e9];
  const first = Math.min(...known);
  const last = Math.max(...known);
  const span = Math.max(last - first, 1000);
  return [Math.max(0, first - span * 0.01), last + span * 0.02];
}

export function aim(): void {
  const [first, last] = bounds();
  if (view.whole) [view.from, view.to] = [first, last];
  else if (view.follow) [view.from, view.to] = [last - (view.to - view.from), last];
}

/** The first event that is not before a time; they are in order. */
export function firstAfter(time: number): number {
  let low = 0;
  let high = store.events.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (store.events[mid]!.time < time) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** A checkpoint stands right after its last event. */
export function timeOf(point: Checkpoint): number | null {
  return point.time ?? store.events.find((e) => e.n === point.event)?.time ?? null;
}

/** The event under a place of the canvas. */
export function near(px: number, py: number): EventView | null {
  const tid = py < top() ? undefined : view.tracks[Math.floor((py - y(0)) / trackHeight())]?.tid;
  if (tid === undefined) return null;
  let best: EventView | null = null;
  const { events } = store;
  for (let i = firstAfter(timeAt(px - 12)); i < events.length; i++) {
    const e = events[i]!;
    const off = Math.abs(x(e.time) - px);
    if (off > 12 && x(e.time) > px) break;
    if (e.tid === tid && off <= 12 && (!best || off < Math.abs(x(best.time) - px))) best = e;
  }
  return best;
}

/** Where a violation's mark is, in its track or on the scale, and half its width. */
export function markOf(time: number, tid: number | undefined, onScale: boolean) {
  const at = Math.round(x(time));
  if (onScale) return { at, middle: top() - rem() * 0.3, r: rem() * 0.3 };
  const tall = trackHeight();
  return { at, middle: y(view.places.get(tid ?? 0) ?? 0) + tall / 2, r: Math.min(tall * 0.42, rem() * 0.6) };
}

/** The violation whose mark is under a place of the canvas. */
export function violationAt(px: number, py: number): Violation | null {
  const under = store.violations.filter((v) => {
    if (v.time === undefined) return false;
    const { at, middle, r } = markOf(v.time, v.tid, py < top());
    return Math.abs(at - px) <= r + 2 && Math.abs(middle - py) <= r + 2;
  });
  return under.at(-1) ?? null;
}

export interface Flag {
  points: Checkpoint[];
  at: number;
  width: number;
}

/** The checkpoints' flags; those that would cover each other share one. */
export function flags(): Flag[] {
  const known = store.checkpoints.flatMap((p) => {
    const time = timeOf(p);
    return time === null ? [] : [{ p, at: Math.round(x(time)) + 0.5 }];
  });
  known.sort((a, b) => a.at - b.at);
  const out: Flag[] = [];
  for (const { p, at } of known) {
    const last = out.at(-1);
    if (last && at < last.at + last.width + 2) {
      last.points.push(p);
      last.width = rem() * (0.9 + flagText(last).length * 0.55);
    } else out.push({ points: [p], at, width: rem() * (0.9 + String(p.number).length * 0.55) });
  }
  return out;
}

export function flagText(flag: Flag): string {
  const { points } = flag;
  const first = points[0]?.number ?? 0;
  return points.length === 1 ? String(first) : `${first}…${points.at(-1)?.number}`;
}
