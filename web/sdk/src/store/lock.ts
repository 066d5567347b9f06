/** Lock: what a handle needs of the others on its medium. */

import type { Hint } from "./contract.ts";
import type { Beat } from "./head.ts";

/**
 * A lock that was taken. Where that rests on a judgement about the drainer's signs of life, the new drainer's first
 * transaction makes sure that the last of them still is `after`: of several that judge at the same time it lets one through.
 */
export interface Taken {
  readonly judged: boolean;
  readonly after?: Beat | undefined;
  /**
   * Takes the lock away from the drainer that was judged dead. To be called after that transaction, by the one that it let
   * through: whoever steals before may rob another that was quicker. False where the lock can't be had.
   */
  readonly steal?: () => Promise<boolean>;
}

/** Lock is the drainer's lock, and the way to give hints to other handles. */
export interface Lock {
  /** Takes the lock without waiting for it; undefined where another handle holds it and gives signs of life. */
  take(): Promise<Taken | undefined>;
  /** The handle drains under this fence from now on. Answers false where the lock was lost meanwhile. */
  hold(fence: number): boolean;
  /** Frees the lock if this handle holds it. */
  free(): void;
  /** Tells other handles that the store changed. */
  announce(): void;
  /** Gives hints to the handle. Called once. */
  listen(f: (hint: Hint) => void): void;
  /** Frees the lock, and ends. */
  close(): void;
}
