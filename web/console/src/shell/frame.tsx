import { useEffect } from "preact/hooks";
import { linkTo, type Panel, panels } from "../core/address.ts";
import { close, connection, counts, drains, open, opened } from "../core/hapax.ts";
import { askToLeave } from "../core/leave.ts";
import { route } from "../core/route.ts";
import { actor } from "../core/sign-in.ts";
import { GatewayPanel } from "../gateway/panel.tsx";
import { OutboxPanel } from "../outbox/panel.tsx";
import { Announcer } from "../rooms/announcer.tsx";
import { current, followRoute } from "../rooms/current.ts";
import { watchRooms } from "../rooms/list.ts";
import { RoomsPanel } from "../rooms/panel.tsx";
import { openSeen } from "../rooms/seen.ts";
import { named } from "../rooms/visible.ts";
import { ServerPanel } from "../server/panel.tsx";
import { ConnectionState } from "./connection.tsx";
import { LeaveQuestion } from "./leave.tsx";
import { Mark } from "./mark.tsx";
import { Closed, Notices } from "./notices.tsx";
import { Switches } from "./switches.tsx";
import { ThemeButton } from "./theme-button.tsx";

const names: Readonly<Record<Panel, string>> = {
  rooms: "Rooms",
  outbox: "Outbox",
  gateway: "Gateway",
  server: "Server",
};

/** The page of somebody who is signed in: a rail with the panels, and the panel chosen. */
export function Frame() {
  const who = actor.value;
  const { panel, room } = route.value;
  const ready = opened.value.as === "ready" ? opened.value : undefined;
  const client = ready?.client;
  useEffect(() => {
    openSeen(who);
    void open();
    return () => void close();
  }, [who]);
  useEffect(() => {
    if (ready === undefined) return;
    const ends = [watchRooms(ready.store), followRoute(ready.client, ready.store)];
    return () => {
      for (const end of ends) end();
    };
  }, [client]);
  useEffect(() => {
    document.title = `${panel === "rooms" && room !== "" ? room : names[panel]} – Hapax`;
  }, [panel, room]);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        To the content
      </button>
      <header class="rail">
        <p class="rail-name">
          <Mark /> <span>hapax</span>
        </p>
        <nav aria-label="Panels">
          {panels.map((p) => (
            <a
              key={p}
              href={linkTo(p, p === "rooms" && panel !== "rooms" ? (current.value?.room ?? "") : "")}
              aria-current={p === panel ? "page" : undefined}
            >
              {names[p]}
              {p === "outbox" && <OutboxBadge />}
            </a>
          ))}
        </nav>
        <ConnectionState connection={connection.value} here={drains.value} />
        <Switches />
        <div class="rail-foot">
          <bdi class="rail-actor">{named(who)}</bdi>
          <ThemeButton />
          <button type="button" class="quiet" onClick={askToLeave}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Notices />
        {panel === "server" && <ServerPanel />}
        {panel === "gateway" && <GatewayPanel />}
        {(panel === "rooms" || panel === "outbox") && client === undefined && <Closed />}
        {panel === "rooms" && client !== undefined && <RoomsPanel client={client} />}
        {panel === "outbox" && ready !== undefined && <OutboxPanel client={ready.client} store={ready.store} />}
      </main>
      <LeaveQuestion />
      <Announcer />
    </div>
  );
}

function OutboxBadge() {
  const n = counts.value;
  if (n === undefined) return null;
  const stuck = n.parked + n.uncertain;
  const all = n.queued + stuck;
  if (all === 0) return null;
  return <span class={`badge${stuck > 0 ? " stuck" : ""}`}>{all}</span>;
}
