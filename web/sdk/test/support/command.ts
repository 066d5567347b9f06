/** The other end's strict reading of a client's frames: what a server does (docs/spec/protocol.md, Judging 1). */

import { checkShape, dataOf, type Members, only, readFrame } from "../../src/protocol/decode.ts";
import { commandShapes, defaultLimits } from "../../src/protocol/generated/wire.ts";
import { BadDocument, type Json, refuse } from "../../src/protocol/json.ts";
import { isClientMessageId, isRoom, maxName, utf8Length } from "../../src/protocol/names.ts";

type Bounds = typeof defaultLimits;

/** Why a command was refused. */
export class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const tooLarge = (what: string): never => {
  throw new Refusal("too_large", what);
};

/** Reads a command; `data` is its canonical form. */
export function decodeCommand(frame: string, l: Bounds = defaultLimits): { [name: string]: Json } & { data?: string } {
  if (utf8Length(frame) > l.frame) tooLarge("frame");
  try {
    const [type, o] = readFrame(frame, 1);
    const shape = Object.hasOwn(commandShapes, type)
      ? commandShapes[type]!
      : refuse(`type ${type.slice(0, 32)} is not a command`);
    checkShape(o, shape);
    const c = only(o, shape) as { [name: string]: Json } & { data?: string };
    if ("data" in c) {
      const data = dataOf(o.data);
      if (data === "") delete c.data;
      else c.data = data;
    }
    if (c.ref === "") delete c.ref;
    if (c.live === true) delete c.live;
    checkValues(c, l);
    if (c.cursor) c.cursor = only(c.cursor as Members, cursorShape);
    return c;
  } catch (e) {
    throw e instanceof BadDocument ? new Refusal("bad_request", e.message) : e;
  }
}

function checkValues(c: { [name: string]: Json }, l: Bounds): void {
  const text = (name: string, sound: (s: string) => boolean): void => {
    const v = c[name];
    if (typeof v === "string" && !sound(v)) refuse(`${name} is not valid`);
  };
  const integer = (name: string, least: number, most: number): void => {
    const v = c[name];
    if (typeof v === "number" && (v < least || v > most)) refuse(`${name} must be from ${least} to ${most}`);
  };
  text("ref", (s) => utf8Length(s) <= l.ref);
  text("token", (s) => s !== "");
  text("client", (s) => utf8Length(s) <= maxName && !/\p{Cc}/u.test(s));
  text("room", isRoom);
  text("clientMessageId", isClientMessageId);
  text("follows", (s) => isClientMessageId(s) && s !== c.clientMessageId);
  integer("sentAt", 1, Number.MAX_SAFE_INTEGER);
  integer("maxBytes", 1, Number.MAX_SAFE_INTEGER);
  checkCursor(c.cursor);
  integer("before", 0, Number.MAX_SAFE_INTEGER);
  if (c.type === "history") integer("limit", 1, l.pageRows);
  else integer("limit", 0, l.snapshotRows);
  if (typeof c.text === "string" && utf8Length(c.text) > l.text) tooLarge("text");
  if (typeof c.data === "string" && utf8Length(c.data) > l.data) tooLarge("data");
}

const cursorShape = { epoch: "s", after: "i", messageId: "s" };

function checkCursor(v: Json | undefined): void {
  if (v === undefined) return;
  const o = v as Members;
  checkShape(o, cursorShape, "cursor.");
  const long = utf8Length(o.epoch as string) > maxName || utf8Length(o.messageId as string) > maxName;
  if (o.epoch === "" || (o.after as number) < 0 || long) refuse("cursor must have an epoch, an after and a messageId");
}
