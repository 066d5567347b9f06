import { drain } from "./drain.ts";
import { marks } from "./marks.ts";
import { outbox } from "./outbox.ts";
import { random } from "./random.ts";
import type { Case } from "./suite.ts";
import { views } from "./view.ts";

/** Every case of the suite. */
export const cases: readonly Case[] = [...marks, ...outbox, ...drain, ...views, ...random];
