/** Shows control characters as the pictures that Unicode has for them: unseen, they could make a text look like another. */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return text.replace(/[\u0000-\u0008\u000B-\u001F\u007F]/g, (c) =>
    c === "\u007F" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)),
  );
}
