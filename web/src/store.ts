// What the page knows, and who wants to hear of changes.

import { Clock } from "./clock.js";
import type {
  Checkpoint,
  EventView,
  Message,
  ProgramView,
  PropertyView,
  Shape,
  SliceDetail,
  SliceId,
  Violation,
} from "./model.js";
import { sameSlice } from "./model.js";
import { ask, shapes } from "./net.js";

const EVENTS = 20_000;

type Topic = "frame" | "shapes" | "selection" | "event" | "detail";

export interface Chosen {
  event: EventView | null;
  violation: Violation | null;
}

class Store {
  shapes: Shape[] = [];
  properties: PropertyView[] = [];
  checkpoints: Checkpoint[] = [];
  program: ProgramView | null = null;
  events: EventView[] = [];
  /** Threads that had events. */
  threads = new Set<number>();
  /** Their names. */
  tracks = new Map<number, string>();
  violations: Violation[] = [];
  total = 0;
  /** Events that some slice could take. */
  relevant = 0;
  /** The session can be reached. */
  connected = false;
  time = 0;
  /** Events per second, smoothed. */
  rate = 0;
  /** The property that is looked at. */
  property = 0;
  /** The slice that drives the graph; none follows whatever moves. */
  slice: SliceId | null = null;
  detail: SliceDetail | null = null;
  chosen: Chosen = { event: null, violation: null };

  private version = -1;
  private listeners = new Map<Topic, (() => void)[]>();
  private asking = false;
  private again = false;
  private clock = new Clock();
  private before = { time: 0, total: 0, clock: 0 };

  on(topic: Topic, run: () => void): void {
    const known = this.listeners.get(topic);
    if (known) known.push(run);
    else this.listeners.set(topic, [run]);
  }

  private tell(topic: Topic): void {
    for (const run of this.listeners.get(topic) ?? []) run();
  }

  get shape(): Shape | undefined {
    return this.shapes[this.property];
  }

  get view(): PropertyView | undefined {
    return this.properties[this.property];
  }

  get running(): boolean {
    return this.program?.state === "running";
  }

  apply(message: Message): void {
    if (message.fresh) {
      this.clock.reset();
      this.events = [];
      this.threads.clear();
      this.violations = [];
      this.before = { time: 0, total: 0, clock: 0 };
      this.rate = 0;
    }
    this.clock.relate(message.events);
    this.clock.relate(message.violations);
    this.clock.relate(message.checkpoints);
    // Before the first event there is nothing that it could be told from.
    if (this.events.length + message.events.length > 0) this.clock.relate([message]);
    for (const e of message.events) {
      this.events.push(e);
      this.threads.add(e.tid);
    }
    if (this.events.length > EVENTS + EVENTS / 4) {
      this.events = this.events.slice(-EVENTS);
      this.threads = new Set(this.events.map((e) => e.tid));
    }
    const chosen = this.chosen.event;
    if (message.fresh && chosen && !this.events.some((e) => e.serial === chosen.serial)) this.show({});
    if (message.tracks) this.tracks = new Map(message.tracks.map((t) => [t.tid, t.name]));
    this.violations.push(...message.violations);
    this.properties = message.properties;
    this.checkpoints = message.checkpoints;
    if (message.program) this.program = message.program;
    this.total = message.total;
    this.relevant = message.relevant;
    this.time = message.time;
    this.measure();
    if (message.shapes !== this.version) {
      this.version = message.shapes;
      void this.reshape();
    }
    this.tell("frame");
    this.refresh();
  }

  connect(is: boolean): void {
    this.connected = is;
    this.tell("frame");
  }

  private measure(): void {
    const now = performance.now();
    const { total, clock } = this.before;
    if (!this.running) {
      this.rate = 0;
      this.before = { time: this.time, total: this.total, clock: now };
      return;
    }
    const passed = now - clock;
    if (clock === 0 || passed < 250) {
      if (clock === 0) this.before = { time: this.time, total: this.total, clock: now };
      return;
    }
    const now_rate = ((this.total - total) * 1000) / passed;
    this.rate = this.rate === 0 ? now_rate : this.rate * 0.6 + now_rate * 0.4;
    this.before = { time: this.time, total: this.total, clock: now };
  }

  private async reshape(): Promise<void> {
    const mine = this.version;
    const now = await shapes();
    if (mine !== this.version) return;
    this.shapes = now;
    if (this.property >= this.shapes.length) this.property = 0;
    this.select(null);
    this.tell("shapes");
    this.tell("frame");
  }

  choose(property: number): void {
    // The list of properties is in sight before their shapes are here.
    if (property === this.property || property >= this.properties.length) return;
    this.property = property;
    this.select(null);
    this.tell("shapes");
    this.tell("frame");
  }

  select(slice: SliceId | null): void {
    if (slice && slice.property !== this.property) this.choose(slice.property);
    const same = sameSlice(slice, this.slice);
    this.slice = slice;
    if (!same) this.detail = null;
    this.tell("selection");
    this.refresh();
  }

  show(chosen: Partial<Chosen>): void {
    this.chosen = { event: null, violation: null, ...chosen };
    this.tell("event");
  }

  /** Asks for the selected slice, one question at a time. */
  refresh(): void {
    if (!this.slice) return;
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    const wanted = this.slice;
    const pause = this.running ? 100 : 0;
    ask({ do: "slice", ...wanted })
      .then((answer) => {
        if (!sameSlice(wanted, this.slice)) return;
        if (answer.is === "slice") this.detail = answer;
        else if (this.detail) this.detail = { ...this.detail, verdict: "ended" };
        this.tell("detail");
      })
      .catch(() => {})
      .finally(() => {
        setTimeout(() => {
          this.asking = false;
          if (this.again) {
            this.again = false;
            this.refresh();
          }
        }, pause);
      });
  }
}

export const store = new Store();
