import { useLayoutEffect, useRef } from "preact/hooks";
import { asked, leave, type Waiting } from "../core/leave.ts";

/** The question before a sign-out by which the reader would lose something. */
export function LeaveQuestion() {
  const waiting = asked.value;
  const box = useRef<HTMLDialogElement>(null);
  const there = waiting !== undefined;
  useLayoutEffect(() => {
    if (there) box.current?.showModal();
  }, [there]);
  if (waiting === undefined) return null;
  const stay = () => (asked.value = undefined);
  return (
    <dialog ref={box} class="leave" aria-labelledby="leave-title" onClose={stay}>
      <h1 id="leave-title">Sign out</h1>
      {said(waiting).map((line) => (
        <p key={line}>{line}</p>
      ))}
      <p class="actions">
        {waiting.lasting && waiting.rows + waiting.damaged > 0 && (
          <button type="button" class="main" onClick={() => leave("keep")}>
            Keep and sign out
          </button>
        )}
        <button type="button" onClick={() => leave("delete")}>
          Delete and sign out
        </button>
        <button type="button" class="quiet" onClick={stay}>
          Stay signed in
        </button>
      </p>
    </dialog>
  );
}

function said({ rows, damaged, drafts, lasting }: Waiting): string[] {
  const lines: string[] = [];
  const wait = `${rows === 1 ? "1 message waits" : `${rows.toLocaleString("en")} messages wait`} to be sent`;
  if (rows > 0)
    lines.push(
      lasting
        ? `${wait}. Keep ${rows === 1 ? "it" : "them"} on this device for your next sign-in, or delete ${rows === 1 ? "it" : "them"}?`
        : `${wait}. Without storage ${rows === 1 ? "it ends" : "they end"} with this sign-out.`,
    );
  if (damaged > 0)
    lines.push("A store of this browser can't be read: nobody can tell what waits in it. Kept, it stays as it is.");
  if (drafts > 0)
    lines.push(
      `What you wrote in ${drafts === 1 ? "a room" : `${drafts} rooms`} and didn't send is deleted either way.`,
    );
  lines.push("What you received is deleted from this device. The server has it.");
  return lines;
}
