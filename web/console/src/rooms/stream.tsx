import type { Client } from "@hapax/client";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../core/text.ts";
import { BlockView, Sight } from "./block-view.tsx";
import { see } from "./seen.ts";
import type { RoomView } from "./view.ts";
import { named } from "./visible.ts";
import { WaitingView } from "./waiting-view.tsx";

/** Nearer to the end than this, in pixels, the reader is taken to read along. */
const nearEnd = 60;
/** Waiting rows that are drawn; the outbox shows them all. */
const mostWaiting = 60;

interface StreamProps {
  readonly client: Client;
  readonly view: RoomView;
}

/** A room's lines, oldest above, and below them what waits to be sent. */
export function Stream({ client, view }: StreamProps) {
  const box = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const behind = useSignal(false);
  const sight = useSignal<Sight | undefined>(undefined);

  useLayoutEffect(() => {
    const s = new Sight(box.current!);
    sight.value = s;
    return () => s.end();
  }, [sight]);

  view.version.value; // drawn anew with each change
  const anchor = stuck.current ? undefined : firstInSight(box.current);
  const last = view.lines.last;

  useLayoutEffect(() => {
    const b = box.current!;
    if (stuck.current) b.scrollTop = b.scrollHeight;
    else if (anchor?.element.isConnected) b.scrollTop += anchor.element.getBoundingClientRect().top - anchor.top;
  });
  useEffect(() => {
    if (stuck.current && view.filled.value && !document.hidden) see(view.room, last);
    else if (!stuck.current) behind.value = true;
  }, [last]);
  useEffect(() => keepAtEnd(box.current!, stuck), []);

  const scrolled = () => {
    const b = box.current!;
    stuck.current = b.scrollHeight - b.scrollTop - b.clientHeight < nearEnd;
    view.follow(stuck.current);
    if (stuck.current) {
      behind.value = false;
      see(view.room, view.lines.last);
    }
    if (b.scrollTop < b.clientHeight) void view.older();
  };
  const toEnd = () => {
    stuck.current = true;
    behind.value = false;
    box.current!.scrollTop = box.current!.scrollHeight;
  };

  const waiting = [...view.waiting.values()].sort((a, b) => a.row.position - b.row.position);
  const blocks = view.lines.blocks;
  return (
    <div class="stream-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keys must scroll what only a pointer else could */}
      <section ref={box} class="stream" tabIndex={0} aria-label={`Messages in ${named(view.room)}`} onScroll={scrolled}>
        <Top view={view} />
        {/* biome-ignore lint/a11y/useSemanticElements: blocks stand between the list and its items */}
        <div role="list" aria-label="Messages">
          {sight.value !== undefined &&
            blocks.map((b, i) => (
              <BlockView key={b.id} block={b} before={blocks[i - 1]?.lines.at(-1)} sight={sight.value!} />
            ))}
          {waiting.length > mostWaiting && (
            <p class="hint between">
              {count(waiting.length - mostWaiting)} more wait before these; the outbox lists all.
            </p>
          )}
          {waiting.slice(-mostWaiting).map((w) => (
            <WaitingView key={w.row.position} client={client} waiting={w} />
          ))}
        </div>
      </section>
      {behind.value && (
        <button type="button" class="to-end" onClick={toEnd}>
          New messages ↓
        </button>
      )}
    </div>
  );
}

function Top({ view }: { readonly view: RoomView }) {
  view.version.value; // the lines are no signal
  if (view.fault.value !== "") {
    return (
      <p class="between">
        <span class="fault">{view.fault.value}</span>{" "}
        <button type="button" onClick={() => view.again()}>
          Try again
        </button>
      </p>
    );
  }
  if (!view.filled.value || view.loading.value) return <p class="hint between">Reading…</p>;
  if (view.lines.count === 0) return <p class="hint between">Nothing has been said here yet.</p>;
  if (view.whole.value) return <p class="hint between">The beginning.</p>;
  return (
    <p class="between">
      <button type="button" class="quiet" onClick={() => view.older()}>
        Earlier messages
      </button>
    </p>
  );
}

/** The first line in sight and where it stands, so that it stays there while lines are put in above it. */
function firstInSight(box: HTMLElement | null): { readonly element: Element; readonly top: number } | undefined {
  if (box === null) return undefined;
  const top = box.getBoundingClientRect().top;
  for (const block of box.querySelectorAll(".block")) {
    if (block.getBoundingClientRect().bottom <= top) continue;
    for (const line of block.children) {
      const at = line.getBoundingClientRect();
      if (at.bottom > top) return { element: line, top: at.top };
    }
  }
  return undefined;
}

/** Keeps a reader at the end there when the frame or its content changes its size. */
function keepAtEnd(box: HTMLElement, stuck: { readonly current: boolean }): () => void {
  const observer = new ResizeObserver(() => {
    if (stuck.current) box.scrollTop = box.scrollHeight;
  });
  observer.observe(box);
  return () => observer.disconnect();
}
