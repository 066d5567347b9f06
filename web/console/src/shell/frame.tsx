import { useEffect } from "preact/hooks";
import { linkTo, type Panel, panels } from "../core/address.ts";
import { route } from "../core/route.ts";
import { actor, signOut } from "../core/sign-in.ts";
import { ServerPanel } from "../server/panel.tsx";
import { Mark } from "./mark.tsx";
import { ThemeButton } from "./theme-button.tsx";

const names: Readonly<Record<Panel, string>> = {
  rooms: "Rooms",
  outbox: "Outbox",
  gateway: "Gateway",
  server: "Server",
};

/** The page of somebody who is signed in: a rail with the panels, and the panel chosen. */
export function Frame() {
  const panel = route.value.panel;
  useEffect(() => {
    document.title = `${names[panel]} – Hapax`;
  }, [panel]);
  return (
    <div class="frame">
      <header class="rail">
        <p class="rail-name">
          <Mark /> <span>hapax</span>
        </p>
        <nav aria-label="Panels">
          {panels.map((p) => (
            <a key={p} href={linkTo(p)} aria-current={p === panel ? "page" : undefined}>
              {names[p]}
            </a>
          ))}
        </nav>
        <div class="rail-foot">
          <bdi class="rail-actor">{actor}</bdi>
          <ThemeButton />
          <button type="button" class="quiet" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main">{panel === "server" && <ServerPanel />}</main>
    </div>
  );
}
