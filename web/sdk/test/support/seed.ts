import fc from "fast-check";

// The gate runs the same cases each time. FC_SEED=n tries others, FC_RUNS=n more of them.
const { FC_SEED, FC_RUNS } = process.env;
fc.configureGlobal({ seed: Number(FC_SEED ?? 1), ...(FC_RUNS && { numRuns: Number(FC_RUNS) }) });
