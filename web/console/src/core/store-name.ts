/**
 * The name of an actor's store in this browser. Each actor has one of their own, and one more for each time that the server
 * behind this address turned out to be another one: a store belongs to one actor on one server, and only a sign-out deletes any.
 */

const numberOf = (actor: string) => `hapax.store:${actor}`;

export function storeName(actor: string): string {
  return nameOf(current(actor), actor);
}

/** The names of all that the actor ever had. */
export function storeNames(actor: string): string[] {
  return Array.from({ length: current(actor) }, (_, i) => nameOf(i + 1, actor));
}

/** Begins with the first name again, as none of them is used any more. */
export function forgetStoreNames(actor: string): void {
  inMemory.delete(actor);
  try {
    localStorage.removeItem(numberOf(actor));
  } catch {
    // Blocked: it wasn't kept either.
  }
}

const nameOf = (n: number, actor: string) => `hapax:${n}:${actor}`;

/** Takes the next name from now on. */
export function nextStoreName(actor: string): void {
  const next = current(actor) + 1;
  inMemory.set(actor, next);
  try {
    localStorage.setItem(numberOf(actor), String(next));
  } catch {
    // Blocked: the next visit meets the old store again, and asks again.
  }
}

const inMemory = new Map<string, number>();

function current(actor: string): number {
  const held = inMemory.get(actor);
  if (held !== undefined) return held;
  try {
    const n = Number(localStorage.getItem(numberOf(actor)) ?? "1");
    return Number.isSafeInteger(n) && n > 0 ? n : 1;
  } catch {
    return 1;
  }
}
