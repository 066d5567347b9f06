/**
 * JSON read as strictly as the server does (docs/spec/protocol.md, Words): one document, no member twice in one object, no
 * lone surrogate, no integer past ±(2^53 − 1), no number out of a double's range, at most 64 levels.
 */

/** A value read from a document. Objects have no prototype, so that no name means anything. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** How deep containers may nest in one value (`data`, not the frame around it). */
export const maxDepth = 64;

/** Why a document or frame was refused. Its code is always `bad_request`. */
export class BadDocument extends Error {
  override readonly name = "BadDocument";
}

/** Refuses a document. */
export function refuse(why: string): never {
  throw new BadDocument(why);
}

const gap = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: those below U+0020 must not stand in a JSON string
const plain = /[^"\\\u0000-\u001f]*/y;
const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const words: Record<string, Json> = { true: true, false: false, null: null };
const word = /true|false|null/y;

/** Reports whether a text holds half of a surrogate pair, which no UTF-8 can carry. */
export function hasLoneSurrogate(s: string): boolean {
  return /\p{Cs}/u.test(s);
}

/**
 * Reads one document. `depth` bounds the containers around any value.
 *
 * @throws BadDocument that names the place by its UTF-16 offset
 */
export function parse(text: string, depth = maxDepth): Json {
  let i = 0;
  const fail = (why: string): never => refuse(`at ${i}: ${why}`);
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = i;
    const m = pattern.exec(text);
    if (m) i += m[0].length;
    return m;
  };
  const peek = (): string | undefined => {
    take(gap);
    return text[i];
  };

  const string = (): string => {
    const from = i++;
    for (;;) {
      take(plain);
      const c = text[i];
      if (c === '"') break;
      if (c !== "\\") fail(c === undefined ? "a string doesn't end" : "a control character in a string");
      i += 2;
    }
    const quoted = text.slice(from, ++i);
    if (!quoted.includes("\\")) return quoted.slice(1, -1);
    try {
      const s: string = JSON.parse(quoted);
      return hasLoneSurrogate(s) ? fail("a lone surrogate in a string") : s;
    } catch {
      return fail("an unknown escape in a string");
    }
  };

  /** Reads the elements of a container up to its end. */
  const elements = (end: string, element: () => void): void => {
    i++;
    if (peek() === end) {
      i++;
      return;
    }
    for (;;) {
      element();
      const c = peek();
      i++;
      if (c === end) return;
      if (c !== ",") fail(`',' or '${end}' should stand here`);
    }
  };

  const value = (depth: number): Json => {
    const c = peek();
    if (c === '"') return string();
    if (c === "{" || c === "[") {
      if (depth === 0) fail(`more than ${maxDepth} levels`);
      if (c === "[") {
        const list: Json[] = [];
        elements("]", () => list.push(value(depth - 1)));
        return list;
      }
      const object: { [name: string]: Json } = Object.create(null);
      elements("}", () => {
        if (peek() !== '"') fail("a member's name should stand here");
        const name = string();
        if (name in object) fail(`member ${name.slice(0, 64)} stands twice`);
        if (peek() !== ":") fail("':' should stand here");
        i++;
        object[name] = value(depth - 1);
      });
      return object;
    }
    const n = take(number);
    if (n) return checked(n, fail);
    const w = take(word);
    return w ? (words[w[0]] as Json) : fail("a value should stand here");
  };

  if (hasLoneSurrogate(text)) fail("a lone surrogate");
  const v = value(depth);
  if (peek() !== undefined) fail("something follows the document");
  return v;
}

/**
 * The number of a match. Refused is what a double can't count: an integer past ±(2^53 − 1), as given or as ECMAScript writes
 * it (1e16 is written 10000000000000000; 1e30 stays 1e+30), and what is out of a double's range. A number too small is 0.
 */
function checked([text, fraction, exponent]: RegExpExecArray, fail: (why: string) => never): number {
  const v = Number(text);
  const integer = fraction === undefined && exponent === undefined;
  if (!Number.isFinite(v)) fail(`number ${text.slice(0, 32)} is out of a double's range`);
  if (Number.isInteger(v) && !Number.isSafeInteger(v) && (integer || Math.abs(v) < 1e21)) {
    fail(`number ${text.slice(0, 32)} is past ±(2^53 − 1)`);
  }
  return v + 0; // −0 is 0
}
