import { actor } from "../core/sign-in.ts";
import { dayOf, sameDay, timeOfDay } from "../core/text.ts";
import { Body } from "./body.tsx";
import type { Line } from "./lines.ts";
import { named } from "./visible.ts";

/** Lines of one actor within this time stand under one name. */
const together = 5 * 60_000;

export interface LineProps {
  readonly line: Line;
  readonly before: Line | undefined;
}

/** A confirmed message: its seq in the margin, as in a ledger. */
export function LineView({ line, before }: LineProps) {
  const mine = line.clientMessageId !== "" || line.actor === actor.value;
  const day = before === undefined || !sameDay(before.at, line.at);
  const lead = day || before.actor !== line.actor || Math.abs(line.at - before.at) > together;
  return (
    // biome-ignore lint/a11y/useSemanticElements: blocks stand between the list and its items
    <div role="listitem" class={`line${mine ? " mine" : ""}${lead ? " lead" : ""}`} data-seq={line.seq}>
      {day && <p class="day">{dayOf(line.at)}</p>}
      <span class="seq">{line.seq}</span>
      <div class="said">
        <span class={lead ? "who" : "unseen"}>
          <bdi>{named(line.actor)}</bdi>{" "}
          {lead && <time dateTime={new Date(line.at).toISOString()}>{timeOfDay(line.at)}</time>}
        </span>
        <Body text={line.text} data={line.data} />
      </div>
      {line.clientMessageId !== "" && (
        <span class="state sent">
          <Tick /> sent
        </span>
      )}
    </div>
  );
}

const Tick = () => (
  <svg viewBox="0 0 12 12" aria-hidden="true">
    <path d="M2 6.5 5 9.5 10.5 3" fill="none" stroke="currentColor" stroke-width="1.7" />
  </svg>
);
