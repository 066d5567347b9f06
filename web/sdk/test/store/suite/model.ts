/** Model: what a store holds, kept in the plainest way: lists, searched from their start. */

import type {
  Added,
  Arrived,
  Body,
  Confirm,
  Counts,
  Cursor,
  Entry,
  Key,
  Limits,
  Message,
  Row,
  Rows,
  Snapshot,
} from "../../../src/store/contract.ts";
import { admit, confirmedMessage, conflict, evictable, isAside } from "../../../src/store/rule.ts";

interface ModelView {
  cursor: Cursor | undefined;
  replaced: number;
  messages: Message[];
}

export class Model {
  rows: Row[] = [];
  readonly bodies = new Map<number, Body>();
  readonly views = new Map<string, ModelView>();
  readonly limits: Limits;
  position = 0;
  feed = 0;
  evicted = 0;

  constructor(limits: Limits) {
    this.limits = limits;
  }

  find(k: Key): number {
    return this.rows.findIndex((r) => r.room === k.room && r.id === k.id);
  }

  view(room: string): ModelView {
    const v = this.views.get(room) ?? { cursor: undefined, replaced: 0, messages: [] };
    this.views.set(room, v);
    return v;
  }

  add(e: Entry): Added {
    const i = this.find(e);
    const [a, write] = admit(e, this.rows[i], this.counts().queued, this.limits.queued, this.position + 1);
    if (write && i < 0) {
      this.position++;
      this.rows.push(a.row!);
      this.bodies.set(this.position, { text: e.text, data: e.data });
    } else if (write) this.rows[i] = a.row!;
    return a;
  }

  counts(): Counts {
    const n = (...states: string[]) => this.rows.filter((r) => states.includes(r.state)).length;
    return {
      queued: n("queued", "sending"),
      sending: n("sending"),
      parked: n("parked"),
      uncertain: n("uncertain"),
      setAside: 0,
      evicted: this.evicted,
    };
  }

  confirm(c: Confirm): boolean {
    const i = this.find(c);
    if (i < 0) return false;
    const v = this.view(c.room);
    if (!v.messages.some((o) => o.messageId === c.messageId || (o.epoch === c.epoch && o.seq === c.seq))) {
      v.messages.push(confirmedMessage(c, { actor: "a", server: "s" }, this.bodies.get(this.rows[i]!.position)!));
    }
    this.rows.splice(i, 1);
    return true;
  }

  /** Replaces what is held of the messages, and settles rows. */
  arrive(v: ModelView, arrived: readonly Arrived[], now: number): void {
    for (const { fingerprint, ...a } of arrived) {
      const position = v.messages.find((o) => o.messageId === a.messageId)?.position || ++this.feed;
      v.messages = v.messages.filter((o) => o.messageId !== a.messageId && !(o.epoch === a.epoch && o.seq === a.seq));
      v.messages.push({ position, ...a });
      const i = fingerprint ? this.find({ room: a.room, id: a.clientMessageId }) : -1;
      if (i < 0) continue;
      if (this.rows[i]!.fingerprint === fingerprint) this.rows.splice(i, 1);
      else this.rows[i] = conflict(this.rows[i]!, now) ?? this.rows[i]!;
    }
  }

  advance(c: Rows): boolean {
    const v = this.views.get(c.room);
    if (!v?.cursor || JSON.stringify(v.cursor) !== JSON.stringify(c.from)) return false;
    this.arrive(v, c.messages, c.now);
    v.cursor = c.to;
    return true;
  }

  replace(c: Snapshot): void {
    const v = this.view(c.room);
    v.replaced = ++this.feed;
    v.messages = v.messages.filter(
      (o) =>
        c.messages.some((a) => a.messageId === o.messageId) ||
        (o.position === 0 && o.epoch === c.cursor.epoch && o.seq > c.cursor.after),
    );
    this.arrive(v, c.messages, c.now);
    v.cursor = c.cursor;
  }

  evict(now: number): Row[] {
    const gone = evictable(this.limits, this.rows.filter(isAside), now);
    this.rows = this.rows.filter((r) => !gone.includes(r));
    this.evicted += gone.length;
    return gone;
  }

  /** Messages of a room, or of all, that match, in an order. */
  messages(match: (m: Message) => boolean, order: (a: Message, b: Message) => number): Message[] {
    return [...this.views.values()].flatMap((v) => v.messages.filter(match)).sort(order);
  }
}
