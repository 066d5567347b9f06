/**
 * The link that opens the console of a local server: `#s=` and a secret. It is taken out of the address before anything else happens, so that
 * it stands in no history, and exchanged for a cookie.
 */

import { signal } from "@preact/signals";
import { openLink } from "./sign-in.ts";

const mark = "#s=";

/** What became of the link in the address, if there was one: it settles before anybody asks how to sign in. */
export const link = signal<Promise<void>>(take());

function take(): Promise<void> {
  if (!location.hash.startsWith(mark)) return Promise.resolve();
  const secret = location.hash.slice(mark.length);
  history.replaceState(history.state, "", location.pathname + location.search);
  const opened = openLink(secret);
  opened.catch(() => undefined); // told by whoever waits for it
  return opened;
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith(mark)) link.value = take();
});
