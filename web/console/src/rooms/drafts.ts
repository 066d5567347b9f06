/** Text that was written and not sent, kept per actor and room until it is. */

const held = new Map<string, string>();

const placeOf = (actor: string, room: string) => `hapax.draft:${JSON.stringify([actor, room])}`;

export function draftOf(actor: string, room: string): string {
  const place = placeOf(actor, room);
  const inMemory = held.get(place);
  if (inMemory !== undefined) return inMemory;
  try {
    return localStorage.getItem(place) ?? "";
  } catch {
    return "";
  }
}

export function keepDraft(actor: string, room: string, text: string): void {
  const place = placeOf(actor, room);
  held.set(place, text);
  try {
    if (text === "") localStorage.removeItem(place);
    else localStorage.setItem(place, text);
  } catch {
    // Without storage, or over its quota, the draft lasts as long as the page.
  }
}
