/** The real server as a process: `hapax serve --dev` on free ports of this machine, with data of its own. */

import { type ChildProcess, execFile } from "node:child_process";
import { cp, mkdtemp } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { inject } from "vitest";
import { atEnd, end, remove, start, stop } from "./tidy.ts";

/** A message as `hapax history` prints it. */
export interface Stored {
  readonly room: string;
  readonly epoch: string;
  readonly seq: number;
  readonly messageId: string;
  readonly actor: string;
  readonly clientMessageId?: string;
  readonly text: string;
}

export class Server {
  readonly #program: string;
  readonly #data: string;
  readonly #flags: readonly string[];
  readonly #tokens: Record<string, string> = {};
  #said = 0;
  #process: ChildProcess | undefined;
  /** host:port for clients: another one after each start, as the old port may have become somebody else's. */
  address = "";
  /** host:port for operators. */
  admin = "";

  private constructor(program: string, data: string, flags: readonly string[]) {
    this.#program = program;
    this.#data = data;
    this.#flags = flags;
  }

  /** Starts a server with an empty store. flags go to `hapax serve`. */
  static async start(...flags: string[]): Promise<Server> {
    const data = await mkdtemp(join(tmpdir(), "hapax-data-"));
    const s = new Server(inject("hapax"), data, flags);
    atEnd(s, async () => {
      await s.kill();
      await remove(data);
    });
    await s.start();
    return s;
  }

  /** Starts it on the data that it had. */
  async start(): Promise<void> {
    const words = ["serve", "--dev", "--data", this.#data, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    const p = start(this.#program, [...words, ...this.#flags]);
    this.#process = p;
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      p.once("error", reject);
      p.once("exit", (code) => reject(new Error(`hapax ended with ${code}: ${said.join("\n")}`)));
      createInterface(p.stderr!).on("line", (line) => {
        said.push(line);
        const entry = line.includes('"msg":"listening"') ? JSON.parse(line) : undefined;
        if (!entry) return;
        this.address = entry.address;
        this.admin = entry.admin;
        resolve();
      });
    });
  }

  /** A token by which an actor signs in. rights are PATTERN=r, w or rw; all of them where none is given. */
  async token(actor: string, ...rights: string[]): Promise<string> {
    const rooms = rights.flatMap((r) => ["--room", r]);
    return (await this.#run("token", "--data", this.#data, "--actor", actor, ...rooms)).trim();
  }

  /** The link that opens the console at an address, as `hapax link` prints it. */
  async link(at: string): Promise<string> {
    const printed = new URL((await this.#run("link", "--data", this.#data)).trim());
    return new URL(printed.hash, at).href;
  }

  /** Opens the link by an address, and returns the cookie, name=value, that a browser has from then on. */
  async openLink(at: string): Promise<string> {
    const secret = new URL(await this.link(at)).hash.slice("#s=".length);
    const [host, port] = this.address.split(":");
    const headers = { host: new URL(at).host, origin: new URL(at).origin, "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      request({ host, port, path: "/v1/dev/link", method: "POST", headers }, (answer) => {
        answer.resume();
        const [cookie] = answer.headers["set-cookie"] ?? [];
        if (cookie === undefined) reject(new Error(`the link of ${this.address}: ${answer.statusCode}`));
        else resolve(cookie.split(";")[0]!);
      })
        .once("error", reject)
        .end(JSON.stringify({ secret }));
    });
  }

  /** Puts a new link in the place of the one before. */
  async rotate(): Promise<void> {
    await this.#run("link", "--data", this.#data, "--rotate");
  }

  /** What the server's log holds of a room, oldest first, as an actor sees it: with the ids of its own messages. */
  async history(room: string, actor: string): Promise<Stored[]> {
    const token = await this.token(actor);
    const all: Stored[] = [];
    for (let before = ""; ; ) {
      const url = `http://${this.address}/v1/rooms/${encodeURIComponent(room)}/messages?limit=200${before}`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      if (!answer.ok) throw new Error(`history of ${room}: ${answer.status} ${await answer.text()}`);
      const { messages } = (await answer.json()) as { messages: Stored[] };
      if (messages.length === 0) return all;
      all.unshift(...messages);
      before = `&before=${messages[0]!.seq}`;
    }
  }

  /** Stores a message as somebody else would, by HTTP. */
  async say(room: string, actor: string, text: string, data?: unknown): Promise<void> {
    this.#tokens[actor] ??= await this.token(actor);
    const answer = await fetch(`http://${this.address}/v1/rooms/${encodeURIComponent(room)}/messages`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${this.#tokens[actor]}`,
        "content-type": "application/json",
        "idempotency-key": `say-${++this.#said}`,
      },
      body: JSON.stringify({ text, data }),
    });
    if (answer.status !== 201) throw new Error(`saying ${text}: ${answer.status} ${await answer.text()}`);
  }

  /** Copies its data, and gives back what puts the copy in their place. The server must be stopped for both. */
  async copy(): Promise<() => Promise<void>> {
    const copy = await mkdtemp(join(tmpdir(), "hapax-copy-"));
    await cp(this.#data, copy, { recursive: true });
    return async () => {
      await remove(this.#data);
      await cp(copy, this.#data, { recursive: true });
      await remove(copy);
    };
  }

  /** Ends it as kill -9 does. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** Drains it. */
  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  /** Ends it and removes its data. */
  close(): Promise<void> {
    return end(this);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const p = this.#process;
    this.#process = undefined;
    if (p) await stop(p, signal);
  }

  async #run(...words: string[]): Promise<string> {
    return (await promisify(execFile)(this.#program, words)).stdout;
  }
}
