import { readFileSync } from "node:fs";

/** Texts repeated so many times, by the mark that stands for them. */
export type Fill = Record<string, [text: string, times: number]>;

/** Puts in what the marks of a text stand for. */
export function filled(text: string, fill: Fill = {}): string {
  return Object.entries(fill).reduce((s, [mark, [part, n]]) => s.replaceAll(mark, () => part.repeat(n)), text);
}

/** Reads a document given as text, or as bytes in hex: those that are no UTF-8 throw, as a WebSocket does. */
export function document(text: string, hex: string | undefined, fill?: Fill): string {
  if (hex === undefined) return filled(text, fill);
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(hex, "hex"));
}

/** The cases of a vector file of the repository, from where it is. */
export function cases<T>(path: string): T[] {
  const file = JSON.parse(readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8")) as { cases: T[] };
  if (file.cases.length < 5) throw new Error(`${path}: only ${file.cases.length} cases`);
  return file.cases;
}
