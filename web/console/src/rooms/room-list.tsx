import { useSignal } from "@preact/signals";
import { linkTo } from "../core/address.ts";
import { go, route } from "../core/route.ts";
import { count } from "../core/text.ts";
import { listed, listFault, noteRoom, rooms } from "./list.ts";
import { seenOf } from "./seen.ts";
import { named } from "./visible.ts";

/** The rooms, with what is new in each, and a line to open another by its name. */
export function RoomList() {
  const name = useSignal("");
  const open = () => {
    const room = name.value.trim();
    if (room === "") return;
    noteRoom(room, 0);
    name.value = "";
    go(linkTo("rooms", room));
  };
  return (
    <nav class="rooms-list" aria-label="Rooms">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          open();
        }}
      >
        <label class="unseen" for="room-name">
          Open a room by its name
        </label>
        <input
          id="room-name"
          dir="auto"
          placeholder="Open a room…"
          maxLength={128}
          autocomplete="off"
          value={name.value}
          onInput={(e) => (name.value = e.currentTarget.value)}
        />
      </form>
      {listFault.value !== "" && <p class="hint">The list may be old: {listFault}.</p>}
      {listed.value && rooms.value.length === 0 && (
        <p class="hint">There is no room yet. Name one, and say something.</p>
      )}
      <ul>
        {rooms.value.map((r) => (
          <li key={r.room}>
            <Entry room={r.room} head={r.head} />
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Entry({ room, head }: { readonly room: string; readonly head: number }) {
  const here = route.value.room === room;
  const seen = seenOf(room);
  const fresh = here || seen === undefined ? 0 : Math.max(0, head - seen);
  return (
    <a href={linkTo("rooms", room)} aria-current={here ? "page" : undefined} class={fresh > 0 ? "fresh" : ""}>
      <bdi>{named(room)}</bdi>
      {fresh > 0 && (
        <span class="badge">
          {count(fresh)}
          <span class="unseen"> new</span>
        </span>
      )}
    </a>
  );
}
