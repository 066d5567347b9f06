import { decodeFrame } from "../protocol/decode.ts";
import { defaultLimits, type ServerFrame } from "../protocol/frames.ts";
import { utf8Length } from "../protocol/names.ts";
import type { LinkInput } from "../session/input.ts";
import type { Connection, Transport } from "../transport/transport.ts";

/** How much is read before the welcome, and what is believed of `limits.serverFrame`. Bytes. */
const welcomeFrame = 64 * 1024;
const maxServerFrame = 64 * 1024 * 1024;

/** An encoded frame and its number. */
export interface EncodedFrame {
  readonly n: number;
  readonly text: string;
}

/** Link is one connection. It tells Connected at most once, and Lost exactly once. */
export class Link {
  readonly #n: number;
  readonly #tell: (i: LinkInput) => void;
  #connection: Connection | undefined;
  /** Number of the last frame handed to the network, wholly or in part. */
  #written = 0;
  #over = false;
  /** Bytes that a frame may have: little before the welcome, which announces what to expect. */
  #limit = welcomeFrame;

  /** Starts to dial. */
  constructor(n: number, transport: Transport, url: string, tell: (i: LinkInput) => void) {
    this.#n = n;
    this.#tell = tell;
    try {
      this.#connection = transport(url, {
        opened: () => this.#over || tell({ kind: "connected", conn: n }),
        frame: (text) => this.#over || this.#frame(text),
        closed: (error) => this.#end(error),
      });
      if (this.#over) this.#connection.close();
    } catch (error) {
      this.#end(error);
    }
  }

  /** Hands frames to the network in their order. */
  send(frames: readonly EncodedFrame[]): void {
    for (const { n, text } of frames) {
      if (this.#over) return;
      this.#written = n; // noted before: a write that fails may have sent any part of it
      try {
        this.#connection?.send(text);
      } catch (error) {
        this.#end(error);
        this.#connection?.close();
        return;
      }
    }
    this.#tell({ kind: "wrote", conn: this.#n, n: this.#written });
  }

  /** Ends the connection at once. */
  close(): void {
    this.#connection?.close();
    this.#end();
  }

  #frame(text: string): void {
    if (text.length * 3 > this.#limit && utf8Length(text) > this.#limit) {
      this.#end(new Error(`a frame of more than ${this.#limit} bytes`));
      return this.#connection?.close();
    }
    let frame: ServerFrame;
    try {
      frame = decodeFrame(text);
    } catch (error) {
      this.#tell({ kind: "garbled", conn: this.#n, error });
      return;
    }
    if (frame.type === "welcome") {
      const serverFrame = frame.limits.serverFrame ?? defaultLimits.serverFrame;
      this.#limit = Math.min(Math.max(serverFrame, welcomeFrame), maxServerFrame);
    }
    this.#tell({ kind: "received", conn: this.#n, frame });
  }

  #end(error?: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#tell({ kind: "lost", conn: this.#n, written: this.#written, error });
  }
}
