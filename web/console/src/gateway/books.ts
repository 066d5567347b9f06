/** What the server's gateway keeps, as its API tells it; api/openapi.yaml has every member. */

import { signal } from "@preact/signals";
import { type Ask, ask, Refused } from "../core/api.ts";
import { token } from "../core/sign-in.ts";

export interface Source {
  readonly tenant: string;
  readonly source: string;
  readonly windowS: number;
  readonly registry: string;
  readonly forward: boolean;
  readonly events: number;
  readonly waiting: number;
  readonly dead: number;
}

export interface Counts {
  readonly events: number;
  readonly accept: number;
  readonly dedupe: number;
  readonly reject: number;
  readonly mismatch: number;
}

export interface Sum {
  readonly currency: string;
  readonly counts: Counts;
  /** Decimals, as text: the books are exact. */
  readonly acceptedTotal: string;
  readonly dedupedAmount: string;
}

export interface Book extends Sum {
  readonly source: string;
  readonly repeated: readonly { readonly key: string; readonly hits: number; readonly seenAt: number }[];
}

export interface Ledger {
  readonly tenant: string;
  readonly currencies: readonly Sum[];
  readonly books: readonly Book[];
}

export interface Bucket {
  readonly at: number;
  readonly accept: number;
  readonly duplicateDone: number;
  readonly duplicatePending: number;
  readonly mismatch: number;
  readonly badAmount: number;
  readonly unknownKey: number;
}

export interface Decisions {
  readonly complete: boolean;
  readonly since: number;
  readonly buckets: readonly Bucket[];
}

export interface GatewayEvent {
  readonly id: string;
  readonly source: string;
  readonly key: string;
  readonly decision: string;
  readonly reason: string;
  readonly currency: string;
  readonly amount?: string;
  readonly at: number;
  readonly windowS?: number;
  readonly gapS?: number;
  readonly forward?: string;
}

export interface Delivery {
  readonly id: string;
  readonly source: string;
  readonly key: string;
  readonly reason?: string;
  readonly sends: number;
  readonly lastSentAt?: number;
}

export interface Letters {
  readonly deadLetters: readonly Delivery[];
  readonly next?: string;
}

export interface Advice {
  readonly windowS: number;
  readonly events: number;
  readonly complete: boolean;
  readonly longestGapS: number;
  readonly windows: readonly {
    readonly windowS: number;
    readonly repeats: number;
    readonly letThrough: number;
    readonly held: number;
    readonly amounts: Readonly<Record<string, string>>;
  }[];
}

export interface Proof {
  readonly proven: boolean;
  readonly ok: boolean;
  readonly at?: number;
  readonly events?: number;
  readonly record?: number;
  readonly head: number;
  readonly issues?: readonly string[];
}

/** Undefined until the server has answered; "none" where it keeps no books, or none that this reader may see. */
export const sources = signal<readonly Source[] | "none" | undefined>(undefined);
export const fault = signal("");

/** Asks the gateway, as whoever is signed in. */
export async function books<T>(path: string, how: Ask = {}): Promise<T> {
  return ask<T>(path, { ...how, token: await token() });
}

export async function readSources(): Promise<void> {
  try {
    const found = (await books<{ sources: Source[] }>("/v1/sources")).sources;
    sources.value = found.length === 0 ? "none" : found;
    fault.value = "";
  } catch (e) {
    if (e instanceof Refused && (e.status === 404 || e.status === 403)) sources.value = "none";
    else fault.value = (e as Error).message;
  }
}

/** A query of those parameters that say something. */
export function query(parameters: Readonly<Record<string, string | number>>): string {
  const given = Object.entries(parameters).filter(([, v]) => v !== "");
  return `?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}`;
}
