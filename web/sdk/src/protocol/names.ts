import { defaultLimits } from "./generated/wire.ts";
import { hasLoneSurrogate } from "./json.ts";

/** The greatest seq that a room can reach, 2^53 − 1, so that a seq is exact in every JSON reader. */
export const maxSeq = Number.MAX_SAFE_INTEGER;

/** Bounds, in bytes, names that no limits announce: an epoch, a messageId, an actor, a client's name for logs. */
export const maxName = 128;

/** How many bytes a text has in UTF-8. */
export function utf8Length(s: string): number {
  let n = s.length;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c > 0x7f) n += c > 0x7ff && (c < 0xd800 || c > 0xdfff) ? 2 : 1; // each half of a pair is two of its four bytes
  }
  return n;
}

/** Whether s is well-formed and holds no control character. */
function isName(s: string): boolean {
  return s !== "" && utf8Length(s) <= maxName && !/\p{Cc}/u.test(s) && !hasLoneSurrogate(s);
}

/** Whether a name can name a room: 1 to 128 bytes of UTF-8 without control characters. */
export const isRoom: (name: string) => boolean = isName;

/** Whether a name can name an actor: as a room's. */
export const isActor: (name: string) => boolean = isName;

/**
 * Whether an id can name an action: 1 to 128 bytes of printable ASCII (0x21–0x7E) without `"` and `\`, and not the SDKs' id
 * zero.
 */
export function isClientMessageId(id: string): boolean {
  return /^[!#-[\]-~]+$/.test(id) && id.length <= defaultLimits.clientId && !/^0{32}$/.test(id);
}

/** How far a client holds a room without a gap. One value; it changes only as a whole. */
export interface Cursor {
  readonly epoch: string;
  /** The seq of the last row, 0 for none. */
  readonly after: number;
  /** The messageId of that row, empty for none. */
  readonly messageId: string;
}

/** Whether a cursor can be right. (epoch, 0, "") is that of an empty room. */
export function isCursor({ epoch, after, messageId }: Cursor): boolean {
  return (
    epoch !== "" &&
    utf8Length(epoch) <= maxName &&
    Number.isSafeInteger(after) &&
    after >= 0 &&
    utf8Length(messageId) <= maxName &&
    (after === 0) === (messageId === "")
  );
}
