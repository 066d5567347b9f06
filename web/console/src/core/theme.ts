/** Light or dark: as the system has it, until the reader says otherwise. */

import { effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";

const place = "hapax.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

const chosen = signal<Theme | undefined>(read());
const system = signal<Theme>(dark.matches ? "dark" : "light");

/** What is shown now. */
export function theme(): Theme {
  return chosen.value ?? system.value;
}

/** Turns the other one on. The one that the system has is followed again from then on. */
export function toggleTheme(): void {
  const next = theme() === "dark" ? "light" : "dark";
  chosen.value = next === system.value ? undefined : next;
  try {
    if (chosen.value === undefined) localStorage.removeItem(place);
    else localStorage.setItem(place, chosen.value);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

/** Keeps the page's theme as chosen. */
export function followTheme(): void {
  dark.addEventListener("change", () => {
    system.value = dark.matches ? "dark" : "light";
  });
  effect(() => {
    if (chosen.value === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen.value;
  });
}

function read(): Theme | undefined {
  try {
    const text = localStorage.getItem(place);
    return text === "light" || text === "dark" ? text : undefined;
  } catch {
    return undefined;
  }
}
