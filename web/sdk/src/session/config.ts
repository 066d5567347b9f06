import { defaultLimits, type Limits } from "../store/contract.ts";

/** Config holds every bound of the machine. Times are milliseconds. */
export interface Config {
  /** A name for the server's logs. */
  readonly client: string;

  /** First delay of a row and of a reconnect; 1 s. */
  readonly base: number;
  /** Greatest delay of a row; 5 min. */
  readonly rowCap: number;
  /** Greatest delay of a reconnect; 60 s. */
  readonly connCap: number;
  /** Attempts of a row before it is parked and its room held; 12. */
  readonly maxAttempts: number;
  /** Tries to connect before gave_up; 0 (the default) is no end. */
  readonly maxTries: number;

  /** An answer about a row is overdue after so long at most, and until acks were measured; 10 s. */
  readonly answerWithin: number;
  /** And not before; 1 s. */
  readonly answerLeast: number;
  /** A dial that takes longer is given up; 20 s, as a slow network must be able to connect. */
  readonly dialWithin: number;
  /** No welcome for so long is a lost connection; 20 s, as a server restarted under load authenticates slowly. */
  readonly welcomeWithin: number;
  /** A connection up for so long after its welcome sets the tries back; 10 s. */
  readonly stableAfter: number;
  /** 25 s. */
  readonly pingEvery: number;
  /** No frame for so long after a ping is a lost connection; 10 s. */
  readonly pongWithin: number;
  /** The same where there is reason to doubt it, or 4 × the time of pongs; 3 s. */
  readonly hurryWithin: number;
  /** The same while rows are awaited, which may be long under way; 30 s. */
  readonly pageWithin: number;
  /** So much of a server's retryAfterMs is believed; 1 h. */
  readonly retryAfterMax: number;
  /** The app is told that its token function takes longer than this; 20 s. */
  readonly tokenWithin: number;
  /** The app is asked again so seldom while a refused token may become good; 5 min. */
  readonly tokenEvery: number;

  /** Rows of one room in flight; 16. */
  readonly roomFlights: number;
  /** Frames about rows in flight in all, which the window grows to; 64. */
  readonly flights: number;

  /** Live rows that wait ahead of a gap; 1,000. */
  readonly aheadRows: number;
  /** For so long, then the room is subscribed again; 10 s. */
  readonly aheadFor: number;

  /** How often rows past their age are looked for; 1 h. */
  readonly evictEvery: number;
  /** Of the outbox. They must be those of the store. */
  readonly limits: Limits;

  /** Gives numbers in [0, 1]: the machine's only source of randomness. */
  readonly rand: () => number;
}

/** The bounds of docs/spec/client.md. */
export const defaultConfig: Config = {
  client: "",
  base: 1000,
  rowCap: 5 * 60_000,
  connCap: 60_000,
  maxAttempts: 12,
  maxTries: 0,
  answerWithin: 10_000,
  answerLeast: 1000,
  dialWithin: 20_000,
  welcomeWithin: 20_000,
  stableAfter: 10_000,
  pingEvery: 25_000,
  pongWithin: 10_000,
  hurryWithin: 3000,
  pageWithin: 30_000,
  retryAfterMax: 3_600_000,
  tokenWithin: 20_000,
  tokenEvery: 300_000,
  roomFlights: 16,
  flights: 64,
  aheadRows: 1000,
  aheadFor: 10_000,
  evictEvery: 3_600_000,
  limits: defaultLimits,
  rand: Math.random,
};
