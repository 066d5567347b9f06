/** Bytes as text. */

/** Bytes as lower-case hex digits. */
export const hex = (b: Uint8Array): string => Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("");

/** A value as JSON, bytes in base64. */
export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, v) => (v instanceof Uint8Array ? { base64: btoa(String.fromCharCode(...v)) } : v)) ??
  "null";
