/**
 * Hapax in the browser: messages that take effect once, in order, whatever the network does.
 *
 * @packageDocumentation
 */
export { zeroId } from "./ids/id.ts";
