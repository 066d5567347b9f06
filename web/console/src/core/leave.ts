/** Signing out: in this tab, in the actor's other ones, and of what the browser keeps. */

import type { Client } from "@hapax/client";
import { signal } from "@preact/signals";
import { draftsOf } from "../rooms/drafts.ts";
import { close, complain, opened } from "./hapax.ts";
import { type Mark, markPlace, readMark, unwiped, type Wipe, writeMark } from "./mark.ts";
import { actor, identity, signOut } from "./sign-in.ts";
import { settleWipe, waitingOf, wipe } from "./wipe.ts";

/** What the reader loses or keeps by signing out, and so is asked about. */
export interface Waiting {
  /** Messages that wait to be sent. */
  readonly rows: number;
  /** Stores that can't be read, so that nobody knows what waits in them. */
  readonly damaged: number;
  /** Rooms with a text that was written and not sent. */
  readonly drafts: number;
  /** What waits can be kept: it stands in the browser's storage. */
  readonly lasting: boolean;
}

/** The question that is put to the reader, undefined while there is none. */
export const asked = signal<Waiting | undefined>(undefined);
/** Why something of before could not be wiped; "" where all is. */
export const wipeFault = signal("");

/** Signs out, or asks first, where something waits. */
export async function askToLeave(): Promise<void> {
  const who = actor.peek();
  const now = opened.peek();
  const lasting = now.as !== "ready" || now.lasting;
  const stored = await waitingOf(who);
  const here = lasting || now.as !== "ready" ? 0 : await inMemory(now.client);
  const waiting = { rows: stored.rows + here, damaged: stored.damaged, drafts: draftsOf(who), lasting };
  if (actor.peek() !== who) return;
  if (waiting.rows + waiting.damaged + waiting.drafts > 0) asked.value = waiting;
  else await leave("keep"); // a row that comes this very moment isn't lost
}

async function inMemory(client: Client): Promise<number> {
  const { queued, parked, uncertain } = await client.counts();
  return queued + parked + uncertain;
}

/** Signs out of all tabs. What is to become of the outbox is noted before anything is done, so that it is done also if this tab dies now. */
export async function leave(how: Wipe): Promise<void> {
  const who = actor.peek();
  const { outs, ins } = readMark(who);
  writeMark(who, { outs: outs + 1, how, done: false });
  await go(who, { ins, how });
}

async function go(who: string, mark: Pick<Mark, "ins" | "how">): Promise<void> {
  asked.value = undefined;
  signOut();
  await close().catch(complain); // its store is closed all the same
  await told(wipe(who, mark));
}

/** Ends every wipe that was cut short. */
export async function settleWipes(): Promise<void> {
  for (const who of unwiped()) await told(settleWipe(who));
}

async function told(wiping: Promise<void>): Promise<void> {
  try {
    await wiping;
    wipeFault.value = "";
  } catch (e) {
    wipeFault.value = `What this browser keeps of the last reader isn't all deleted yet: ${(e as Error).message}. It is tried again when this page is loaded.`;
  }
}

/** Follows a sign-out in another tab, also one that happened while this one was asleep. */
function follow(): void {
  const who = identity.peek();
  if (who === undefined) return;
  const mark = readMark(who.actor);
  if (mark.outs > who.outs) void go(who.actor, mark);
}

addEventListener("storage", (e) => {
  if (e.key === null || e.key === markPlace(actor.peek())) follow();
});
addEventListener("pageshow", follow);
addEventListener("visibilitychange", follow);
