import { type StorageState, storageState } from "@hapax/client";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { opened } from "../core/hapax.ts";
import { bytes } from "../core/text.ts";

/** How firmly the browser keeps the outbox, and how much room it gives. */
export function StorageFacts() {
  const state = useSignal<StorageState | undefined>(undefined);
  const read = async (ask: boolean) => {
    state.value = await storageState(ask);
  };
  useEffect(() => {
    void read(true);
  }, []);
  const lasting = opened.value.as === "ready" && opened.value.lasting;
  const s = state.value;
  return (
    <div class="storage">
      <h2>Storage</h2>
      {!lasting && <p class="fault">In memory only: the outbox ends with this page.</p>}
      {lasting && s !== undefined && (
        <>
          <p>
            {s.persistent === true && "The browser keeps it until it is cleared by hand."}
            {s.persistent === false && "The browser may throw it away when it needs room. "}
            {s.persistent === undefined && "The browser doesn't say whether it keeps it."}
            {s.persistent === false && (
              <button type="button" onClick={() => read(true)}>
                Ask it to keep it
              </button>
            )}
          </p>
          {s.usage !== undefined && s.quota !== undefined && (
            <p class="quota">
              <meter min={0} max={s.quota} high={s.quota * 0.8} value={s.usage} aria-label="Storage used" />
              {bytes(s.usage)} used of {bytes(s.quota)} allowed
            </p>
          )}
        </>
      )}
    </div>
  );
}
