import { isStoreError } from "@hapax/client";
import { connection, open, openAnother, opened, reset, troubles } from "../core/hapax.ts";
import { exportOutbox } from "../outbox/export.ts";

/** What the reader must know, whichever panel is open. */
export function Notices() {
  const now = opened.value;
  const wrongStore = codeOf(connection.value.error) === "wrong_store";
  return (
    <section class="notices" aria-label="Notices">
      {now.as === "ready" && wrongStore && (
        <div class="notice bad" role="alert">
          <p>
            <b>This browser's store belongs to another server.</b> Nothing of it is sent or shown here. It stays as it
            is; a new one can begin beside it.
          </p>
          <p class="actions">
            <button type="button" onClick={() => exportOutbox(now.client)}>
              Export its outbox
            </button>
            <button type="button" class="main" onClick={() => openAnother()}>
              Begin a new store
            </button>
          </p>
        </div>
      )}
      {now.as === "ready" && !now.lasting && (
        <p class="notice wait">Without storage: what waits in the outbox ends with this page.</p>
      )}
      {troubles.value.map((t) => (
        <p key={t} class="notice bad" role="alert">
          {t}{" "}
          <button type="button" class="quiet" onClick={() => (troubles.value = troubles.value.filter((x) => x !== t))}>
            Dismiss
          </button>
        </p>
      ))}
    </section>
  );
}

/** In place of a panel that needs the client, while there is none. */
export function Closed() {
  const now = opened.value;
  if (now.as !== "failed") return <p class="closed muted">Opening the store…</p>;
  const without = isStoreError(now.error, "unavailable") || isStoreError(now.error, "quota");
  return (
    <section class="closed">
      <h1 tabIndex={-1}>No store</h1>
      <p role="alert">
        {without
          ? "This browser gives the page no storage: it is blocked, or the window is a private one. A message could not be kept until the server has it."
          : (now.error as Error).message}
      </p>
      <p class="actions">
        <button type="button" onClick={() => open()}>
          Try again
        </button>
        {isStoreError(now.error, "incompatible") && (
          <button type="button" onClick={() => reset()}>
            Make it usable for this version
          </button>
        )}
        {isStoreError(now.error, "corrupt") && (
          <button type="button" onClick={() => openAnother()}>
            Begin a new store
          </button>
        )}
        <button type="button" class="main" onClick={() => open(false)}>
          Go on without storage
        </button>
      </p>
    </section>
  );
}

const codeOf = (error: unknown) => (error as { readonly code?: unknown } | undefined)?.code;
