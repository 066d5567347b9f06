/**
 * Where the reader's hands are. The page moves the focus only in answer to what the reader did last: whoever has gone on meanwhile,
 * to another field or by a key, keeps it.
 */

/** Rises with all that a reader does to a page but letting go of a key. */
let acts = 0;
/** The act by which a link was followed or a form sent: the page answers it by showing something else. */
let going = -1;

for (const type of ["pointerdown", "keydown", "input", "focusin"]) addEventListener(type, () => acts++, true);
addEventListener("submit", () => (going = acts), true);
addEventListener(
  "click",
  (e) => {
    if ((e.target as Element).closest("a")) going = acts;
  },
  true,
);

/** What the reader did last; given to offerFocus, it stands for that act. */
export const lastAct = (): number => acts;

/**
 * Gives an element the focus if nothing else has it, or if the reader did nothing since an act: the following of a link and the
 * sending of a form where none is given.
 */
export function offerFocus(element: HTMLElement | null, since = going): void {
  const idle = document.activeElement === null || document.activeElement === document.body;
  if (idle || acts === since) element?.focus();
}
