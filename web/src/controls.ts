// Controls, keys, and what came of them.

import { byId, h, isTyping, setText } from "./dom.js";
import { grouped } from "./model.js";
import { ask, Gone, interrupt } from "./net.js";
import { store } from "./store.js";

interface Control {
  id: string;
  key: string;
  line?: string;
  when: "stopped" | "running" | "startable";
}

const CONTROLS: Control[] = [
  { id: "run", key: "r", line: "run", when: "startable" },
  { id: "continue", key: "c", line: "continue", when: "stopped" },
  { id: "interrupt", key: "i", when: "running" },
  { id: "next", key: "n", line: "next", when: "stopped" },
  { id: "step", key: "s", line: "step", when: "stopped" },
  { id: "finish", key: "f", line: "finish", when: "stopped" },
  { id: "checkpoint", key: "k", line: "checkpoint", when: "stopped" },
];

/** Adds a text to the console; an error is also said where everybody sees it. */
export function tell(text: string, wrong = false): void {
  const log = byId("console-log");
  if (text.trim()) log.append(h("div", { class: wrong ? "wrong" : "said" }, text.trimEnd()));
  while (log.childElementCount > 500) log.firstElementChild?.remove();
  log.scrollTop = log.scrollHeight;
  if (wrong) {
    const toast = byId("toast");
    setText(toast, text);
    toast.hidden = false;
    window.setTimeout(() => (toast.hidden = true), 6000);
  }
}

export async function command(line: string): Promise<void> {
  byId("console-log").append(h("div", { class: "typed" }, line));
  try {
    const answer = await ask({ do: "line", line });
    if (answer.is === "failed") tell(answer.error, true);
    else if (answer.is === "done") tell(answer.text);
  } catch (e) {
    tell(e instanceof Gone ? e.message : String(e), true);
  }
}

/** Why a key does nothing now. */
function excuse(): string {
  if (!store.connected) return "The session cannot be reached.";
  if (!store.program?.controllable) return "A trace is only watched: there is no program to command.";
  const again = store.program.startable ? "; r starts it again" : "";
  return {
    idle: "The program was not started: r runs it.",
    running: "The program is running: i interrupts it.",
    stopped: "The program is stopped: c lets it go on.",
    ended: `The program is over${again}.`,
  }[store.program.state];
}

/** Goes back to the last checkpoint. */
function restoreLast(): void {
  const last = store.checkpoints.at(-1);
  if (!store.connected || !store.program?.controllable || store.running) tell(excuse(), true);
  else if (!last) tell("There is no checkpoint: k saves one.", true);
  else void command(`restart ${last.number}`);
}

function press(control: Control): void {
  const button = byId<HTMLButtonElement>(`do-${control.id}`);
  if (button.disabled || button.hidden) return tell(excuse(), true);
  if (control.line) void command(control.line);
  else void interrupt();
}

function update(): void {
  const program = store.program;
  const state = program?.state ?? "idle";
  for (const control of CONTROLS) {
    const button = byId<HTMLButtonElement>(`do-${control.id}`);
    const starts = program?.startable === true && (state === "idle" || state === "ended");
    const fits = control.when === "startable" ? starts : control.when === state;
    button.disabled = !store.connected || !program?.controllable || !fits;
  }
  byId("do-run").hidden = state === "running" || state === "stopped" || program?.startable === false;
  byId("do-continue").hidden = !byId("do-run").hidden || state === "running";
  byId("do-interrupt").hidden = state !== "running";
  const pill = byId("state");
  pill.dataset["state"] = store.connected ? state : "lost";
  const reason = program?.reason.filter((line) => line !== "[Execution stopped.]").at(-1);
  const known = state === "idle" ? "not started" : state;
  setText(pill, !store.connected ? "lost" : program ? known : "…");
  pill.title = store.connected ? "" : `the session is over or cannot be reached; it was ${state}`;
  byId("program").classList.toggle("stale", !store.connected || state === "running");
  setText(byId("reason"), !store.connected || state === "running" || !reason ? "" : reason.replace(/^\[verde\] /, ""));
  const [path, ...args] = (program?.command ?? "").split(" ");
  setText(byId("command"), [path?.split("/").at(-1), ...args].join(" "));
  byId("command").title = program?.command ?? "";
  document.title = `${store.connected ? state : "lost"} · ${program?.command.split("/").at(-1) ?? "Verde"}`;
  setText(byId("total"), grouped(store.total));
  setText(byId("relevant"), store.relevant === store.total ? "" : `(${grouped(store.relevant)} relevant)`);
  const rate = store.rate;
  setText(byId("rate"), rate >= 1 ? `${grouped(Math.round(rate))}/s` : "");
  renderProperties();
}

const VERDICTS: Record<string, [string, string]> = {
  true: ["holds", "good"],
  "currently-true": ["holds so far", "good"],
  "currently-false": ["fails so far", "bad"],
  false: ["violated", "bad"],
  inconclusive: ["inconclusive", ""],
};

function renderProperties(): void {
  const list = byId("properties");
  const known = [...list.children] as HTMLButtonElement[];
  if (known.length !== store.properties.length) {
    list.replaceChildren(
      ...store.properties.map((_, i) => {
        const button = h("button", { role: "tab", class: "property" }, h("span"), h("em"));
        button.onclick = () => store.choose(i);
        return button;
      }),
    );
  }
  store.properties.forEach((p, i) => {
    const button = list.children[i] as HTMLButtonElement;
    const [word, kind] = VERDICTS[p.outcome ?? p.verdict] ?? [p.verdict, ""];
    button.setAttribute("aria-selected", String(i === store.property));
    setText(button.children[0]!, p.name);
    const badge = button.children[1]!;
    const text = p.violations > 0 ? `${word} · ${p.violations}` : word;
    setText(badge, p.listens ? text : `${text} (not running)`);
    badge.className = `badge ${kind}`;
  });
}

function theme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const root = document.documentElement;
  const now = root.dataset["theme"] ?? (dark ? "dark" : "light");
  root.dataset["theme"] = now === "dark" ? "light" : "dark";
  localStorage.setItem("verde-theme", root.dataset["theme"]);
  window.dispatchEvent(new Event("theme"));
}

export function startControls(): void {
  const kept = localStorage.getItem("verde-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset["theme"] = kept;
  for (const control of CONTROLS) byId(`do-${control.id}`).onclick = () => press(control);
  byId("do-theme").onclick = theme;
  const help = byId<HTMLDialogElement>("help");
  byId("do-help").onclick = () => help.showModal();
  byId("help-close").onclick = () => help.close();
  document.addEventListener("keydown", (e) => {
    if (isTyping(e.target) || e.ctrlKey || e.metaKey || e.altKey || help.open) return;
    const control = CONTROLS.find((c) => c.key === e.key);
    if (control) press(control);
    else if (e.key === "b") restoreLast();
    else if (e.key === "/") byId("filter").focus();
    else if (e.key === ":") {
      byId("tab-console").click();
      byId("console-input").focus();
    } else if (e.key === "t") theme();
    else if (e.key === "?") help.showModal();
    else if (/^[1-9]$/.test(e.key)) store.choose(Number(e.key) - 1);
    else return;
    e.preventDefault();
  });
  store.on("frame", update);
  store.on("shapes", update);
}
