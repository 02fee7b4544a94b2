// A property's graph as an SVG whose parts can be found again.

import type { Shape } from "./model.js";
import type { Viz } from "./viz.js";

export interface Picture {
  svg: SVGSVGElement;
  nodes: { group: SVGGElement; count: SVGTextElement | null }[];
  edges: { group: SVGGElement; texts: SVGGElement; labels: SVGGElement[] }[];
  width: number;
  height: number;
}

export interface Room {
  width: number;
  height: number;
}

/** Air around the graph. */
export const MARGIN = 6;

const make = (name: "g" | "title") => document.createElementNS("http://www.w3.org/2000/svg", name);

function entitle(group: SVGElement, text: string): void {
  const title = make("title");
  title.textContent = text;
  group.prepend(title);
}

/** How large a picture is when all of it is to be seen. */
export function wholeScale(picture: Room, room: Room): number {
  return Math.min(room.width / (picture.width + 2 * MARGIN), room.height / (picture.height + 2 * MARGIN));
}

/** How much of a picture is in sight when it can be read. */
function inSight(picture: Room, room: Room, least: number): number {
  const scale = Math.max(wholeScale(picture, room), least);
  const part = (has: number, needs: number) => Math.min(1, has / ((needs + 2 * MARGIN) * scale));
  return part(room.width, picture.width) * part(room.height, picture.height);
}

/** From top to bottom unless from left to right shows clearly more of it, or shows it clearly larger. */
export function better(down: Picture, right: Picture, room: Room, least: number): Picture {
  const [a, b] = [inSight(down, room, least), inSight(right, room, least)];
  if (a !== b) return b > a * 1.1 ? right : down;
  return wholeScale(right, room) > wholeScale(down, room) * 1.1 ? right : down;
}

export function drawn(viz: Viz, shape: Shape, direction: "TB" | "LR"): Picture {
  let dot = shape.dot.replace("rankdir=TB", `rankdir=${direction}`);
  // A label stands beside its edge; above it, a line of air keeps the edge out of the text.
  if (direction === "LR") dot = dot.replace(/\\l"\];$/gm, '\\l \\l"];');
  const svg = viz.renderSVGElement(dot);
  svg.querySelectorAll("title").forEach((title) => title.remove());
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Graph of property ${shape.name}`);
  const group = (id: string) => svg.querySelector<SVGGElement>(`#${id}`)!;
  const nodes = shape.states.map((state, i) => {
    const found = group(`s${i}`);
    const texts = found.querySelectorAll("text");
    const count = texts[texts.length - 1] ?? null;
    count?.classList.add("count");
    const kind = `${state.accepting ? "accepting" : "non-accepting"}${state.final ? ", final" : ""}`;
    entitle(found, `${state.name}: ${kind}`);
    return { group: found, count };
  });
  // Texts lie above all edges, with a seam in the panel's colour, so that none is drawn through them.
  const above = make("g") as SVGGElement;
  const seams = make("g") as SVGGElement;
  seams.classList.add("seams");
  seams.setAttribute("aria-hidden", "true");
  const edges = shape.edges.map((edge, i) => {
    const found = group(`e${i}`);
    const all = [...found.querySelectorAll("text")];
    const texts = make("g") as SVGGElement;
    texts.classList.add("label");
    seams.append(...all.map((text) => text.cloneNode(true)));
    let at = 0;
    const labels = edge.labels.map((label) => {
      const one = make("g") as SVGGElement;
      one.append(...all.slice(at, at + label.lines));
      at += label.lines + 1;
      one.firstElementChild?.classList.add("event");
      entitle(one, label.full);
      texts.append(one);
      return one;
    });
    all.filter((text) => text.parentNode === found).forEach((text) => text.remove());
    above.append(texts);
    return { group: found, texts, labels };
  });
  group("s0").parentElement?.append(seams, above);
  const box = svg.viewBox.baseVal;
  const { width, height } = box;
  svg.setAttribute("viewBox", `${box.x - MARGIN} ${box.y - MARGIN} ${width + 2 * MARGIN} ${height + 2 * MARGIN}`);
  return { svg, nodes, edges, width, height };
}
