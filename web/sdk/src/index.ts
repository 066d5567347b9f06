/**
 * Hapax in the browser: messages that take effect once, in order, whatever the network does.
 *
 * @packageDocumentation
 */
export { ZERO_ID } from "./ids/id.ts";
