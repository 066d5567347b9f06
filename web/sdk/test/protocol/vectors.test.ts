import { describe, expect, test } from "vitest";
import { canonical, canonicalOf, fingerprint } from "../../src/protocol/canonical.ts";
import { decodeFrame } from "../../src/protocol/decode.ts";
import { encodeCommand } from "../../src/protocol/encode.ts";
import type { Command, Content, ServerFrame } from "../../src/protocol/frames.ts";
import { rules } from "../../src/protocol/generated/wire.ts";
import { BadDocument, parse } from "../../src/protocol/json.ts";
import { type Cursor, isActor, isClientMessageId, isCursor, isRoom } from "../../src/protocol/names.ts";
import { decodeCommand, Refusal } from "../support/command.ts";
import { cases, document, type Fill, filled } from "../support/vectors.ts";

const at = (file: string): string => `protocol/testdata/vectors/${file}`;

describe("canonical forms", () => {
  type Case = { name: string; in: string; inHex?: string; out: string; error?: string; fill?: Fill };
  test.each(cases<Case>(at("canonical.json")))("$name", (c) => {
    const read = (): string => canonical(parse(document(c.in, c.inHex, c.fill)));
    if (c.error) expect(read).toThrow();
    else expect(read()).toBe(filled(c.out, c.fill));
  });

  test("an app's value gives the form of its document", () => {
    expect(canonicalOf({ b: 1, a: [null, undefined, "é"], c: undefined })).toBe('{"a":[null,null,"é"],"b":1}');
    expect([canonicalOf(undefined), canonicalOf(null)]).toEqual(["", ""]);
    for (const bad of [Number.NaN, { a: Number.POSITIVE_INFINITY }, 2 ** 53, "\ud800", { "\udfff": 1 }]) {
      expect(() => canonicalOf(bad)).toThrow(BadDocument);
    }
    expect(() => canonicalOf(1n)).toThrow(TypeError);
  });
});

describe("fingerprints", () => {
  type Case = { name: string; text: string; form: string; fingerprint: string; data?: string };
  test.each(cases<Case>(at("fingerprints.json")))("$name", (c) => {
    const v = c.data === undefined ? null : parse(c.data);
    const data = v === null ? "" : canonical(v);
    expect(fingerprint(c.text, data)).toBe(c.fingerprint);
    expect(canonical(parse(c.form))).toBe(c.form);
  });
});

type FrameCase = {
  name: string;
  frame: string;
  frameHex?: string;
  fill?: Fill;
  command?: string;
  event?: string;
  unknown?: string;
  code?: string;
  names?: string;
  ref?: string;
};

describe("commands, as the other end reads them", () => {
  test.each(cases<FrameCase>(at("commands.json")))("$name", (c) => {
    const read = (): ReturnType<typeof decodeCommand> => decodeCommand(document(c.frame, c.frameHex, c.fill));
    if (c.code === undefined) {
      const { data = "", ...rest } = read();
      expect(parse(encodeCommand(rest as unknown as Command, data))).toEqual(parse(filled(c.command!, c.fill)));
      return;
    }
    const refused = failure(read);
    if (refused instanceof Refusal) {
      expect(refused.code).toBe(c.code);
      expect(refused.message).toContain(c.names ?? "");
    } else {
      expect(refused).toBeInstanceOf(TypeError); // bytes that are no UTF-8 never become a text
    }
  });
});

function failure(f: () => unknown): unknown {
  try {
    f();
  } catch (e) {
    return e;
  }
  throw new Error("it succeeds");
}

/** What a frame says, as it would be written again. */
function written(e: ServerFrame): unknown {
  const row = ({ room, epoch, clientMessageId, data, ...m }: Content): unknown => ({
    ...m,
    ...(clientMessageId && { clientMessageId }),
    ...(data && { data: JSON.parse(data) }),
  });
  if (e.type === "message") {
    const { room, epoch } = e.message;
    return { type: e.type, ...(e.ref && { ref: e.ref }), room, epoch, ...(row(e.message) as object) };
  }
  return "messages" in e ? { ...e, messages: e.messages.map(row) } : e;
}

describe("frames of a server", () => {
  test.each(cases<FrameCase>(at("events.json")))("$name", (c) => {
    const read = (): ServerFrame => decodeFrame(document(c.frame, c.frameHex, c.fill));
    if (c.code) {
      const refused = failure(read) as Error;
      expect(refused).toBeInstanceOf(BadDocument);
      expect(refused.message).toContain(c.names ?? "");
      expect(refused.message.length).toBeLessThan(200);
    } else if (c.unknown !== undefined) {
      expect(read()).toEqual({ type: "unknown", named: c.unknown, ref: c.ref });
    } else {
      expect(written(read())).toEqual(JSON.parse(c.event!));
    }
  });
});

test("names", () => {
  const valid: Record<string, (s: string) => boolean> = {
    clientMessageId: isClientMessageId,
    room: isRoom,
    actor: isActor,
  };
  for (const c of cases<{ kind: string; value: string; fill?: Fill; valid: boolean }>(at("names.json"))) {
    expect([c.kind, c.value, valid[c.kind]!(filled(c.value, c.fill))]).toEqual([c.kind, c.value, c.valid]);
  }
});

test("cursors", () => {
  for (const c of cases<{ name: string; cursor: Cursor; valid: boolean }>(at("cursors.json"))) {
    expect([c.name, isCursor(c.cursor)]).toEqual([c.name, c.valid]);
  }
});

test("codes", () => {
  const table = cases<Record<string, unknown>>(at("codes.json")).map(({ type, ...rest }) => rest);
  expect(rules).toEqual(table);
});
