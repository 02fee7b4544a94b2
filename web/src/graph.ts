// The property's graph: laid out once, then animated by classes only.

import { byId, onFrame, setText } from "./dom.js";
import { grouped, type LastStep, type PropertyView, type Shape } from "./model.js";
import { store } from "./store.js";
import { instance, type Viz } from "./viz.js";

interface Picture {
  svg: SVGSVGElement;
  nodes: { group: SVGGElement; count: SVGTextElement | null }[];
  edges: { group: SVGGElement; texts: SVGTextElement[][] }[];
  width: number;
  height: number;
}

interface Moment {
  current: number | null;
  previous: number | null;
  step: Pick<LastStep, "from" | "to"> & Partial<LastStep> | null;
}

const place = byId("graph");
const pictures = new Map<Shape, Picture>();
let viz: Viz | null = null;
let shown: Picture | null = null;
let scale = 1;
let middle = { x: 0, y: 0 };

/** From top to bottom or from left to right, whichever is larger in the room there is. */
function layOut(viz: Viz, dot: string): SVGSVGElement {
  const made = ["TB", "LR"].map((dir) => viz.renderSVGElement(dot.replace("rankdir=TB", `rankdir=${dir}`)));
  const size = (svg: SVGSVGElement) => {
    const { width, height } = svg.viewBox.baseVal;
    return Math.min(place.clientWidth / width, place.clientHeight / height);
  };
  return made.reduce((best, one) => (size(one) > size(best) * 1.1 ? one : best));
}

function draw(shape: Shape): Picture | null {
  const known = pictures.get(shape);
  if (known) return known;
  if (!viz) return null;
  const svg = layOut(viz, shape.dot);
  svg.querySelectorAll("title").forEach((title) => title.remove());
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Graph of property ${shape.name}`);
  const group = (id: string) => svg.querySelector<SVGGElement>(`#${id}`);
  const nodes = shape.states.map((_, i) => {
    const found = group(`s${i}`)!;
    const texts = found.querySelectorAll("text");
    const count = texts[texts.length - 1] ?? null;
    count?.classList.add("count");
    return { group: found, count };
  });
  const edges = shape.edges.map((edge, i) => {
    const found = group(`e${i}`)!;
    const texts = [...found.querySelectorAll("text")];
    let at = 0;
    const lines = edge.labels.map((label) => {
      const own = texts.slice(at, at + label.lines);
      at += label.lines + 1;
      own[0]?.classList.add("event");
      return own;
    });
    return { group: found, texts: lines };
  });
  const box = svg.viewBox.baseVal;
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  const picture = { svg, nodes, edges, width: box.width, height: box.height };
  pictures.set(shape, picture);
  return picture;
}

/** What the graph shows: the selected slice, else the one that moved last. */
function moment(view: PropertyView, shape: Shape): Moment {
  const detail = store.detail;
  if (store.slice && detail) {
    const taken = detail.history.filter((e) => e.taken).at(-1);
    const state = (name: string) => shape.states.findIndex((s) => s.name === name);
    if (!taken) return { current: detail.state, previous: null, step: null };
    const from = state(taken.from);
    const to = state(taken.to);
    const last = view.last;
    const same = last && last.slice.created === detail.id.created && last.from === from && last.to === to;
    return { current: detail.state, previous: from, step: same ? last : { from, to } };
  }
  const last = view.last;
  if (!last) return { current: view.root, previous: null, step: null };
  return { current: last.to, previous: last.from, step: last };
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
    place.replaceChildren(picture.svg);
    shown = picture;
    fit();
  }
  const { current, previous, step } = moment(view, shape);
  picture.nodes.forEach(({ group, count }, i) => {
    group.classList.toggle("current", i === current);
    group.classList.toggle("previous", i === previous && i !== current);
    const n = view.counts[i] ?? 0;
    group.classList.toggle("occupied", n > 0);
    if (count) setText(count, shape.slice_on.length === 0 || n === 0 ? "" : grouped(n));
  });
  shape.edges.forEach((edge, i) => {
    const taken = step !== null && edge.from === step.from && edge.to === step.to;
    const drawn = picture.edges[i];
    if (!drawn) return;
    drawn.group.classList.toggle("taken", taken);
    edge.labels.forEach((label, k) => {
      const exact = step?.transition !== undefined;
      const own = taken && exact && label.of.some(([t, s]) => t === step.transition && s === step.success);
      for (const text of drawn.texts[k] ?? []) text.classList.toggle("own", own);
    });
  });
  const title = store.slice
    ? (store.detail ? store.detail.slice.map(([n, v]) => `${n} = ${v}`).join(", ") || "root" : "…")
    : view.last?.title || (view.last && shape.slice_on.length ? "a slice that ended" : "");
  const follow = byId("graph-who");
  setText(follow, store.slice ? `slice ${title}` : title ? `last moved: ${title}` : "");
  byId("graph-follow").hidden = !store.slice;
}

function show(): void {
  if (!shown) return;
  const { clientWidth, clientHeight } = place;
  if (clientWidth === 0 || clientHeight === 0) return;
  const w = clientWidth / scale;
  const h = clientHeight / scale;
  shown.svg.setAttribute("viewBox", `${middle.x - w / 2} ${middle.y - h / 2} ${w} ${h}`);
}

function fit(): void {
  if (!shown) return;
  const { clientWidth, clientHeight } = place;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) / 13;
  scale = Math.min(clientWidth / (shown.width + 20), clientHeight / (shown.height + 20), 1.5 * rem);
  middle = { x: shown.width / 2, y: shown.height / 2 };
  show();
}

function zoom(by: number, x = place.clientWidth / 2, y = place.clientHeight / 2): void {
  const before = scale;
  scale = Math.min(Math.max(scale * by, 0.05), 8);
  const dx = (x - place.clientWidth / 2) * (1 / before - 1 / scale);
  const dy = (y - place.clientHeight / 2) * (1 / before - 1 / scale);
  middle = { x: middle.x + dx, y: middle.y + dy };
  show();
}

export function startGraph(): void {
  void instance().then((made) => {
    viz = made;
    paint();
  });
  const repaint = onFrame(paint);
  store.on("frame", repaint);
  store.on("shapes", () => {
    for (const shape of pictures.keys()) if (!store.shapes.includes(shape)) pictures.delete(shape);
    repaint();
  });
  store.on("selection", repaint);
  store.on("detail", repaint);
  new ResizeObserver(fit).observe(place);
  byId("graph-fit").onclick = fit;
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
  place.addEventListener("pointerdown", (e) => {
    place.setPointerCapture(e.pointerId);
    let at = { x: e.clientX, y: e.clientY };
    const move = (m: PointerEvent) => {
      middle = { x: middle.x - (m.clientX - at.x) / scale, y: middle.y - (m.clientY - at.y) / scale };
      at = { x: m.clientX, y: m.clientY };
      show();
    };
    place.addEventListener("pointermove", move);
    place.addEventListener("pointerup", () => place.removeEventListener("pointermove", move), { once: true });
  });
  place.addEventListener("keydown", (e) => {
    const by = 40 / scale;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-by, 0],
      ArrowRight: [by, 0],
      ArrowUp: [0, -by],
      ArrowDown: [0, by],
    };
    const move = moves[e.key];
    if (move) middle = { x: middle.x + move[0], y: middle.y + move[1] };
    else if (e.key === "+") zoom(1.25);
    else if (e.key === "-") zoom(0.8);
    else if (e.key === "0") fit();
    else return;
    e.preventDefault();
    show();
  });
}
