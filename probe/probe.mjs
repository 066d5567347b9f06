// The probe: the settlement contract (docs/spec/contract.md) once more, for a reader with five minutes and no trust.
//
//   node probe/probe.mjs DIR      report → standard output, malformed rows and faults → standard error,
//                                 exit status as of `hapax settle` (0, 2, 3; 70 where the machine failed)
//   node probe/probe.mjs --batch  a folder a line on standard input → a JSON line each: status, report, malformed, fault
//
// One file, no dependency, no build. It reads whole files and folds event by event: made to be read, not to be fast.

import { createHash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

class Stop extends Error { // nothing is reported: 3 for a contract error, 2 for an unreadable fact
  constructor(status, reason, detail = '') { super(reason); Object.assign(this, { status, detail }); }
}

// ---- Inputs (section 1) ----

const ABSENT = ['ENOENT', 'EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The rows of a file as {line, columns}; columns are null where the line breaks every rule. */
function rows(dir, file, status) {
  let bytes;
  try {
    bytes = readFileSync(join(dir, file));
  } catch (e) {
    if (ABSENT.includes(e.code)) throw new Stop(status, `unreadable:${file}`);
    throw e;
  }
  if (['fffe', 'feff'].includes(bytes.subarray(0, 2).toString('hex'))) throw new Stop(status, `unreadable:${file}`, ': UTF-16');
  const out = [];
  let from = bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 3 : 0;
  for (let line = 1; from < bytes.length; line++) {
    const lf = bytes.indexOf(0x0a, from);
    const next = lf < 0 ? bytes.length : lf + 1;
    let to = lf < 0 ? bytes.length : lf;
    if (to > from && bytes[to - 1] === 0x0d) to--;
    const text = decoded(bytes.subarray(from, to));
    if (text === null) out.push({ line, columns: null });
    else if (!text.startsWith('#') && !/^[ \t]*$/.test(text)) out.push({ line, columns: text.split('\t') });
    from = next;
  }
  return out;
}

function decoded(bytes) {
  if (bytes.length > 65536) return null;
  try { return UTF8.decode(bytes); } catch { return null; }
}

const isInteger = (s) => /^(0|[1-9][0-9]{0,14})$/.test(s);
const isName = (s) => s !== '' && Buffer.byteLength(s) <= 256 && !/\p{Cc}/u.test(s) && !/^\p{White_Space}|\p{White_Space}$/u.test(s);
const isTenant = (s) => isName(s) && !s.startsWith('#');
const isScope = (s) => s === 'schema' || s === 'wire';
const isState = (s) => s === 'done' || s === 'pending';
const isAmount = (s) => /^(0|[1-9][0-9]{0,17})(\.[0-9]{1,8})?$/.test(s);

/** The first rule that a row breaks, or null. */
function fault(columns, counts, rules) {
  if (columns === null) return 'line';
  if (!counts.includes(columns.length)) return 'columns';
  return Object.keys(rules).find((name, i) => i < columns.length && !rules[name](columns[i])) ?? null;
}

const KEY = { tenant: isTenant, source: isName, dedupe_key: isName };
const DEDUPE = { ...KEY, scope: isScope, window_s: isInteger, lru_capacity: isInteger, since: isInteger };
const OPENING = { ...KEY, scope: isScope, seen_at: isInteger, state: isState };
const EVENT = {
  seq: isInteger, ...KEY, scope: (s) => s === '' || isScope(s), seen_at: isInteger,
  amount: () => true, state: isState, lru_rank: isInteger,
};
const keyOf = (tenant, source, dedupeKey) => `${tenant}\t${source}\t${dedupeKey}`; // no name holds a tab

function readPolicy(dir) {
  const allowed = { BLOCK_WINDOW_S: isInteger, SCOPE_STRICT: (s) => s === '0' || s === '1', LRU_MIN_HITS: isInteger };
  const policy = new Map();
  for (const { line, columns } of rows(dir, 'policy.tsv', 3)) {
    const [key, value] = columns ?? [];
    const good = columns?.length === 2 && Object.hasOwn(allowed, key) && !policy.has(key) && allowed[key](value);
    if (!good) throw new Stop(3, `contract:policy.tsv:${line}`);
    policy.set(key, Number(value));
  }
  if (policy.size < 3) throw new Stop(3, 'contract:policy.tsv: a key is missing');
  return Object.fromEntries(policy);
}

/** key → its good rows in the order of the file. */
function readRegistry(dir) {
  const registry = new Map();
  for (const { columns } of rows(dir, 'dedupe.tsv', 2)) {
    if (fault(columns, [6, 7], DEDUPE)) continue;
    const [tenant, source, dedupeKey, scope, window, capacity, since] = columns;
    const key = keyOf(tenant, source, dedupeKey);
    if (!registry.has(key)) registry.set(key, []);
    registry.get(key).push({ scope, window: Number(window), capacity: Number(capacity), since: Number(since ?? 0) });
  }
  return registry;
}

function readEvents(dir) {
  const events = [], malformed = [];
  for (const { line, columns } of rows(dir, 'events.tsv', 2)) {
    const reason = fault(columns, [9], EVENT);
    if (reason) { malformed.push(`${line}\t${reason}\n`); continue; }
    const [seq, tenant, source, dedupeKey, scope, seen, amount, state, rank] = columns;
    const key = keyOf(tenant, source, dedupeKey);
    events.push({ seq: Number(seq), tenant, source, dedupeKey, key, scope, seen: Number(seen), amount, state, rank: Number(rank) });
  }
  events.sort((a, b) => a.seen - b.seen || a.seq - b.seq); // stable: then by place in the file
  return { events, malformed: malformed.join('') };
}

/** key → its predecessor from an earlier period. */
function readOpening(dir) {
  const opening = new Map();
  try { lstatSync(join(dir, 'opening.tsv')); } catch (e) { if (e.code === 'ENOENT') return opening; }
  for (const { columns } of rows(dir, 'opening.tsv', 2)) {
    const key = columns && keyOf(...columns);
    if (fault(columns, [6], OPENING) || opening.has(key)) throw new Stop(2, 'unreadable:opening.tsv');
    opening.set(key, { scope: columns[3], seen: Number(columns[4]), state: columns[5] });
  }
  return opening;
}

// ---- Money: BigInt of 10^-8 units ----

function units(amount) {
  const [whole, decimals = ''] = amount.split('.');
  return BigInt(whole + decimals.padEnd(8, '0'));
}

function money(sum) {
  const digits = sum.toString().padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8).replace(/0+$/, '').padEnd(2, '0')}`;
}

// ---- Judging (section 2) and the report (section 3) ----

function settle(dir) {
  const policy = readPolicy(dir), registry = readRegistry(dir);
  const { events, malformed } = readEvents(dir);
  const predecessors = readOpening(dir);
  const counts = new Map(['accept', 'bad_amount', 'dedupe', 'duplicate_done', 'duplicate_pending', 'events', 'reject', 'unknown_key'].map((c) => [c, 0]));
  const count = (...names) => names.forEach((n) => counts.set(n, counts.get(n) + 1));
  const totals = new Map(), hits = new Map();
  let accepted = 0n, deduped = 0n;
  for (const e of events) {
    count('events');
    const row = registry.get(e.key)?.findLast((r) => r.since <= e.seq);
    if (!row) { count('reject', 'unknown_key'); continue; }
    if (!isAmount(e.amount)) { count('reject', 'bad_amount'); continue; }
    const scope = e.scope || row.scope, window = row.window || policy.BLOCK_WINDOW_S;
    const before = predecessors.get(e.key);
    if (before && e.seen - before.seen <= window && (policy.SCOPE_STRICT === 0 || before.scope === scope)) {
      count('dedupe', before.state === 'pending' ? 'duplicate_pending' : 'duplicate_done');
      deduped += units(e.amount);
      hits.set(e.key, { last: e, hits: (hits.get(e.key)?.hits ?? 0) + 1 });
    } else {
      count('accept');
      accepted += units(e.amount);
      totals.set(e.tenant, (totals.get(e.tenant) ?? 0n) + units(e.amount));
    }
    predecessors.set(e.key, { scope, seen: e.seen, state: e.state });
  }
  const report = new Map([
    ['counts', counts], ['accepted_total', money(accepted)], ['deduped_amount', money(deduped)],
    ['tenant_totals', new Map([...totals].map(([tenant, sum]) => [tenant, money(sum)]))],
    ['window_hits', counts.get('dedupe')], ['lru', ledger(hits, registry, policy.LRU_MIN_HITS)],
  ]);
  report.set('checksum', createHash('sha256').update(json(report)).digest('hex').slice(0, 16));
  report.set('ok', counts.get('reject') === 0);
  const status = report.get('ok') && malformed === '' ? 0 : 2;
  return { status, report: `${json(report, '\n')}\n`, malformed };
}

function ledger(hits, registry, minHits) {
  const room = new Map(); // tenant and source → the largest capacity among its keys
  for (const [key, good] of registry) {
    const pair = key.slice(0, key.lastIndexOf('\t'));
    room.set(pair, Math.max(room.get(pair) ?? 0, good.at(-1).capacity));
  }
  const oldestFirst = [...hits.values()].filter((h) => h.hits >= minHits).sort(({ last: a }, { last: b }) =>
    a.rank - b.rank || a.seen - b.seen || a.seq - b.seq ||
    bytewise(a.tenant, b.tenant) || bytewise(a.source, b.source) || bytewise(a.dedupeKey, b.dedupeKey));
  const kept = oldestFirst.reverse().filter(({ last }) => {
    const pair = `${last.tenant}\t${last.source}`;
    room.set(pair, room.get(pair) - 1);
    return room.get(pair) >= 0;
  });
  return kept.reverse().map(({ last, hits: n }) => new Map(Object.entries({
    dedupe_key: last.dedupeKey, hits: n, lru_rank: last.rank, seen_at: last.seen, seq: last.seq, source: last.source, tenant: last.tenant,
  })));
}

const bytewise = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** RFC 8785 text; indented where `gap` is a newline. Maps, since an object would reorder "10" and swallow "__proto__". */
function json(value, gap = '') {
  const inner = gap && `${gap}  `;
  if (Array.isArray(value)) return value.length ? `[${value.map((v) => inner + json(v, inner))}${gap}]` : '[]';
  if (!(value instanceof Map)) return JSON.stringify(value);
  const names = [...value.keys()].sort(); // JavaScript sorts strings by UTF-16 code units, as RFC 8785 does
  const members = names.map((n) => `${inner}${JSON.stringify(n)}:${gap && ' '}${json(value.get(n), inner)}`);
  return names.length ? `{${members}${gap}}` : '{}';
}

// ---- Command line ----

function run(dir) {
  try {
    return settle(dir);
  } catch (e) {
    return { status: e instanceof Stop ? e.status : 70, report: null, malformed: null, fault: e.message, detail: e.detail };
  }
}

const argument = process.argv[2];
if (process.argv.length !== 3) {
  console.error('usage: node probe.mjs DIR | --batch');
  process.exitCode = 64;
} else if (argument === '--batch') {
  const dirs = readFileSync(0, 'utf8').split('\n').filter((dir) => dir !== '');
  process.stdout.write(dirs.map((dir) => `${JSON.stringify(run(dir))}\n`).join(''));
} else {
  const { status, report, malformed, fault: reason, detail } = run(argument);
  process.stderr.write(malformed ?? `${reason}${detail ?? ''}\n`);
  process.stdout.write(report ?? '');
  process.exitCode = status;
}
