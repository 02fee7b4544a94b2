// What was chosen: a slice, an event, a violation; and a line to the prompt.

import { byId, h, setText } from "./dom.js";
import { command, tell } from "./controls.js";
import {
  duration,
  type EventView,
  type HistoryRow,
  named,
  pairs,
  sameSlice,
  type Shape,
  type SliceDetail,
  type SliceId,
  type Violation,
} from "./model.js";
import { ask } from "./net.js";
import { store } from "./store.js";

const TABS = ["slice", "event", "violations", "console"] as const;
type Tab = (typeof TABS)[number];

export function openTab(tab: Tab): void {
  for (const name of TABS) {
    const on = name === tab;
    const button = byId(`tab-${name}`);
    button.setAttribute("aria-selected", String(on));
    button.tabIndex = on ? 0 : -1;
    byId(`panel-${name}`).hidden = !on;
  }
}

function stack(frames: string[] | undefined): HTMLElement | null {
  if (!frames?.length) return null;
  return h("ol", { class: "stack", start: 0 }, ...frames.map((f) => h("li", {}, f)));
}

function historyTable(rows: HistoryRow[]): HTMLElement {
  const lines = [...rows].reverse().map((e) => {
    const step = e.taken ? (e.from === e.to ? e.to : `${e.from} → ${e.to}`) : "–";
    const line = h(
      "div",
      { class: `event-line${e.taken ? "" : " idle"}`, title: `${e.event}(${named(e.args)})` },
      h("span", { class: "n" }, String(e.n)),
      h("span", { class: "what" }, e.event, h("small", {}, `(${named(e.args)})`)),
      h("span", { class: "step" }, step),
      h("span", { class: "where" }, e.loc ?? "", e.tid !== undefined && h("small", {}, ` thread ${e.tid}`)),
    );
    const frames = stack(e.backtrace);
    if (!frames) return line;
    return h("details", {}, h("summary", {}, line), frames);
  });
  const table = h("div", { class: "history" }, ...lines);
  const digits = Math.max(0, ...rows.map((e) => String(e.n).length));
  table.style.setProperty("--digits", String(Math.max(3, digits)));
  return table;
}

/** Changes a slice; what was refused is taken back. */
async function change(request: object, refused = () => {}): Promise<void> {
  const answer = await ask(request).catch(() => null);
  if (answer?.is === "failed") {
    tell(answer.error, true);
    refused();
  }
  store.refresh();
}

interface Field {
  input: HTMLInputElement;
  /** What the session last said. */
  known: string;
}

/** The panel of the chosen slice: made once, then only what changed is touched, so that whoever
 * types in it is not disturbed and everything else still tells the truth. */
interface Sheet {
  of: string;
  badge: HTMLElement;
  states: HTMLSelectElement;
  verdict: HTMLElement;
  variables: HTMLElement;
  fields: Map<string, Field>;
  history: HTMLElement;
  past: string;
}

let sheet: Sheet | null = null;

function field(id: SliceId, name: string): [HTMLElement, Field] {
  const input = h("input", { "aria-label": `value of ${name}`, spellcheck: false });
  const own: Field = { input, known: "" };
  input.addEventListener("change", () => {
    if (input.value === own.known) return;
    void change({ do: "set-env", slice: id, name, value: input.value }, () => setField(own, own.known));
  });
  input.addEventListener("keydown", (e) => {
    if (e.key === "Enter") input.blur();
    if (e.key !== "Escape") return;
    setField(own, own.known);
    input.blur();
    e.stopPropagation();
  });
  return [h("label", { class: "variable" }, h("span", {}, name), h("b", {}, "="), input), own];
}

function setField(field: Field, value: string): void {
  field.known = value;
  field.input.value = value;
  field.input.size = Math.max(4, value.length + 1);
}

function makeSheet(detail: SliceDetail, shape: Shape, of: string): Sheet {
  const states = h("select", { "aria-label": "state of the slice" }, ...shape.states.map((s) => h("option", { value: s.name }, s.name)));
  states.onchange = () => void change({ do: "set-state", slice: detail.id, state: states.value });
  const badge = h("span", { class: "badge" });
  const verdict = h("b");
  const variables = h("div", { class: "variables" });
  const history = h("div");
  const { parent } = detail;
  byId("panel-slice").replaceChildren(
    h("h3", {}, pairs(detail.slice) || "root"),
    h("div", { class: "facts" }, badge, states, h("span", {}, "verdict ", verdict), parent && h("span", {}, "parent ", h("b", {}, pairs(parent) || "root"))),
    variables,
    history,
  );
  return { of, badge, states, verdict, variables, fields: new Map(), history, past: "" };
}

