import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { books } from "./books.ts";

/** Between two looks, ms. */
const every = 5_000;

/** What an address of the gateway answers, asked again while it is looked at. */
export interface Answer<T> {
  readonly value: Signal<T | undefined>;
  readonly fault: Signal<string>;
  /** Asks at once. */
  readonly again: () => Promise<void>;
}

/** Asks an address, "" for none, now and every few seconds while the component is there. */
export function useBooks<T>(path: string | (() => string)): Answer<T> {
  const value = useSignal<T | undefined>(undefined);
  const fault = useSignal("");
  const now = typeof path === "string" ? path : undefined;
  const again = async () => {
    const at = typeof path === "string" ? path : path();
    if (at === "") return;
    try {
      value.value = await books<T>(at);
      fault.value = "";
    } catch (e) {
      fault.value = (e as Error).message;
    }
  };
  useEffect(() => {
    value.value = undefined;
    let timer: ReturnType<typeof setTimeout>;
    let ended = false;
    const turn = async () => {
      if (!document.hidden) await again();
      if (!ended) timer = setTimeout(turn, every);
    };
    void turn();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [now]);
  return { value, fault, again };
}
