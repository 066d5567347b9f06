/**
 * What a screen reader is told: each new line once, in a log of its own. The lines that are seen are drawn and taken away as
 * they scroll, and would be read out again each time.
 */

import { signal } from "@preact/signals";
import type { Line } from "./lines.ts";
import { named } from "./visible.ts";

interface Spoken {
  readonly id: number;
  readonly who: string;
  readonly text: string;
}

const spoken = signal<readonly Spoken[]>([]);
let nextId = 1;

/** Lines that came at once beyond this are counted instead: nobody can listen to 500 a second. */
const mostAtOnce = 8;
/** Lines that stay in the log. */
const kept = 30;
/** Characters of a line that are read out; all of it stands in the room. */
const mostText = 500;

/** Reads out new lines of a room. */
export function announce(room: string, lines: readonly Line[]): void {
  const say: Omit<Spoken, "id">[] =
    lines.length > mostAtOnce
      ? [{ who: "", text: `${lines.length} new messages in ${room}` }]
      : lines.map((l) => ({ who: l.actor, text: l.text.slice(0, mostText) }));
  spoken.value = [...spoken.value, ...say.map((s) => ({ ...s, id: nextId++ }))].slice(-kept);
}

export function Announcer() {
  return (
    <div class="unseen" role="log" aria-label="New messages" aria-live="polite" aria-relevant="additions">
      {spoken.value.map((s) => (
        <p key={s.id}>
          {s.who !== "" && <bdi>{named(s.who)}: </bdi>}
          <bdi>{s.text}</bdi>
        </p>
      ))}
    </div>
  );
}
