import { open, openMemoryStore } from "@hapax/client";
import { WebSocket } from "ws";

const { HAPAX_URL = "ws://127.0.0.1:7480/v1/ws", HAPAX_TOKEN = "" } = process.env;
const client = await open({ url: HAPAX_URL, token: HAPAX_TOKEN, store: await openMemoryStore(), webSocket: WebSocket });
client.on("connection", ({ state, retryIn }) => console.log(state, retryIn > 0 ? `next try in ${retryIn} ms` : ""));

client.subscribe("tea");
const id = client.nextMessageId();
await client.send("tea", id, { text: "one box", data: { boxes: 1 } });
const receipt = await client.waitAck("tea", id);
console.log(`stored as number ${receipt.seq}`);

for await (const m of client.follow("tea", 0)) {
  console.log(`${m.seq} ${m.actor}: ${m.text}`);
  if (m.messageId === receipt.messageId) break;
}
await client.close();
