import { useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { offerFocus } from "../core/hands.ts";
import { settleWipes, wipeFault } from "../core/leave.ts";
import { link } from "../core/link.ts";
import { signInByName, signInByToken, ways } from "../core/sign-in.ts";
import { Mark } from "./mark.tsx";
import { ThemeButton } from "./theme-button.tsx";

/** The door: by a name where the server runs with --dev, else by a token. */
export function SignIn() {
  const offered = useSignal<ReadonlySet<string> | undefined>(undefined);
  const fault = useSignal("");
  const busy = useSignal(false);

  const look = async () => {
    let refused = "";
    try {
      await link.peek().catch((e: Error) => {
        refused = e.message;
      });
      offered.value = await ways();
      fault.value = refused;
    } catch (e) {
      fault.value = (e as Error).message;
    }
  };
  useEffect(() => {
    void look();
  }, [link.value]);

  useEffect(() => {
    document.title = "Hapax"; // no room's name stays in it
    void settleWipes();
  }, []);

  const enter = async (how: Promise<void>) => {
    busy.value = true;
    fault.value = "";
    try {
      await how;
    } catch (e) {
      fault.value = (e as Error).message;
    } finally {
      busy.value = false;
    }
  };

  return (
    <main class="door">
      <div class="door-theme">
        <ThemeButton />
      </div>
      <h1 class="door-name">
        <Mark /> hapax
      </h1>
      <p class="door-motto">
        <span lang="grc">ἅπαξ</span> <i>said once.</i>
      </p>
      {offered.value?.has("name") && <ByName busy={busy.value} enter={enter} />}
      {offered.value?.has("link") && <ByLink again={look} />}
      {offered.value !== undefined && <ByToken busy={busy.value} enter={enter} first={!offered.value.has("name")} />}
      <p class="fault" role="alert">
        {fault.value}
      </p>
      <p class="fault" role="alert">
        {wipeFault.value}
      </p>
      {offered.value === undefined && fault.value !== "" && (
        <button type="button" onClick={look}>
          Ask again
        </button>
      )}
    </main>
  );
}

interface Way {
  readonly busy: boolean;
  readonly enter: (how: Promise<void>) => Promise<void>;
}

function ByName({ busy, enter }: Way) {
  const name = useSignal("");
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => offerFocus(field.current), []);
  return (
    <form
      class="door-way"
      onSubmit={(e) => {
        e.preventDefault();
        void enter(signInByName(name.value.trim()));
      }}
    >
      <label for={id}>Your name</label>
      <div class="door-line">
        <input
          id={id}
          ref={field}
          autocomplete="username"
          required
          maxLength={128}
          value={name.value}
          onInput={(e) => (name.value = e.currentTarget.value)}
        />
        <button type="submit" class="main" disabled={busy}>
          Come in
        </button>
      </div>
      <p class="hint">This server runs for this machine alone, and takes your word for it.</p>
    </form>
  );
}

/** What to do where this browser hasn't opened the link of a local server. */
function ByLink({ again }: { readonly again: () => Promise<void> }) {
  return (
    <section class="door-way">
      <p>
        Open the link that <code>hapax serve</code> printed, or print it again:
      </p>
      <p>
        <code>hapax link --data DIR</code>
      </p>
      <div class="door-line">
        <button type="button" onClick={again}>
          I have opened it
        </button>
      </div>
      <p class="hint">This server runs for this machine alone. Whoever has its link may sign in, by any name.</p>
    </section>
  );
}

function ByToken({ busy, enter, first }: Way & { readonly first: boolean }) {
  const given = useSignal("");
  const stay = useSignal(false);
  const id = useId();
  const form = (
    <form
      class="door-way"
      onSubmit={(e) => {
        e.preventDefault();
        void enter(signInByToken(given.value, stay.value));
      }}
    >
      <label for={id}>Token</label>
      <textarea
        id={id}
        class="mono"
        rows={4}
        required
        spellcheck={false}
        autocomplete="off"
        value={given.value}
        onInput={(e) => (given.value = e.currentTarget.value)}
      />
      <div class="door-line">
        <label class="check">
          <input type="checkbox" checked={stay.value} onChange={(e) => (stay.value = e.currentTarget.checked)} /> keep
          it in this browser
        </label>
        <button type="submit" class={first ? "main" : ""} disabled={busy}>
          Sign in
        </button>
      </div>
    </form>
  );
  if (first) return form;
  return (
    <details class="door-other">
      <summary>By a token instead</summary>
      {form}
    </details>
  );
}
