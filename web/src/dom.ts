// Elements. Texts of the program only ever become text nodes.

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | EventListener>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, given] of Object.entries(attributes)) {
    if (typeof given === "function") element.addEventListener(name, given);
    else if (given === true) element.setAttribute(name, "");
    else if (given !== false) element.setAttribute(name, String(given));
  }
  for (const child of children) if (child !== null && child !== false) element.append(child);
  return element;
}

/** An element of the page's own markup. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** Changes the text only when it differs, so that nothing is laid out again for nothing. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Somebody types. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLSelectElement ||
    target instanceof HTMLTextAreaElement
  );
}

/** A list of buttons is one stop of the Tab key; arrows move in it. What had the focus keeps it. */
export function fillList(list: HTMLElement, items: HTMLElement[], chosen: number, step: [string, string]): void {
  const before = [...list.querySelectorAll("button")];
  const focused = before.indexOf(document.activeElement as HTMLButtonElement);
  list.replaceChildren(...items);
  const buttons = [...list.querySelectorAll("button")];
  const stop = (at: number) => buttons.forEach((b, i) => (b.tabIndex = i === at ? 0 : -1));
  stop(Math.max(0, chosen));
  if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)]?.focus();
  list.onkeydown = (e) => {
    const at = buttons.indexOf(e.target as HTMLButtonElement);
    const moves: Record<string, number> = { [step[0]]: at - 1, [step[1]]: at + 1, Home: 0, End: buttons.length - 1 };
    const to = moves[e.key];
    if (at < 0 || to === undefined) return;
    e.preventDefault();
    const next = Math.min(Math.max(to, 0), buttons.length - 1);
    stop(next);
    buttons[next]?.focus();
  };
}

/** Runs something at the next frame, however often it is asked for. */
export function onFrame(run: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      run();
    });
  };
}
