// The way to the session: frames come by server-sent events, questions go by POST.

import type { Answer, Message, Shape } from "./model.js";

type Reviver = (this: unknown, key: string, v: unknown, context?: { source?: string }) => unknown;

/** JavaScript's numbers lose digits of addresses and hashes; where the browser can, they are kept. */
const keepDigits: Reviver = (_key, v, context) =>
  typeof v === "number" && Number.isInteger(v) && !Number.isSafeInteger(v) && context?.source
    ? BigInt(context.source)
    : v;

function parse<T>(text: string): T {
  return JSON.parse(text, keepDigits as (this: unknown, key: string, v: unknown) => unknown) as T;
}

export class Gone extends Error {}

export async function ask(request: object): Promise<Answer> {
  const response = await fetch("data/ask", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  }).catch(() => {
    throw new Gone("the session is over");
  });
  if (!response.ok) throw new Gone("the session is over");
  return parse<Answer>(await response.text());
}

export async function interrupt(): Promise<void> {
  await fetch("data/interrupt", { method: "POST" });
}

export async function shapes(): Promise<Shape[]> {
  return parse<Shape[]>(await (await fetch("data/properties")).text());
}

/** Listens to frames; after a break the browser connects again and gets the whole truth. */
export function listen(on: (message: Message) => void, connected: (is: boolean) => void): void {
  const source = new EventSource("data/frames");
  let first = true;
  source.onopen = () => {
    first = true;
    connected(true);
  };
  source.onerror = () => connected(false);
  source.onmessage = (event: MessageEvent<string>) => {
    const message = parse<Message>(event.data);
    message.fresh ||= first;
    first = false;
    on(message);
  };
}
