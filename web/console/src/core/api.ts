/** Requests to the server that this page came from. */

import { cut } from "./faults.ts";

/** Refused is an answer that is no success: a problem document (RFC 9457), or what stood in its place. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** Unreachable says that no answer came at all. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

export interface Ask {
  readonly method?: "GET" | "POST";
  readonly token?: string;
  readonly body?: unknown;
  /** Lets the browser send and take this server's cookie, which the sign-in of a local server asks for. */
  readonly cookie?: boolean;
  /** Names what is asked for once, so that a repeat of the request does nothing more. */
  readonly once?: string;
  readonly signal?: AbortSignal;
}

/** Asks the server and returns its JSON. Rejects with Refused, Unreachable or the signal's reason. */
export async function ask<T>(path: string, how: Ask = {}): Promise<T> {
  if (cut.peek()) throw new Unreachable("the network is cut, by the switch on this page");
  const headers = new Headers({ Accept: "application/json" });
  if (how.token !== undefined) headers.set("Authorization", `Bearer ${how.token}`);
  if (how.once !== undefined) headers.set("Idempotency-Key", how.once);
  if (how.body !== undefined) headers.set("Content-Type", "application/json");
  let response: Response;
  try {
    response = await fetch(path, {
      method: how.method ?? "GET",
      headers,
      body: how.body === undefined ? null : JSON.stringify(how.body),
      cache: "no-store",
      credentials: how.cookie ? "same-origin" : "omit",
      signal: how.signal ?? null,
    });
  } catch (e) {
    if (how.signal?.aborted) throw e;
    throw new Unreachable("the server doesn't answer");
  }
  const text = await response.text();
  const json = parse(text);
  if (response.ok && json !== undefined) return json as T;
  const problem = (json ?? {}) as { code?: unknown; detail?: unknown };
  throw new Refused(
    response.status,
    typeof problem.code === "string" ? problem.code : "",
    typeof problem.detail === "string" ? problem.detail : `the server answered ${response.status}`,
  );
}

function parse(text: string): unknown {
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
