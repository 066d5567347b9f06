import { theme, toggleTheme } from "../core/theme.ts";

export function ThemeButton() {
  const dark = theme() === "dark";
  return (
    <button type="button" class="quiet icon" onClick={toggleTheme} aria-label={dark ? "Light theme" : "Dark theme"}>
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <circle cx="10" cy="10" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6" />
        <path d={dark ? "M10 3.8a6.2 6.2 0 0 1 0 12.4z" : "M10 3.8a6.2 6.2 0 0 0 0 12.4z"} fill="currentColor" />
      </svg>
    </button>
  );
}
