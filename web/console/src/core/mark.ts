/**
 * What this browser notes of an actor's sign-outs, for all tabs and for the next visit: beside the identity, as a tab that was closed
 * or asleep meanwhile must find it.
 */

/** What a sign-out leaves of an actor's stores: the outbox, or nothing. */
export type Wipe = "keep" | "delete";

export interface Mark {
  /** How often the actor signed out of this browser. An identity of before is none any more. */
  readonly outs: number;
  /** How often they signed in. A wipe for a sign-out before that must not meet what came after. */
  readonly ins: number;
  readonly how: Wipe;
  /** The wipe of the last sign-out was done whole. */
  readonly done: boolean;
}

const none: Mark = { outs: 0, ins: 0, how: "keep", done: true };
const prefix = "hapax.mark:";

export const markPlace = (actor: string): string => prefix + actor;

export function readMark(actor: string): Mark {
  try {
    const { outs, ins, how, done } = JSON.parse(localStorage.getItem(markPlace(actor)) ?? "{}") as Partial<Mark>;
    return {
      outs: count(outs),
      ins: count(ins),
      how: how === "delete" ? "delete" : "keep",
      done: done !== false,
    };
  } catch {
    return none;
  }
}

/** Changes the mark as it stands now. */
export function writeMark(actor: string, change: Partial<Mark>): void {
  try {
    localStorage.setItem(markPlace(actor), JSON.stringify({ ...readMark(actor), ...change }));
  } catch {
    // Blocked or full: this page alone signs out, and wipes only while it is there.
  }
}

/** The actors whose wipe was begun and not ended. */
export function unwiped(): string[] {
  try {
    return Object.keys(localStorage)
      .filter((k) => k.startsWith(prefix))
      .map((k) => k.slice(prefix.length))
      .filter((actor) => !readMark(actor).done);
  } catch {
    return [];
  }
}

const count = (n: unknown): number => (Number.isSafeInteger(n) && (n as number) > 0 ? (n as number) : 0);
