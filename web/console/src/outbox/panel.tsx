import type { Client, Row, Store } from "@hapax/client";
import { useEffect } from "preact/hooks";
import { linkTo } from "../core/address.ts";
import { now } from "../core/clock.ts";
import { complain, counts, touchOutbox } from "../core/hapax.ts";
import { standing } from "../core/reasons.ts";
import { bytes, count, preciseTime, wait } from "../core/text.ts";
import { named, visible } from "../rooms/visible.ts";
import { exportOutbox } from "./export.ts";
import { further, limit, type Shown, shown, watchOutbox } from "./rows.ts";
import { StorageFacts } from "./storage.tsx";

interface OutboxProps {
  readonly client: Client;
}

/** Everything that the server hasn't confirmed, laid open. */
export function OutboxPanel({ client, store }: OutboxProps & { readonly store: Store }) {
  useEffect(() => watchOutbox(client, store), [client, store]);
  const list = shown.value;
  return (
    <section class="panel" aria-labelledby="outbox-title">
      <header class="panel-head">
        <h1 id="outbox-title" tabIndex={-1}>
          Outbox
        </h1>
        <p class="muted">what was said and is not yet known to be stored by the server</p>
        <button type="button" class="end" onClick={() => exportOutbox(client)} disabled={!list?.length}>
          Export
        </button>
      </header>
      <Figures />
      {list?.length === 0 && <p class="muted">Empty: the server has everything.</p>}
      {list !== undefined && list.length > 0 && <Rows client={client} list={list} />}
      {further.value && (
        <p>
          <button type="button" onClick={() => (limit.value += 500)}>
            Show more
          </button>
        </p>
      )}
      <StorageFacts />
    </section>
  );
}

function Figures() {
  const n = counts.value;
  if (n === undefined) return null;
  const facts: readonly (readonly [string, number])[] = [
    ["queued", n.queued - n.sending],
    ["sending", n.sending],
    ["parked", n.parked],
    ["uncertain", n.uncertain],
    ["unreadable", n.setAside],
    ["evicted", n.evicted],
  ];
  return (
    <dl class="facts" aria-label="Rows by state">
      {facts.map(([name, value]) => (
        <div key={name} class={value === 0 ? "none" : ""}>
          <dt>{name}</dt>
          <dd>{count(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Rows({ client, list }: OutboxProps & { readonly list: readonly Shown[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table must scroll by keys, too
    <section class="wide" tabIndex={0} aria-label="Rows of the outbox">
      <table class="plain rows">
        <thead>
          <tr>
            <th scope="col">Room</th>
            <th scope="col">Message</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Attempts
            </th>
            <th scope="col">Next try</th>
            <th scope="col">Queued</th>
            <th scope="col">
              <span class="unseen">What to do</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {list.map((s) => (
            <OutboxRow key={s.row.position} client={client} {...s} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function OutboxRow({ client, row, text }: OutboxProps & Shown) {
  const s = standing(row);
  const act = (what: "retry" | "cancel" | "discard") => async () => {
    try {
      await client[what](row.room, row.id);
    } catch (e) {
      complain(e);
    }
    touchOutbox();
  };
  const excerpt = visible(text.slice(0, 120));
  return (
    <tr class={s.word} data-row={row.id}>
      <td>
        <a href={linkTo("rooms", row.room)}>
          <bdi>{named(row.room)}</bdi>
        </a>
      </td>
      <td class="excerpt">
        <bdi>{excerpt || <span class="muted">no text</span>}</bdi>
        <code class="muted">
          {row.id} · {bytes(row.size)}
        </code>
      </td>
      <td>
        <b>{s.word}</b>
        {s.why !== "" && <span class="why">{s.why}</span>}
      </td>
      <td class="number">{row.attempts}</td>
      <td>{nextTry(row)}</td>
      <td>{preciseTime(row.queuedAt)}</td>
      <td class="actions">
        {s.retry && (
          <button type="button" onClick={act("retry")} aria-label={`Retry: ${excerpt}`}>
            {s.word === "uncertain" ? "Send again" : "Retry"}
          </button>
        )}
        {s.cancel && (
          <button type="button" onClick={act("cancel")} aria-label={`Cancel: ${excerpt}`}>
            Cancel
          </button>
        )}
        {s.discard && (
          <button type="button" class="quiet" onClick={act("discard")} aria-label={`Discard: ${excerpt}`}>
            Discard
          </button>
        )}
      </td>
    </tr>
  );
}

function nextTry(row: Row) {
  if (row.state !== "queued" || row.reason !== "") return <span class="muted">–</span>;
  now.value; // counts down with the page's clock; the row's own time is the machine's
  const left = row.interval > 0 ? row.lastAttemptAt + row.interval - Date.now() : 0;
  return left > 0 ? `in ${wait(Math.min(left, row.interval))}` : "when its turn comes";
}