function showSlice(): void {
  const { detail, shape } = store;
  if (!store.slice || !shape) {
    sheet = null;
    const hint = "Choose a slice in the table to see its variables, its parent and its last events; it then drives the graph.";
    byId("panel-slice").replaceChildren(h("p", { class: "hint" }, hint));
    return;
  }
  if (!detail || !sameSlice(detail.id, store.slice)) return;
  const of = JSON.stringify([detail.id, shape.name]);
  if (sheet?.of !== of) sheet = makeSheet(detail, shape, of);
  const { badge, states, verdict, variables, fields, history } = sheet;
  const state = shape.states[detail.state];
  badge.className = `badge ${state?.accepting ? "good" : "bad"}`;
  setText(badge, state?.accepting ? "accepting" : "non-accepting");
  states.value = state?.name ?? "";
  setText(verdict, detail.verdict);
  if (detail.env.map(([name]) => name).join() !== [...fields.keys()].join()) {
    fields.clear();
    variables.replaceChildren(
      ...detail.env.map(([name]) => {
        const [label, own] = field(detail.id, name);
        fields.set(name, own);
        return label;
      }),
    );
  }
  for (const [name, value] of detail.env) {
    const own = fields.get(name);
    if (own && own.known !== value && document.activeElement !== own.input) setField(own, value);
  }
  const past = JSON.stringify(detail.history, (_k, v: unknown) => (typeof v === "bigint" ? v.toString() : v));
  // Somebody may be reading a backtrace there.
  if (past === sheet.past || history.contains(document.activeElement)) return;
  sheet.past = past;
  history.replaceChildren(historyTable(detail.history));
}

async function showEvent(event: EventView): Promise<void> {
  const panel = byId("panel-event");
  const frames = h("div", {});
  panel.replaceChildren(
    h("h3", {}, event.name),
    h(
      "div",
      { class: "facts" },
      h("span", {}, "event ", h("b", {}, String(event.n))),
      h("span", {}, "thread ", h("b", {}, String(event.tid))),
      h("span", {}, "at ", h("b", {}, duration(event.time))),
      event.loc !== undefined && h("span", {}, h("b", {}, event.loc)),
    ),
    h("div", { class: "variables" }, ...event.args.map(([name, v]) => h("span", { class: "variable" }, h("span", {}, name), h("b", {}, "="), h("code", {}, v)))),
    frames,
  );
  const known = store.violations.find((v) => v.n === event.n)?.backtrace;
  if (known) {
    frames.replaceChildren(stack(known) ?? "");
    return;
  }
  const answer = await ask({ do: "stack", n: event.n }).catch(() => null);
  if (answer?.is !== "stack") return;
  frames.replaceChildren(
    stack(answer.frames) ?? h("p", { class: "hint" }, "No backtrace was kept; --history-stacks keeps one for every event."),
  );
}

/** Shows a violation among the others. */
export function openViolation(v: Violation): void {
  openTab("violations");
  const shown = byId("panel-violations").querySelectorAll<HTMLDetailsElement>("details.violation");
  const at = store.violations.length - 1 - store.violations.indexOf(v);
  const found = shown[at];
  if (!found) return;
  found.open = true;
  found.scrollIntoView({ block: "nearest" });
}

let listed = -1;

function showViolations(): void {
  const button = byId("tab-violations");
  setText(button, store.violations.length ? `Violations ${store.violations.length}` : "Violations");
  button.classList.toggle("alarm", store.violations.length > 0);
  if (listed === store.violations.length) return;
  listed = store.violations.length;
  const list = store.violations.slice(-200).reverse();
  byId("panel-violations").replaceChildren(
    list.length === 0 ? h("p", { class: "hint" }, "Nothing is violated.") : h("div", {}, ...list.map(violation)),
  );
}

function violation(v: Violation): HTMLElement {
  const who = named(v.slice);
  return h(
    "details",
    { class: "violation", open: v === store.violations.at(-1) },
    h(
      "summary",
      {},
      h("b", {}, v.property),
      who ? ` [${who}]` : "",
      ` in ${v.state}`,
      h("small", {}, v.n === null ? " at the end" : ` at event ${v.n}${v.loc ? `, ${v.loc}` : ""}`),
    ),
    stack(v.backtrace),
    historyTable(v.history),
  );
}

function startConsole(): void {
  const form = byId<HTMLFormElement>("console-form");
  const input = byId<HTMLInputElement>("console-input");
  const lines: string[] = [];
  let at = 0;
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const line = input.value.trim();
    if (!line) return;
    lines.push(line);
    at = lines.length;
    input.value = "";
    void command(line);
  });
  input.addEventListener("keydown", (e) => {
    if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
    at = Math.min(Math.max(at + (e.key === "ArrowUp" ? -1 : 1), 0), lines.length);
    input.value = lines[at] ?? "";
    e.preventDefault();
  });
}

export function startDetail(): void {
  TABS.forEach((tab, i) => {
    const button = byId(`tab-${tab}`);
    button.onclick = () => openTab(tab);
    button.addEventListener("keydown", (e) => {
      const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
      const next = TABS[(i + by + TABS.length) % TABS.length];
      if (by === 0 || !next) return;
      openTab(next);
      byId(`tab-${next}`).focus();
    });
  });
  openTab("slice");
  startConsole();
  store.on("selection", () => {
    if (store.slice) openTab("slice");
    showSlice();
  });
  store.on("detail", showSlice);
  store.on("frame", showViolations);
  store.on("event", () => {
    if (!store.chosen.event) return;
    openTab("event");
    void showEvent(store.chosen.event);
  });
  showSlice();
}
