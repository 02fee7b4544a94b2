// What the session sends, as `crates/session/src/board` writes it.

export type Pair = [string, string];

export interface SliceId {
  property: number;
  level: number;
  slot: number;
  created: number;
}

export interface LastStep {
  slice: SliceId;
  title: string | null;
  from: number;
  to: number;
  state: number | null;
  transition: number;
  success: boolean;
}

export interface PropertyView {
  name: string;
  verdict: string;
  outcome: string | null;
  counts: number[];
  root: number | null;
  live: number;
  ended: number;
  violations: number;
  listens: boolean;
  last: LastStep | null;
}

export interface ProgramView {
  state: "idle" | "running" | "stopped" | "ended";
  reason: string[];
  command: string;
  pid: number | null;
  threads: { number: number; tid: number; name: string; place: string; selected: boolean }[];
  frames: { text: string }[];
  selected: number;
  source: { file: string; path: string; line: number; first: number; lines: string[] } | null;
  controllable: boolean;
  startable: boolean;
}

export interface EventView {
  serial: number;
  n: number;
  time: number;
  tid: number;
  name: string;
  args: Pair[];
  loc?: string;
}

export interface HistoryRow {
  n: number;
  kind: string;
  when: string;
  event: string;
  args: Record<string, unknown>;
  from: string;
  to: string;
  taken: boolean;
  tid?: number;
  loc?: string;
  time?: number;
  backtrace?: string[];
}

export interface Violation {
  time?: number;
  property: string;
  slice: Record<string, unknown>;
  state: string;
  n: number | null;
  tid?: number;
  loc?: string;
  backtrace?: string[];
  history: HistoryRow[];
}

export interface Checkpoint {
  number: number;
  label: string;
  event: number;
  time: number | null;
}

export interface Message {
  seq: number;
  shapes: number;
  fresh: boolean;
  total: number;
  relevant: number;
  time: number;
  properties: PropertyView[];
  checkpoints: Checkpoint[];
  program?: ProgramView;
  tracks?: { tid: number; name: string }[];
  events: EventView[];
  violations: Violation[];
}

export interface Shape {
  name: string;
  file: string;
  dot: string;
  states: { name: string; accepting: boolean; final: boolean; verdict: string }[];
  edges: { from: number; to: number; labels: { lines: number; of: [number, boolean][]; full: string }[] }[];
  slice_on: string[];
  env: string[];
}

export interface SliceLine {
  id: SliceId;
  slice: Pair[];
  state: number;
  env: Pair[];
}

export interface SlicePage {
  total: number;
  matching: number;
  offset: number;
  rows: SliceLine[];
  micros: number;
}

export interface SliceDetail extends SliceLine {
  verdict: string;
  parent: Pair[] | null;
  history: HistoryRow[];
}

export type Answer =
  | { is: "done"; text: string; prompt: string; over: boolean }
  | { is: "failed"; error: string }
  | ({ is: "slices" } & SlicePage)
  | ({ is: "slice" } & SliceDetail)
  | { is: "stack"; frames: string[] };

export function sameSlice(a: SliceId | null, b: SliceId | null): boolean {
  return (
    a !== null &&
    b !== null &&
    a.property === b.property &&
    a.level === b.level &&
    a.slot === b.slot &&
    a.created === b.created
  );
}

/** Pairs as people write them. */
export function pairs(list: Pair[]): string {
  return list.map(([name, value]) => `${name} = ${value}`).join(", ");
}

/** A value of a report; what looks like an address is shown as one. */
export function value(v: unknown): string {
  if (typeof v === "bigint" || (typeof v === "number" && Number.isInteger(v))) {
    return v >= 2 ** 32 ? `0x${v.toString(16)}` : String(v);
  }
  return v === null ? "None" : typeof v === "object" ? JSON.stringify(v) : String(v);
}

export function named(values: Record<string, unknown>): string {
  return Object.entries(values)
    .map(([name, v]) => `${name} = ${value(v)}`)
    .join(", ");
}

export function grouped(n: number): string {
  return n.toString().replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** 1.8 ms, 12.3 s; with as many digits as tell it from its neighbour a step away. */
export function duration(ns: number, step?: number): string {
  const [unit, name] = UNITS.find(([u]) => ns >= u) ?? [1, "ns"];
  const usual = unit === 1e9 && ns < 1e11 ? 2 : unit === 1 || unit === 1e9 ? 0 : 1;
  const digits = step === undefined ? usual : Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}
