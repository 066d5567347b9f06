import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { count, lasted } from "../core/text.ts";
import { named } from "../rooms/visible.ts";
import { WindowAdvice } from "./advice.tsx";
import { fault, type Proof, readSources, type Source, sources } from "./books.ts";
import { DecisionsChart } from "./decisions.tsx";
import { LedgerView } from "./ledger.tsx";
import { DeadLetters } from "./letters.tsx";
import { useBooks } from "./use-books.ts";
import { type Asked, Why } from "./why.tsx";

/** Between two looks at the sources, ms. */
const every = 5_000;

/** The gateway's books: what was accepted, what wasn't counted twice, and why. */
export function GatewayPanel() {
  useEffect(() => {
    void readSources();
    const timer = setInterval(() => {
      if (!document.hidden) void readSources();
    }, every);
    return () => clearInterval(timer);
  }, []);
  const list = sources.value;
  return (
    <section class="panel" aria-labelledby="gateway-title">
      <header class="panel-head">
        <h1 id="gateway-title" tabIndex={-1}>
          Gateway
        </h1>
        {Array.isArray(list) && <LastProof />}
      </header>
      {fault.value !== "" && <p class="fault">{fault.value}</p>}
      {list === "none" && (
        <p class="muted">
          This server keeps no gateway's books, or none that you may see. Tenants and their sources come from its
          configuration: <code>gateway.tenants</code>.
        </p>
      )}
      {list === undefined && fault.value === "" && <p class="muted">Reading…</p>}
      {Array.isArray(list) && <Books list={list} />}
    </section>
  );
}

function Books({ list }: { readonly list: readonly Source[] }) {
  const tenants = [...new Set(list.map((s) => s.tenant))];
  const chosen = useSignal(tenants[0]!);
  const source = useSignal("");
  const asked = useSignal<Asked>({ source: "", key: "" });
  const tenant = tenants.includes(chosen.value) ? chosen.value : tenants[0]!;
  const own = list.filter((s) => s.tenant === tenant);
  const of = own.filter((s) => source.value === "" || s.source === source.value);
  const sum = (f: (s: Source) => number) => of.reduce((n, s) => n + f(s), 0);
  return (
    <>
      <div class="line-form">
        <label>
          Tenant{" "}
          <select
            value={tenant}
            onChange={(e) => {
              chosen.value = e.currentTarget.value;
              source.value = "";
              asked.value = { source: "", key: "" };
            }}
          >
            {tenants.map((t) => (
              <option key={t} value={t}>
                {named(t)}
              </option>
            ))}
          </select>
        </label>
        <label>
          Source{" "}
          <select value={source.value} onChange={(e) => (source.value = e.currentTarget.value)}>
            <option value="">all of them</option>
            {own.map((s) => (
              <option key={s.source} value={s.source}>
                {named(s.source)}
              </option>
            ))}
          </select>
        </label>
        <p class="muted">
          {count(sum((s) => s.events))} events, {count(sum((s) => s.waiting))} on their way, {count(sum((s) => s.dead))}{" "}
          dead letters
        </p>
      </div>
      <LedgerView
        key={tenant}
        tenant={tenant}
        source={source.value}
        onKey={(s, key) => (asked.value = { source: s, key })}
      />
      <DecisionsChart key={`${tenant}\n${source.value}`} tenant={tenant} source={source.value} />
      <Why key={`why ${tenant}`} tenant={tenant} list={own} asked={asked.value} />
      {own.some((s) => s.forward) && (
        <DeadLetters
          key={`${tenant}\n${source.value} letters`}
          tenant={tenant}
          source={source.value}
          dead={sum((s) => s.dead)}
        />
      )}
      {(source.value !== "" || own.length === 1) && (
        <WindowAdvice key={`${of[0]!.source} advice`} tenant={tenant} source={of[0]!.source} />
      )}
      {source.value === "" && own.length > 1 && (
        <p class="hint">Choose a source to see what other windows would have done.</p>
      )}
    </>
  );
}

function LastProof() {
  const { value } = useBooks<Proof>("/v1/proof");
  const p = value.value;
  if (p === undefined) return null;
  if (!p.proven) return <p class="muted">not proven yet</p>;
  const ago = lasted(Date.now() - (p.at ?? 0));
  return p.ok ? (
    <p class="proof-ok">
      last full proof {ago === "under a minute" ? "just now" : `${ago} ago`}, over {count(p.events ?? 0)} events
    </p>
  ) : (
    <p class="fault" role="alert">
      The last proof failed: {(p.issues ?? []).join("; ")}
    </p>
  );
}
