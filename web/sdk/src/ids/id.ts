/** The id that is never valid: 32 zeros. `nextMessageId` returns it where no id can be had. */
export const ZERO_ID = "0".repeat(32);
