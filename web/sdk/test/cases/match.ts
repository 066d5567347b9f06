/** Values and patterns of case files (test/cases/README.md): the same as those of the Go runner. */

/** A value of a document. */
export type Value = unknown;
type Members = Record<string, Value>;

/** How a value differs from what it should be. */
export class Mismatch extends Error {}

function isObject(v: Value): v is Members {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

/** Prints a value, cut where it is long. */
export function show(v: Value): string {
  const text = JSON.stringify(v, (_, x) => (typeof x === "bigint" ? String(x) : x)) ?? "nothing";
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}

function integer(v: Value): bigint | undefined {
  return /^-?\d+$/.test(String(v)) ? BigInt(String(v)) : undefined;
}

/** A whole number. */
export function whole(v: Value): number {
  const n = integer(v);
  if (n === undefined) throw new Error(`${show(v)} is not a whole number`);
  return Number(n);
}

const conditions = new Set(["$any", "$not", "$min", "$max", "$len", "$has", "$each", "$text"]);

/** Vars are what a run has noted by name. */
export class Vars {
  readonly #noted: Map<string, Value>;

  constructor(noted: Iterable<readonly [string, Value]> = []) {
    this.#noted = new Map(noted);
  }

  set(name: string, v: Value): void {
    this.#noted.set(name, v);
  }

  delete(name: string): void {
    this.#noted.delete(name);
  }

  get(name: string): Value {
    if (!this.#noted.has(name)) throw new Error(`nothing is noted as $${name}`);
    return this.#noted.get(name);
  }

  /** Replaces variables in a value. */
  resolve(v: Value): Value {
    if (typeof v === "string") return this.#text(v);
    if (Array.isArray(v)) return v.map((e) => this.resolve(e));
    if (!isObject(v)) return v;
    const made = this.#operate(v);
    if (made) return made[0];
    return Object.fromEntries(Object.entries(v).map(([name, e]) => [name, this.resolve(e)]));
  }

  #text(s: string): Value {
    if (s.startsWith("$$")) return s.slice(1);
    if (s.startsWith("$") && !s.startsWith("${")) return this.get(s.slice(1));
    return s.replace(/\$\{([^}]*)\}/g, (_, name) => String(this.get(name)));
  }

  #operate(o: Members): [Value] | undefined {
    const [[name, arg] = ["", undefined], ...more] = Object.entries(o);
    if (more.length > 0 || !["$sum", "$repeat", "$concat"].includes(name)) return undefined;
    const args = this.resolve(arg) as Value[];
    if (name === "$repeat") return [String(args[0]).repeat(whole(args[1]))];
    if (name === "$concat") return [(args as Value[][]).flat()];
    return [args.reduce<bigint>((sum, a) => sum + BigInt(String(a)), 0n)];
  }

  /** Holds a value against a pattern, and notes what the pattern names. */
  match(pattern: Value, got: Value): void {
    if (pattern === null || pattern === undefined) {
      if (got !== null && got !== undefined) throw new Mismatch(`there is ${show(got)}, and should be nothing`);
    } else if (typeof pattern === "string") {
      this.#matchText(pattern, got);
    } else if (Array.isArray(pattern)) {
      if (!Array.isArray(got) || got.length !== pattern.length) {
        throw new Mismatch(`want ${pattern.length} elements, got ${show(got)}`);
      }
      for (const [i, p] of pattern.entries()) at(`[${i}]`, () => this.match(p, got[i]));
    } else if (isObject(pattern)) {
      this.#matchObject(pattern, got);
    } else {
      same(pattern, got);
    }
  }

  #matchObject(p: Members, got: Value): void {
    const [[name, arg] = ["", undefined], ...more] = Object.entries(p);
    if (more.length === 0 && conditions.has(name)) return this.#check(name, arg, got);
    const made = this.#operate(p);
    if (made) return same(made[0], got);
    if (!isObject(got)) throw new Mismatch(`${show(got)} is not an object`);
    for (const name of Object.keys(p).sort()) at(name, () => this.match(p[name], got[name]));
  }

  #matchText(p: string, got: Value): void {
    const name = /^\$([^${].*)$/.exec(p)?.[1];
    if (name !== undefined && !this.#noted.has(name)) {
      if (got === null || got === undefined) throw new Mismatch(`nothing is there to be noted as $${name}`);
      this.#noted.set(name, got);
      return;
    }
    same(this.#text(p), got);
  }

  #check(name: string, arg: Value, got: Value): void {
    switch (name) {
      case "$any":
        if (got === null || got === undefined) throw new Mismatch("there is nothing");
        return;
      case "$not":
        if (new Vars(this.#noted).#fits(arg, got)) throw new Mismatch(`${show(got)} should not be ${show(arg)}`);
        return;
      case "$each":
        for (const [i, e] of list(got).entries()) at(`[${i}]`, () => this.match(arg, e));
        return;
      case "$has":
        for (const p of list(arg)) {
          if (!list(got).some((e) => this.try(p, e))) throw new Mismatch(`${show(p)} is not among ${show(got)}`);
        }
        return;
    }
    const want = this.resolve(arg);
    if (name === "$text") {
      if (!String(got).includes(String(want))) throw new Mismatch(`${show(got)} doesn't hold ${show(want)}`);
    } else if (name === "$len") {
      const length = typeof got === "string" ? new TextEncoder().encode(got).length : list(got ?? []).length;
      this.match(want, length);
    } else {
      const [n, bound] = [integer(got), integer(want)];
      if (n === undefined || bound === undefined) throw new Mismatch(`${show(got)} against ${name}: not whole numbers`);
      if (name === "$min" ? n < bound : n > bound) throw new Mismatch(`${n} is not within ${name} ${bound}`);
    }
  }

  #fits(pattern: Value, got: Value): boolean {
    try {
      this.match(pattern, got);
      return true;
    } catch (e) {
      if (e instanceof Mismatch) return false;
      throw e;
    }
  }

  /** Whether a value fits; variables are noted only where the whole pattern does. */
  try(pattern: Value, got: Value): boolean {
    const t = new Vars(this.#noted);
    if (!t.#fits(pattern, got)) return false;
    for (const [name, v] of t.#noted) this.#noted.set(name, v);
    return true;
  }

  /** How many elements fit, each by itself. */
  count(pattern: Value, got: Value): number {
    return list(got).filter((e) => new Vars(this.#noted).#fits(pattern, e)).length;
  }
}

/** Puts the place into what a part says. */
function at(place: string, f: () => void): void {
  try {
    f();
  } catch (e) {
    if (e instanceof Mismatch) throw new Mismatch(`${place}: ${e.message}`);
    throw e;
  }
}

/** A list, or a mismatch. */
export function list(v: Value): Value[] {
  if (!Array.isArray(v)) throw new Mismatch(`${show(v)} is not a list`);
  return v;
}

function same(want: Value, got: Value): void {
  const numbers = typeof want !== "string" && typeof got !== "string" && integer(want) !== undefined;
  if (numbers ? String(want) === String(got) : show(want) === show(got)) return;
  throw new Mismatch(`want ${show(want)}, got ${show(got)}`);
}
