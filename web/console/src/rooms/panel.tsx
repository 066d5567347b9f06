import type { Client } from "@hapax/client";
import { linkTo } from "../core/address.ts";
import { route } from "../core/route.ts";
import { Composer } from "./composer.tsx";
import { current } from "./current.ts";
import { RoomList } from "./room-list.tsx";
import { Stream } from "./stream.tsx";
import type { RoomView } from "./view.ts";
import { named } from "./visible.ts";

/** The rooms: their list, and the one that is open. */
export function RoomsPanel({ client }: { readonly client: Client }) {
  const { room } = route.value;
  const view = current.value?.room === room ? current.value : undefined;
  return (
    <div class={`rooms${room === "" ? "" : " in-room"}`}>
      <RoomList />
      {view !== undefined && <Room key={view.room} client={client} view={view} />}
      {view === undefined && <Empty room={room} />}
    </div>
  );
}

function Empty({ room }: { readonly room: string }) {
  return (
    <section class="room empty">
      <h1 tabIndex={-1}>Rooms</h1>
      <p class="muted">
        {room === ""
          ? "Choose a room, or name a new one."
          : "No room can be named so: a name has 1 to 128 bytes, without control characters."}
      </p>
    </section>
  );
}

function Room({ client, view }: { readonly client: Client; readonly view: RoomView }) {
  return (
    <section class="room" aria-labelledby="room-title">
      <header class="room-head">
        <a class="back" href={linkTo("rooms")} aria-label="All rooms">
          ‹
        </a>
        <h1 id="room-title" tabIndex={-1}>
          <bdi>{named(view.room)}</bdi>
        </h1>
        <Notes view={view} />
      </header>
      <Stream client={client} view={view} />
      <Composer client={client} view={view} />
    </section>
  );
}

function Notes({ view }: { readonly view: RoomView }) {
  return (
    <p class="room-notes" role="status">
      {view.denied.value !== "" && (
        <span class="fault">The server doesn't show you this room ({view.denied.value.replaceAll("_", " ")}).</span>
      )}
      {view.replacements.value > 0 && (
        <span class="note">The server began a new history; what you see is its own.</span>
      )}
    </p>
  );
}
