import type { Lease } from "../store/contract.ts";
import { makeId, zeroId } from "./id.ts";
import { LeaseError } from "./lease.ts";

/**
 * How many issued but unused ids are remembered. At the limit `next` gives none until one is used or released, so that an app
 * that only asks can't grow the set.
 */
export const maxUnused = 256;

/**
 * Issuer hands out ids of leases. It does no I/O: whoever owns a store watches `needsLease`, reserves, and calls `addLease`.
 */
export class Issuer {
  readonly #derive: typeof makeId;
  #now: Lease | undefined; // ids are taken from this one
  #passed = 0; // how many of its ordinals were passed
  #next: Lease | undefined; // reserved ahead
  readonly #unused = new Set<string>();

  /** @param derive makes an id of an ordinal; given by tests */
  constructor(derive = makeId) {
    this.#derive = derive;
  }

  /**
   * Gives the issuer a lease to go on with. At most one is held ahead.
   *
   * @throws LeaseError `bad_lease` for a further one; its ordinals are then never used
   */
  addLease(l: Lease): void {
    if (this.#passed === (this.#now?.n ?? 0) && !this.#next) {
      this.#now = l;
      this.#passed = 0;
    } else if (this.#next) {
      throw new LeaseError("bad_lease", "a lease is held ahead already");
    } else {
      this.#next = l;
    }
  }

  /** Whether it is time to reserve: three quarters of the present lease are used, or none is held, and none follows it. */
  get needsLease(): boolean {
    const n = this.#now?.n ?? 0;
    return !this.#next && this.#passed >= n - Math.floor(n / 4);
  }

  /**
   * Issues an id. It returns the zero id where none can be had: no lease, the lease used up, or 256 ids issued and unused.
   * That is back-pressure: an id never comes from elsewhere.
   */
  next(): string {
    if (this.#unused.size >= maxUnused) return zeroId;
    for (;;) {
      if (this.#passed === (this.#now?.n ?? 0)) {
        if (!this.#next) return zeroId;
        this.#now = this.#next;
        this.#next = undefined;
        this.#passed = 0;
      }
      const { device, start } = this.#now as Lease;
      const id = this.#derive(device, start + BigInt(this.#passed++));
      if (id !== zeroId) {
        this.#unused.add(id);
        return id;
      }
    }
  }

  /** Takes an issued id for a send; false for one that was not issued here, or was used or released before. */
  use(id: string): boolean {
    return this.#unused.delete(id);
  }

  /** Makes an id that `use` took usable again, for a send that was refused with nothing stored. */
  giveBack(id: string): void {
    this.#unused.add(id);
  }

  /** How many ids are issued and neither used nor released. */
  get unused(): number {
    return this.#unused.size;
  }
}
