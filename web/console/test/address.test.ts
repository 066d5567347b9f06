import { expect, test } from "vitest";
import { linkTo, parseRoute } from "../src/core/address.ts";

test("a link leads back to the room that it was made of", () => {
  for (const room of ["tea", "a/b", "a%2Fb", "ünï ✓", "#", "?x=1", "..", " ", "🙂", '"<script>"']) {
    expect(parseRoute(linkTo("rooms", room))).toEqual({ panel: "rooms", room });
  }
});

test("other addresses are the rooms", () => {
  for (const hash of ["", "#", "#/", "#/nothing", "#/rooms", "#/rooms/%ff"]) {
    expect(parseRoute(hash)).toEqual({ panel: "rooms", room: "" });
  }
  expect(parseRoute("#/outbox/tea")).toEqual({ panel: "outbox", room: "" });
});
