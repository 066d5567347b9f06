/**
 * Hapax in the browser: messages that take effect once, in order, whatever the network does. Begin with `open`.
 *
 * @packageDocumentation
 */
export type { Content as NewContent } from "./client/body.ts";
export { type Client, type History, open } from "./client/client.ts";
export type { Clock } from "./client/clock.ts";
export type { Stop } from "./client/hub.ts";
export type { Options, TokenSource } from "./client/options.ts";
export type { Channel } from "./client/relay.ts";
export type { Receipt } from "./client/waits.ts";
export { ClientError, type ClientErrorCode, ServerError } from "./errors.ts";
export { zeroId } from "./ids/id.ts";
export type { SealKey, Signal } from "./platform.ts";
export type { Code, Content } from "./protocol/frames.ts";
export { isClientMessageId, isRoom } from "./protocol/names.ts";
export type { Config } from "./session/config.ts";
export { delay } from "./session/delay.ts";
export type * from "./session/event.ts";
export type { Now } from "./session/input.ts";
export type {
  Added,
  Aside,
  Body,
  Counts,
  Cursor,
  Feed,
  Hint,
  Key,
  Limits,
  Message,
  Owner,
  Report,
  Room,
  Row,
  Schedule,
  State,
  Store,
  StoreErrorCode,
  Trimmed,
} from "./store/contract.ts";
export { isStoreError, StoreError } from "./store/contract.ts";
export { MemoryMedium, openMemoryStore } from "./store/memory.ts";
export type { StoreOptions } from "./store/open.ts";
export {
  type BrowserStore,
  type BrowserStoreOptions,
  deleteBrowserStore,
  type Left,
  openBrowserStore,
  resetBrowserStore,
} from "./tabs/browser.ts";
export { storeKey } from "./tabs/key.ts";
export { type StorageState, storageState } from "./tabs/storage.ts";
export type { Connection, Listener, Transport } from "./transport/transport.ts";
export { type WebSocketConstructor, type WebSocketLike, webSocket } from "./transport/websocket.ts";
