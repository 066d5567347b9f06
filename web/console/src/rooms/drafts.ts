/**
 * Text that was written and not sent, kept per actor and room until it is, and the id under which it was handed over last.
 *
 * A page may be left between the store's taking a message and the composer's hearing of it. The text then stands in the
 * composer again; sent as it is, it goes under the id that it has, and is one message either way.
 */

import { type Signal, signal } from "@preact/signals";

/** A text that the outbox may have, and its id. */
interface Given {
  readonly id: string;
  readonly text: string;
}

export class Draft {
  readonly #text: Signal<string>;
  readonly #place: string;
  #given: Given | undefined;

  constructor(place: string) {
    this.#place = place;
    this.#text = signal(read(`hapax.draft:${place}`));
    this.#given = parse(read(`hapax.given:${place}`));
  }

  get text(): string {
    return this.#text.value;
  }

  /** Emptied, it is done with: the same words written anew are another message. */
  write(text: string): void {
    this.#text.value = text;
    keep(`hapax.draft:${this.#place}`, text);
    if (text === "") this.taken();
  }

  /** The id of a text whose fate nobody knows, undefined for any other. */
  idOf(text: string): string | undefined {
    return this.#given?.text === text ? this.#given.id : undefined;
  }

  /** Notes an id before the outbox gets the text. */
  give(id: string, text: string): void {
    this.#given = { id, text };
    keep(`hapax.given:${this.#place}`, JSON.stringify(this.#given));
  }

  /** The outbox has it, or surely has not. */
  taken(): void {
    this.#given = undefined;
    keep(`hapax.given:${this.#place}`, "");
  }
}

const drafts = new Map<string, Draft>();

/** The one draft of an actor in a room on this page, read of the browser's storage the first time. */
export function draftOf(actor: string, room: string): Draft {
  return draftAt(JSON.stringify([actor, room]));
}

function draftAt(place: string): Draft {
  const draft = drafts.get(place) ?? new Draft(place);
  drafts.set(place, draft);
  return draft;
}

const kinds = ["hapax.draft:", "hapax.given:"];

/** In how many rooms an actor wrote what wasn't sent. */
export function draftsOf(actor: string): number {
  return [...drafts, ...keptOf(actor).map((place) => [place, draftAt(place)] as const)].reduce(
    (found, [place, d]) => (d.text !== "" && isOf(place, actor) ? found.add(place) : found),
    new Set<string>(),
  ).size;
}

/** Drops all that an actor wrote and didn't send, here and in the browser's storage. */
export function forgetDrafts(actor: string): void {
  for (const place of new Set([...drafts.keys(), ...keptOf(actor)])) {
    if (!isOf(place, actor)) continue;
    draftAt(place).write("");
    drafts.delete(place);
  }
}

/** The places of what the browser's storage has of an actor. */
function keptOf(actor: string): string[] {
  try {
    const places = Object.keys(localStorage).flatMap((k) =>
      kinds.filter((p) => k.startsWith(p)).map((p) => k.slice(p.length)),
    );
    return places.filter((place) => isOf(place, actor));
  } catch {
    return [];
  }
}

const isOf = (place: string, actor: string) => place.startsWith(`[${JSON.stringify(actor)},`);

function read(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

function keep(name: string, value: string): void {
  try {
    if (value === "") localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Without storage, or over its quota, it lasts as long as the page.
  }
}

function parse(kept: string): Given | undefined {
  try {
    const { id, text } = JSON.parse(kept) as Partial<Record<string, unknown>>;
    return typeof id === "string" && typeof text === "string" ? { id, text } : undefined;
  } catch {
    return undefined;
  }
}
