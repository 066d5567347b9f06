import { ClientError } from "../errors.ts";
import { zeroId } from "../ids/id.ts";
import { canonicalOf, fingerprint } from "../protocol/canonical.ts";
import { encodeCommand } from "../protocol/encode.ts";
import type { defaultLimits, Send } from "../protocol/frames.ts";
import { hasLoneSurrogate } from "../protocol/json.ts";
import { isClientMessageId, isRoom, maxSeq, utf8Length } from "../protocol/names.ts";
import type { Body, Key } from "../store/contract.ts";

/** Content is what an app says. */
export interface Content {
  /** At most 16 KiB of UTF-8. */
  readonly text: string;
  /** Any value that JSON can say, at most 64 KiB in canonical form; undefined and null are none. */
  readonly data?: unknown;
}

/** A body as it is stored, and its fingerprint. */
export interface Checked {
  readonly body: Body;
  readonly fingerprint: string;
  /** Bytes of text and data. */
  readonly size: number;
}

/** The refusal of the zero id. */
export const zero = (): ClientError => new ClientError("zero_id", "the id 0 is never valid");

/** Refuses what can name no room. */
export function checkRoom(room: string): void {
  if (!isRoom(room)) throw new ClientError("bad_room", `not a room's name: ${JSON.stringify(room).slice(0, 200)}`);
}

/** Refuses what can name no action. */
export function checkId(id: string): void {
  if (id === zeroId) throw zero();
  if (!isClientMessageId(id)) throw new ClientError("bad_id", "not 1 to 128 printable ASCII characters");
}

/**
 * Refuses what the server would, and returns the body in canonical form.
 *
 * @throws ClientError `bad_room`, `bad_body`, `too_large`
 */
export function checkBody(key: Key, { text, data }: Content, limits: typeof defaultLimits): Checked {
  checkRoom(key.room);
  if (typeof text !== "string" || hasLoneSurrogate(text)) throw new ClientError("bad_body", "the text can't be UTF-8");
  let canonical: string;
  try {
    canonical = canonicalOf(data);
  } catch (cause) {
    throw new ClientError("bad_body", `data: ${(cause as Error).message}`, { cause });
  }
  const sizes = [utf8Length(text), utf8Length(canonical)] as const;
  const frame = utf8Length(encodeCommand(largest(key, text), canonical));
  if (sizes[0] > limits.text || sizes[1] > limits.data || frame > limits.frame) {
    const says = `${sizes[0]} bytes of text (limit ${limits.text}), ${sizes[1]} of data (limit ${limits.data})`;
    throw new ClientError("too_large", `${says}, a frame of ${frame} (limit ${limits.frame})`);
  }
  const body = { text, data: canonical };
  return { body, fingerprint: fingerprint(text, canonical), size: sizes[0] + sizes[1] };
}

/** The send command of a row with all that can ever stand in it. */
function largest({ room, id }: Key, text: string): Send {
  const ref = "s".repeat(14);
  return { type: "send", ref, room, clientMessageId: id, text, sentAt: maxSeq, follows: "~".repeat(128) };
}
