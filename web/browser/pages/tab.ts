/** A tab with a client, driven by tests. */

import {
  type Client,
  type ClientEvent,
  open,
  openBrowserStore,
  type Row,
  type StorageState,
  storageState,
} from "../../sdk/src/index.ts";

/** What a test can ask of a tab. */
export interface TabPage {
  /** Opens the client, connected through the page's own origin. */
  open(token: string): Promise<{ lost: boolean; created: boolean }>;
  /** Says something, and answers its id once it is stored. */
  say(room: string, text: string): Promise<string>;
  /** As say; answers the word of the error where it is refused. */
  trySay(room: string, text: string): Promise<string>;
  /** As open; answers the word of the error where it is refused. */
  tryOpen(token: string): Promise<string>;
  /** What the browser says of the storage, asked to keep it. */
  storage(): Promise<StorageState>;
  /** What the store holds of a room, and of the outbox, as this tab sees them. */
  view(room: string): Promise<string[]>;
  rows(): Promise<Row[]>;
  drains(): boolean;
  state(): string;
  /** Ids that this tab saw confirmed, and then heard of as waiting again. */
  fellBack(): string[];
  events: ClientEvent[];
  close(): Promise<void>;
}

declare global {
  interface Window {
    tab: TabPage;
  }
}

let client: Client;
const events: ClientEvent[] = [];

const word = (e: unknown): string => (e as { code?: string }).code ?? String(e);

window.tab = {
  events,
  async open(token) {
    const { store, lost } = await openBrowserStore({ name: "hapax", actor: "ann" });
    client = await open({ url: `ws://${location.host}/v1/ws`, token, store });
    client.listen((e) => events.push(e));
    client.subscribe("r");
    return { lost, created: store.report.created };
  },
  async say(room, text) {
    const id = client.nextMessageId();
    await client.send(room, id, { text });
    return id;
  },
  trySay: (room, text) => window.tab.say(room, text).then(() => "", word),
  tryOpen: (token) => window.tab.open(token).then(() => "", word),
  storage: () => storageState(true),
  view: async (room) => (await client.view(room, 0, 1000)).map((m) => m.clientMessageId),
  async rows() {
    const rows: Row[] = [];
    for await (const r of client.outbox()) rows.push(r);
    return rows;
  },
  drains: () => client.drains,
  state: () => client.state.state,
  fellBack() {
    const confirmed = new Set<string>();
    const back = [];
    for (const e of events) {
      if (e.type === "confirmed") confirmed.add(e.key.id);
      if (e.type === "row" && confirmed.has(e.row.id)) back.push(e.row.id);
    }
    return back;
  },
  close: () => client.close(),
};
