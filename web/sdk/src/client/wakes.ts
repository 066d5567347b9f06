/** Calls f when the page comes to the front or the network comes back; does nothing where neither is told of. */
export function browserWakes(f: () => void): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const document = globalThis.document as Document | undefined;
  document?.addEventListener("visibilitychange", () => document.visibilityState === "visible" && f(), { signal });
  globalThis.addEventListener?.("online", f, { signal });
  return () => ended.abort();
}
