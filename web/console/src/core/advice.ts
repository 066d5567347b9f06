import { isStoreError } from "@hapax/client";

/** What a store that failed asks of the reader; any other error as it is. */
export function advice(error: unknown): unknown {
  if (isStoreError(error, "closed"))
    return "The browser took this page's storage away, and messages that waited in it are lost. Load the page again to go on.";
  if (isStoreError(error, "unavailable"))
    return "The browser closed this page's storage and doesn't open it. It is tried again by itself; free some disk space, or load the page again.";
  return error;
}
