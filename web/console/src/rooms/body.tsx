import { useSignal } from "@preact/signals";
import { visible } from "./visible.ts";

/** Beyond this a text is shown in part, until the reader asks for the rest. */
const longText = 1_200;
const longLines = 14;

interface BodyProps {
  readonly text: string;
  readonly data?: string;
}

/** What a message says: text and nothing else, with a direction of its own that doesn't reach its surroundings. */
export function Body({ text, data = "" }: BodyProps) {
  const whole = useSignal(false);
  const long = text.length > longText || text.split("\n", longLines + 1).length > longLines;
  const part = long && !whole.value ? cutText(text) : text;
  return (
    <>
      <div class="text" dir="auto">
        {visible(part)}
        {long && !whole.value && "…"}
      </div>
      {long && (
        <button
          type="button"
          class="quiet more"
          aria-expanded={whole.value}
          onClick={() => (whole.value = !whole.value)}
        >
          {whole.value ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`}
        </button>
      )}
      {data !== "" && (
        <code class="data">{visible(data.length > longText ? `${data.slice(0, longText)}…` : data)}</code>
      )}
    </>
  );
}

function cutText(text: string): string {
  const lines = text.split("\n", longLines).join("\n");
  // A surrogate pair is never cut in two.
  return lines.length > longText ? lines.slice(0, longText).replace(/[\uD800-\uDBFF]$/, "") : lines;
}
