/** Shows control characters as the pictures that Unicode has for them: unseen, they could make a text look like another. */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return text.replace(/[\u0000-\u0008\u000B-\u001F\u007F]/g, (c) =>
    c === "\u007F" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)),
  );
}

/**
 * A name as it is: what turns its direction, takes no place or ends a line is written as an escape, so that two names that look the same are
 * the same.
 */
export function named(name: string): string {
  return name.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (c) => `\\u${c.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
}
