// The program where it stopped: source, stack, threads.

import { byId, h, setText } from "./dom.js";
import { command } from "./controls.js";
import type { ProgramView } from "./model.js";
import { store } from "./store.js";

let drawn: ProgramView | null = null;

function render(): void {
  const program = store.program;
  if (!program || program === drawn) return;
  drawn = program;
  const running = program.state === "running";
  byId("program").classList.toggle("stale", running);
  const source = program.source;
  setText(byId("source-name"), source ? `${source.file}:${source.line}` : "");
  byId("source-name").title = source?.path ?? "";
  const code = byId("source");
  if (source) {
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
  } else if (!running) {
    const hint =
      program.state === "idle"
        ? "The program was not started."
        : program.state === "ended"
          ? `The program is over: ${program.reason.at(-1) ?? ""}`
          : "There is no source here.";
    code.replaceChildren(h("p", { class: "hint" }, hint));
  }
  byId("stack").replaceChildren(
    ...program.frames.map((frame, level) => {
      const current = level === program.selected;
      const button = h("button", { class: "frame", "aria-pressed": String(current) }, frame.text);
      button.disabled = running;
      button.onclick = () => void command(`frame ${level}`);
      return h("li", {}, button);
    }),
  );
  const many = program.threads.length > 1;
  byId("threads").hidden = !many;
  byId("threads").replaceChildren(
    ...(many ? program.threads : []).map((t) => {
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
  );
}

export function startProgram(): void {
  store.on("frame", render);
}
