import { canonical } from "./canonical.ts";
import type { Content, ServerFrame } from "./frames.ts";
import { defaultLimits, eventShapes, rowShape } from "./generated/wire.ts";
import { type Json, maxDepth, parse, refuse } from "./json.ts";
import { isActor, isClientMessageId, isCursor, isRoom, utf8Length } from "./names.ts";

/** Bounds of a welcome's features. */
const maxFeatures = 64;
const maxFeature = 64;

/** An object of a document. */
export type Members = { readonly [name: string]: Json };

/** The most containers around a row's data: frame, list, row. */
const aroundRows = 3;

const kinds: Record<string, readonly [says: string, is: (v: Json) => boolean]> = {
  s: ["a string", (v) => typeof v === "string"],
  i: ["an integer", (v) => Number.isSafeInteger(v)],
  b: ["true or false", (v) => typeof v === "boolean"],
  o: ["an object", isObject],
  a: ["an array", Array.isArray],
  "*": ["any value", () => true],
};

function isObject(v: Json | undefined): v is { [name: string]: Json } {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

/** Holds an object against a shape. Other members are unknown to it and ignored. */
export function checkShape(o: Members, shape: Readonly<Record<string, string>>, where = ""): void {
  for (const name in shape) {
    const [kind, optional] = shape[name] as string;
    const v = o[name];
    const [says, is] = kinds[kind as string]!;
    if (v === undefined ? !optional : !is(v))
      refuse(`${where}${name} ${v === undefined ? "is missing" : `must be ${says}`}`);
  }
}

/** Reads the object of a frame, and its type. `around` is how many containers may be around data. */
export function readFrame(frame: string, around = aroundRows): readonly [type: string, members: Members] {
  const o = parse(frame, maxDepth + around);
  if (!isObject(o)) refuse("a frame must be an object");
  if (typeof o.type !== "string") refuse("type must be a string");
  return [o.type, o];
}

/** The members of a shape alone. */
export function only(o: Members, shape: Readonly<Record<string, string>>): { [name: string]: Json } {
  const out: { [name: string]: Json } = {};
  for (const name in shape) if (o[name] !== undefined) out[name] = o[name];
  return out;
}

/** Canonical data, empty for none. */
export function dataOf(v: Json | undefined): string {
  return v === undefined || v === null ? "" : canonical(v);
}

/**
 * Reads one frame of a server strictly: exact names, no member twice, one document. A frame of a type that version 1 doesn't
 * know gives an Unknown, which moves nothing.
 *
 * @throws BadDocument for what no server of version 1 sends, and what would put a cursor, a clock or an outbox wrong
 */
export function decodeFrame(frame: string): ServerFrame {
  const [named, o] = readFrame(frame);
  const shape = Object.hasOwn(eventShapes, named) && eventShapes[named];
  if (!shape) return { type: "unknown", named, ref: typeof o.ref === "string" ? o.ref : undefined };
  checkShape(o, shape);
  const e = only(o, shape) as { [name: string]: Json } & ServerFrame;
  if (e.type === "message") return { type: "message", ref: e.ref, message: rowOf(o, o) };
  if ("messages" in e) (e as { messages: unknown }).messages = (o.messages as Json[]).map((r, n) => listed(r, n, o));
  if (e.type === "welcome") {
    const w = e as { limits: unknown; features?: unknown };
    w.limits = limitsOf(o.limits as Members);
    const features = featuresOf((o.features ?? []) as Json[]);
    if (features.length > 0) w.features = features;
    else delete w.features;
  }
  checkValues(e);
  return e;
}

function limitsOf(announced: Members): unknown {
  const shape = Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, "i?"]));
  checkShape(announced, shape, "limits.");
  return { ...defaultLimits, ...only(announced, shape) };
}

/** What the server announces. A name that no client can know is passed over, as is one too many. */
function featuresOf(names: readonly Json[]): Json[] {
  if (names.some((n) => typeof n !== "string")) refuse("features must be an array of names");
  return names.filter((n) => n !== "" && utf8Length(n as string) <= maxFeature).slice(0, maxFeatures);
}

function listed(row: Json, n: number, frame: Members): Content {
  const where = `messages[${n}]: `;
  if (!isObject(row)) return refuse(`${where}must be an object`);
  checkShape(row, rowShape, where);
  return rowOf(row, frame);
}

/** A row, completed by what its frame names. */
function rowOf(row: Members, frame: Members): Content {
  const m = {
    ...(only(row, rowShape) as object),
    room: frame.room,
    epoch: frame.epoch,
    clientMessageId: row.clientMessageId ?? "",
    data: dataOf(row.data),
  } as Content;
  const named = m.clientMessageId === "" || isClientMessageId(m.clientMessageId);
  if (m.seq < 1 || !m.messageId || !m.epoch || !isRoom(m.room) || !isActor(m.actor) || !named) {
    refuse("a row must have a seq above 0, a room, an epoch, a messageId and a valid actor");
  }
  return m;
}

function checkValues(e: ServerFrame): void {
  const { room, clientMessageId: id } = e as { room?: string; clientMessageId?: string };
  if ((room && !isRoom(room)) || (id && !isClientMessageId(id))) {
    refuse("room or clientMessageId is not a valid name");
  }
  const [sound, what] = needs(e);
  if (!sound) refuse(`${e.type} must have ${what}`);
}

/** What a frame must say beside its shape, and whether it does. */
function needs(e: ServerFrame): readonly [sound: unknown, what: string] {
  switch (e.type) {
    case "welcome": {
      const { retentionMs } = e.dedupe as { retentionMs?: unknown };
      const times = Number.isSafeInteger(retentionMs) && (retentionMs as number) >= 0 && e.serverTime >= 0;
      return [e.epoch && e.server && isActor(e.actor) && times, "actor, server, epoch, serverTime, dedupe.retentionMs"];
    }
    case "ack":
      return [
        e.seq > 0 && e.room && e.epoch && e.messageId && e.clientMessageId,
        "a seq above 0, room, epoch, messageId, clientMessageId",
      ];
    case "snapshot":
    case "delta":
      return [
        e.room && isCursor({ epoch: e.epoch, after: e.head, messageId: e.headId }),
        "a room, and epoch, head, headId that are a cursor",
      ];
    case "page":
      return [e.room && e.epoch, "a room and an epoch"];
    case "subscribed":
    case "unsubscribed":
      return [e.room, "a room"];
    case "error":
      return [e.code && (e.retryAfterMs ?? 0) >= 0, "a code, and no negative retryAfterMs"];
  }
  return [true, ""];
}
