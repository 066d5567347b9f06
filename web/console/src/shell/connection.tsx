import { now } from "../core/clock.ts";
import { type Connection, opened } from "../core/hapax.ts";
import { wait } from "../core/text.ts";

const words: Readonly<Record<Connection["state"], string>> = {
  offline: "Offline",
  connecting: "Connecting",
  online: "Online",
  auth_required: "Sign-in needed",
  gave_up: "Gave up",
};

interface ConnectionProps {
  readonly connection: Connection;
  /** This tab holds the connection. */
  readonly here: boolean;
}

/** The connection's state, and when it is tried again. */
export function ConnectionState({ connection, here }: ConnectionProps) {
  const client = opened.value.as === "ready" ? opened.value.client : undefined;
  const left = connection.nextAt - now.value;
  const waits = connection.state === "offline" || connection.state === "gave_up";
  return (
    <div
      class={`connection ${connection.state}`}
      title={connection.error === undefined ? undefined : textOf(connection.error)}
    >
      {/* The countdown would be read out every second: only the state itself is. */}
      <p role="status">
        <span class="lamp" aria-hidden="true" />
        <b>{words[connection.state]}</b>
        {!here && <span class="hint"> by another tab</span>}
      </p>
      {waits && client !== undefined && (
        <p class="hint">
          {left > 0 ? <span class="next-try">next try in {wait(left)}</span> : <span>{textOf(connection.error)}</span>}{" "}
          <button type="button" class="quiet" onClick={() => client.connect()}>
            Try now
          </button>
        </p>
      )}
      {connection.state === "auth_required" && <p class="hint">{textOf(connection.error)}</p>}
    </div>
  );
}

const textOf = (error: unknown) =>
  error === undefined ? "" : error instanceof Error ? error.message.replace(/^client: /, "") : String(error);
