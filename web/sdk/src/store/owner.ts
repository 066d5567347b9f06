/** Whose a store is: known before anything of it is read or written. */

import { StoreError } from "./errors.ts";
import type { Head } from "./head.ts";

/** What an app says of itself when it opens a store. */
export interface Claimant {
  /**
   * The actor that the app is signed in as. A store of another one answers `wrong_store` before anything of it is read or
   * written, also without a network; one that is nobody's is this actor's from then on. Left out, the owner is compared at
   * the first welcome only, as for a store that ends with its process.
   */
  readonly actor?: string | undefined;
  /** Takes a store whose rows are nobody's: without it that is `unowned`, as the rows may be another reader's. */
  readonly claim?: boolean | undefined;
}

/** The actor that a store is known to belong to: by its first welcome, or by who opened it first. */
export const actorOf = (h: Pick<Head, "owner" | "actor">): string | undefined => h.owner?.actor ?? h.actor;

/** How many rows an outbox has, of whatever state. */
export const rowsOf = (h: Partial<Pick<Head, "rows">>): number =>
  Object.values(h.rows ?? {}).reduce((a, b) => a + b, 0);

/**
 * Whether the actor is to be noted, as the store is nobody's yet.
 *
 * @throws StoreError `wrong_store`, `unowned`
 */
export function claims(h: Head, { actor, claim }: Claimant): boolean {
  const of = actorOf(h);
  if (actor === undefined || of === actor) return false;
  if (of !== undefined) throw new StoreError("wrong_store", "belongs to another actor");
  if (rowsOf(h) > 0 && !claim) {
    throw new StoreError("unowned", `its ${rowsOf(h)} rows name no owner; only the app can say whose they are`);
  }
  return true;
}
