/**
 * Who uses the page: by a token, or, where the server runs with --dev and its link was opened in this browser, by a name for which it signs one.
 */

import { computed, signal } from "@preact/signals";
import { ask } from "./api.ts";
import { readMark, writeMark } from "./mark.ts";

type Way =
  | { readonly way: "name"; readonly actor: string }
  | { readonly way: "token"; readonly actor: string; readonly token: string };

/** A person who is signed in, and how often they had signed out of this browser before. */
export type Identity = Way & { readonly outs: number };

const place = "hapax.identity";

/** Undefined while nobody is signed in. */
export const identity = signal<Identity | undefined>(remembered());
/** The actor, "" while nobody is signed in. */
export const actor = computed(() => identity.value?.actor ?? "");

/** The ways that the server offers; "link" says that its link has to be opened first. */
export async function ways(): Promise<ReadonlySet<string>> {
  return new Set((await ask<{ ways: string[] }>("/v1/sign-in", { cookie: true })).ways);
}

/** Exchanges the secret of the link that `hapax serve` and `hapax link` print for a cookie. */
export async function openLink(secret: string): Promise<void> {
  await ask("/v1/dev/link", { method: "POST", body: { secret }, cookie: true });
}

interface Issued {
  readonly actor: string;
  readonly token: string;
  readonly expires: number;
}

let issued: Issued | undefined;

/** Gives a token to use now; of a name it is signed anew once half an hour is left. */
export async function token(): Promise<string> {
  const who = identity.value;
  if (who === undefined) throw new Error("nobody is signed in");
  if (who.way === "token") return who.token;
  if (issued?.actor !== who.actor || issued.expires - Date.now() < 30 * 60_000) {
    issued = await askByName(who.actor);
  }
  return issued.token;
}

/** Says that the token given last isn't taken any more, and whether there is a way to another. */
export function tokenRefused(): boolean {
  issued = undefined;
  return identity.peek()?.way === "name";
}

function askByName(name: string): Promise<Issued> {
  return ask<Issued>("/v1/dev/session", { method: "POST", body: { name }, cookie: true });
}

/** Signs in by a name. Rejects where the server doesn't, or doesn't like the name. */
export async function signInByName(name: string): Promise<void> {
  issued = await askByName(name);
  keep({ way: "name", actor: issued.actor }, true);
}

/** Signs in by a token. Rejects one that the server refuses. */
export async function signInByToken(given: string, stay: boolean): Promise<void> {
  const trimmed = given.trim();
  const subject = subjectOf(trimmed);
  if (subject === undefined) throw new Error("that is no token: three parts with dots between are expected");
  await ask("/v1/rooms?limit=1", { token: trimmed });
  keep({ way: "token", actor: subject, token: trimmed }, stay);
}

/** Forgets who is signed in, here and for the next visit. */
export function signOut(): void {
  issued = undefined;
  const who = actor.peek();
  for (const storage of storages()) if (readIdentity(storage.getItem(place)).actor === who) storage.removeItem(place);
  identity.value = undefined;
}

function keep(way: Way, stay: boolean): void {
  const [session, lasting] = storages();
  const { outs, ins } = readMark(way.actor);
  writeMark(way.actor, { ins: ins + 1 });
  const who = { ...way, outs };
  try {
    (stay ? lasting : session)?.setItem(place, JSON.stringify(who));
  } catch {
    // Full: whoever it is stays signed in as long as this page, and is asked again at the next visit.
  }
  identity.value = who;
}

function remembered(): Identity | undefined {
  for (const storage of storages()) {
    const who = readIdentity(storage.getItem(place));
    if (!who.actor) continue;
    const outs = Number(who.outs ?? 0);
    if (readMark(who.actor).outs > outs) continue; // signed out in another tab, while this one was closed
    if (who.way === "name") return { way: "name", actor: who.actor, outs };
    if (who.way === "token" && who.token) return { way: "token", actor: who.actor, token: who.token, outs };
  }
  return undefined;
}

/** What a storage holds of an identity; nothing where it holds something else, as any page of this origin may write there. */
function readIdentity(text: string | null): Partial<Record<string, string>> {
  try {
    const who: unknown = JSON.parse(text ?? "{}");
    return typeof who === "object" && who !== null ? who : {};
  } catch {
    return {};
  }
}

/** The tab's storage and the browser's, as far as the browser lets the page have them. */
function storages(): Storage[] {
  const found: Storage[] = [];
  for (const name of ["sessionStorage", "localStorage"] as const) {
    try {
      found.push(globalThis[name]);
    } catch {
      // Blocked by a setting: the page works, and asks who it is at the next visit.
    }
  }
  return found;
}

/** Reads whom a token speaks for, so that each actor has a store of their own. The server alone judges whether it is good. */
export function subjectOf(jwt: string): string | undefined {
  const parts = jwt.split(".");
  if (parts.length !== 3) return undefined;
  try {
    const bytes = Uint8Array.from(atob(parts[1]!.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as { sub?: unknown };
    return typeof claims.sub === "string" && claims.sub !== "" ? claims.sub : undefined;
  } catch {
    return undefined;
  }
}
