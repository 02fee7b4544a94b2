// The program where it stopped: source, stack, threads.

import { byId, fillList, h, setText } from "./dom.js";
import { command } from "./controls.js";
import type { ProgramView } from "./model.js";
import { store } from "./store.js";

let drawn: ProgramView | null = null;

function render(): void {
  const program = store.program;
  if (!program || program === drawn) return;
  drawn = program;
  const running = program.state === "running";
  const source = program.source;
  const missing = source !== null && source.lines.length === 0;
  setText(byId("source-name"), source ? `${source.file}:${source.line}` : "");
  byId("source-name").title = source?.path ?? "";
  const code = byId("source");
  if (source && !missing) {
    code.replaceChildren(
      ...source.lines.map((text, i) => {
        const n = source.first + i;
        const here = n === source.line;
        return h(
          "div",
          here ? { class: "line here", "aria-current": "location" } : { class: "line" },
          h("span", { class: "number" }, String(n)),
          h("span", { class: "text" }, text || " "),
        );
      }),
    );
    const here = code.querySelector<HTMLElement>(".here");
    if (here) code.scrollTop = here.offsetTop - code.clientHeight / 2 + here.offsetHeight;
  } else {
    const hints = {
      idle: "The program was not started.",
      running: "The program is running; interrupt it (i) to see where it is.",
      stopped: "There is no source here.",
      ended: `The program is over: ${program.reason.at(-1) ?? ""}`,
    };
    const lost = `The program is at ${source?.file}:${source?.line}, but its source is not here: ${source?.path}`;
    code.replaceChildren(h("p", { class: "hint" }, missing ? lost : hints[program.state]));
  }
  fillList(
    byId("stack"),
    program.frames.map((frame, level) => {
      const current = level === program.selected;
      const button = h("button", { class: "frame", "aria-pressed": String(current) }, frame.text);
      button.disabled = running;
      button.onclick = () => void command(`frame ${level}`);
      return h("li", {}, button);
    }),
    program.selected,
    ["ArrowUp", "ArrowDown"],
  );
  const many = program.threads.length > 1;
  byId("threads").hidden = !many;
  fillList(
    byId("threads"),
    (many ? program.threads : []).map((t) => {
      const button = h(
        "button",
        { class: "frame", "aria-pressed": String(t.selected) },
        h("b", {}, `${t.number} ${t.name} `),
        h("small", {}, `${t.tid} ${t.place}`),
      );
      button.disabled = running;
      button.onclick = () => void command(`thread ${t.number}`);
      return h("li", {}, button);
    }),
    program.threads.findIndex((t) => t.selected),
    ["ArrowUp", "ArrowDown"],
  );
}

export function startProgram(): void {
  store.on("frame", render);
}
