/** What the page shows, held in the address, so that a link, a reload and the back button work. */

import { signal } from "@preact/signals";
import { parseRoute, type Route } from "./address.ts";

export const route = signal<Route>(parseRoute(location.hash));

/** Goes there before anything else happens: what is typed next finds what was asked for. */
export function go(link: string): void {
  location.hash = link;
  route.value = parseRoute(location.hash);
}

addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash);
});
