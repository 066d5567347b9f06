/** The page's own sense of time: monotonic, so that a machine's clock may be set without a countdown going wrong. */

import { signal } from "@preact/signals";

/** Monotonic now, ms. Renewed every second while the page is in sight. */
export const now = signal(performance.now());

setInterval(() => {
  if (!document.hidden) now.value = performance.now();
}, 1000);

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = performance.now();
});

/**
 * Calls f once soon: with the next frame, or, where the page is out of sight and has no frames, a little later. Further calls
 * before that are one.
 */
export function gather(f: () => void): () => void {
  let waiting = false;
  const run = () => {
    waiting = false;
    f();
  };
  return () => {
    if (waiting) return;
    waiting = true;
    if (document.hidden) setTimeout(run, 200);
    else requestAnimationFrame(run);
  };
}
