import { expect, test } from "vitest";
import { ZERO_ID } from "../../src/index.ts";

test("the zero id has the form of the others", () => {
  expect(ZERO_ID).toMatch(/^0{32}$/);
});
