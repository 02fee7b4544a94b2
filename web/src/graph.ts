// The property's graph: laid out once, then animated by classes only.

import { byId, onFrame, setText } from "./dom.js";
import { grouped, type LastStep, pairs, type PropertyView, sameSlice, type Shape } from "./model.js";
import { better, drawn, MARGIN, type Picture, wholeScale } from "./picture.js";
import { store } from "./store.js";
import { instance, type Viz } from "./viz.js";

interface Moment {
  current: number | null;
  previous: number | null;
  step: (Pick<LastStep, "from" | "to"> & Partial<LastStep>) | null;
  /** The event of a step whose transition is not known. */
  event?: string;
}

/** The smallest letters, which are those of the edges, have this height in the layout. */
const LETTERS = 11;
/** Nobody should have to read smaller ones, in pixels; on large screens everything is larger. */
const readable = () => Math.max(10.5, 0.65 * rem());
const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

const place = byId("graph");
const pictures = new Map<Shape, { down: Picture; right: Picture }>();
let viz: Viz | null = null;
let shown: Picture | null = null;
let scale = 1;
/** Readable, with the current state in sight; all of it; or as the user wants it. */
let mode: "readable" | "whole" | "own" = "readable";
/** The moment whose states were brought into sight. */
let aimed = "";

/** The layout that suits the panel's shape. */
function draw(shape: Shape): Picture | null {
  if (!viz) return null;
  let both = pictures.get(shape);
  if (!both) {
    both = { down: drawn(viz, shape, "TB"), right: drawn(viz, shape, "LR") };
    pictures.set(shape, both);
  }
  return better(both.down, both.right, panel(), readable() / LETTERS);
}

/** The panel, without the bars by which it is scrolled. */
function panel() {
  return { width: place.offsetWidth, height: place.offsetHeight };
}

/** What the graph shows: the selected slice, else the one that moved last. */
function moment(view: PropertyView, shape: Shape): Moment {
  const { detail } = store;
  const { last } = view;
  if (store.slice && detail) {
    const nowhere = { current: detail.state, previous: null, step: null };
    const taken = detail.history.filter((e) => e.taken).at(-1);
    if (!taken) return nowhere;
    const state = (name: string) => shape.states.findIndex((s) => s.name === name);
    const [from, to] = [state(taken.from), state(taken.to)];
    // Somebody set its state since.
    if (to !== detail.state) return nowhere;
    const same = last && sameSlice(last.slice, detail.id) && last.from === from && last.to === to;
    return { current: to, previous: from, step: same ? last : { from, to }, event: taken.event };
  }
  if (!last) return { current: view.root, previous: null, step: null };
  if (last.state !== null && last.state !== last.to) return { current: last.state, previous: null, step: null };
  return { current: last.to, previous: last.from, step: last };
}

/** The labels of the taken edge that say what was taken. */
function ownLabels(edge: Shape["edges"][number], { step, event }: Moment): boolean[] {
  const { transition, success } = step ?? {};
  if (transition !== undefined) {
    return edge.labels.map((l) => l.of.some(([t, s]) => t === transition && s === success));
  }
  const named = edge.labels.map((l) => event !== undefined && l.full.split("\n")[0]!.includes(`${event}(`));
  return named.filter(Boolean).length === 1 ? named : named.map(() => false);
}

function paint(): void {
  const { shape, view } = store;
  if (!shape || !view) {
    place.replaceChildren();
    shown = null;
    byId("graph-empty").hidden = false;
    return;
  }
  const picture = draw(shape);
  if (!picture) return;
  byId("graph-empty").hidden = true;
  if (shown !== picture) {
    if (mode === "own") mode = "readable";
    place.replaceChildren(picture.svg);
    shown = picture;
    fit();
  }
  const now = moment(view, shape);
  const { current, previous, step } = now;
  picture.nodes.forEach(({ group, count }, i) => {
    group.classList.toggle("current", i === current);
    group.classList.toggle("previous", i === previous && i !== current);
    const n = view.counts[i] ?? 0;
    group.classList.toggle("occupied", n > 0);
    const root = i === view.root ? ["root"] : [];
    const there = [...(n === 0 ? [] : [grouped(n)]), ...root].join(" + ");
    if (count) setText(count, shape.slice_on.length === 0 ? "" : there);
  });
  shape.edges.forEach((edge, i) => {
    const taken = step !== null && edge.from === step.from && edge.to === step.to;
    const lines = picture.edges[i];
    if (!lines) return;
    lines.group.classList.toggle("taken", taken);
    lines.texts.classList.toggle("taken", taken);
    const own = taken ? ownLabels(edge, now) : [];
    lines.labels.forEach((label, k) => label.classList.toggle("own", own[k] ?? false));
  });
  const key = `${store.property} ${current} ${previous} ${store.slice?.created}`;
  if (key !== aimed) {
    aimed = key;
    bringIntoSight(current, previous);
  }
  const title = store.slice
    ? store.detail ? pairs(store.detail.slice) || "root" : "…"
    : view.last?.title || (view.last && shape.slice_on.length ? "a slice that ended" : "");
  const who = byId("graph-who");
  setText(who, store.slice ? `slice ${title}` : title ? `last moved: ${title}` : "");
  who.title = title;
  byId("graph-follow").hidden = !store.slice;
}

