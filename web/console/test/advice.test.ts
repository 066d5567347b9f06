import { StoreError } from "@hapax/client";
import { expect, test } from "vitest";
import { advice } from "../src/core/advice.ts";

test("a storage that the browser closed says what to do: load the page again where it is gone, free space where it won't open", () => {
  expect(advice(new StoreError("closed", "the browser closed the database"))).toMatch(/lost.*Load the page again/);
  expect(advice(new StoreError("unavailable", "it doesn't open"))).toMatch(
    /tried again by itself; free some disk space/,
  );
  const other = new StoreError("quota", "full");
  expect(advice(other)).toBe(other);
});