/** Scrolls as little as shows the current state and, if there is room, the one before. */
function bringIntoSight(...states: (number | null)[]): void {
  if (!shown || mode !== "readable") return;
  const box = place.getBoundingClientRect();
  for (const state of states.reverse()) {
    const node = state === null ? undefined : shown.nodes[state]?.group.getBoundingClientRect();
    if (!node) continue;
    const by = (low: number, high: number, from: number, to: number) =>
      low < from + MARGIN ? low - from - MARGIN : high > to - MARGIN ? high - to + MARGIN : 0;
    place.scrollLeft += by(node.left, node.right, box.left, box.left + place.clientWidth);
    place.scrollTop += by(node.top, node.bottom, box.top, box.top + place.clientHeight);
  }
}

function resize(to: number): void {
  if (!shown) return;
  scale = to;
  shown.svg.setAttribute("width", String(Math.floor((shown.width + 2 * MARGIN) * scale)));
  shown.svg.setAttribute("height", String(Math.floor((shown.height + 2 * MARGIN) * scale)));
}

function fit(): void {
  if (!shown) return;
  byId("graph-fit").setAttribute("aria-pressed", String(mode === "whole"));
  if (mode === "own") return;
  const whole = Math.min(wholeScale(shown, panel()), 0.115 * rem());
  resize(mode === "whole" ? whole : Math.max(whole, readable() / LETTERS));
  aimed = "";
}

function setMode(next: typeof mode): void {
  mode = next;
  fit();
  repaint();
}

function zoom(by: number, x = place.clientWidth / 2, y = place.clientHeight / 2): void {
  if (!shown) return;
  mode = "own";
  fit();
  const box = place.getBoundingClientRect();
  const corner = () => shown!.svg.getBoundingClientRect();
  const [u, v] = [(x - corner().left + box.left) / scale, (y - corner().top + box.top) / scale];
  resize(Math.min(Math.max(scale * by, 0.1), 8));
  place.scrollLeft += corner().left - box.left + u * scale - x;
  place.scrollTop += corner().top - box.top + v * scale - y;
}

const repaint = onFrame(paint);

export function startGraph(): void {
  void instance().then((made) => {
    viz = made;
    paint();
  });
  store.on("frame", repaint);
  store.on("shapes", () => {
    for (const shape of pictures.keys()) if (!store.shapes.includes(shape)) pictures.delete(shape);
    repaint();
  });
  store.on("selection", repaint);
  store.on("detail", repaint);
  new ResizeObserver(() => {
    fit();
    repaint();
  }).observe(byId("graph-panel"));
  // The whole, and back to what can be read.
  byId("graph-fit").onclick = () => setMode(mode === "whole" ? "readable" : "whole");
  byId("graph-in").onclick = () => zoom(1.25);
  byId("graph-out").onclick = () => zoom(0.8);
  byId("graph-follow").onclick = () => store.select(null);
  place.addEventListener(
    "wheel",
    (e) => {
      e.preventDefault();
      const box = place.getBoundingClientRect();
      zoom(Math.exp(-e.deltaY / 400), e.clientX - box.left, e.clientY - box.top);
    },
    { passive: false },
  );
  place.addEventListener("pointermove", (e) => {
    if (e.buttons !== 1) return;
    mode = "own";
    fit();
    place.scrollLeft -= e.movementX;
    place.scrollTop -= e.movementY;
  });
  place.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "+") zoom(1.25);
    else if (e.key === "-") zoom(0.8);
    else if (e.key === "0") setMode(mode === "whole" ? "readable" : "whole");
    else return;
    e.preventDefault();
  });
}
