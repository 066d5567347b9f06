-- The same judgement in SQL. Amounts here have none or two decimals, so cents are exact integers.
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -1000000;
PRAGMA threads = 2;
CREATE TABLE dedupe (tenant TEXT, source TEXT, dedupe_key TEXT, scope TEXT, window_s INTEGER, lru_capacity INTEGER);
CREATE TABLE events (seq INTEGER, tenant TEXT, source TEXT, dedupe_key TEXT, scope TEXT, seen_at INTEGER, amount TEXT, state TEXT, lru_rank INTEGER);
.mode ascii
.separator "\t" "\n"
.import dedupe.tsv dedupe
.import events.tsv events
CREATE UNIQUE INDEX registry ON dedupe (tenant, source, dedupe_key);
CREATE TEMP VIEW looked_up AS
  SELECT e.rowid AS place, e.seq, e.tenant, e.source, e.dedupe_key, e.seen_at, e.state, e.lru_rank, d.rowid AS key,
    CASE e.scope WHEN '' THEN d.scope ELSE e.scope END AS scope,
    CASE d.window_s WHEN 0 THEN 120 ELSE d.window_s END AS window_s,
    CASE WHEN (e.amount GLOB '[0-9]' OR e.amount GLOB '[0-9]*[0-9]') AND e.amount NOT GLOB '*[^0-9.]*'
           AND e.amount NOT GLOB '*.*.*' AND e.amount NOT GLOB '0[0-9]*'
         THEN CASE WHEN instr(e.amount, '.') THEN CAST(replace(e.amount, '.', '') AS INTEGER) ELSE CAST(e.amount AS INTEGER) * 100 END
    END AS cents
  FROM events e LEFT JOIN dedupe d ON d.tenant = e.tenant AND d.source = e.source AND d.dedupe_key = e.dedupe_key;
CREATE TABLE judged AS
  SELECT key, tenant, seq, seen_at, lru_rank, cents, before_state,
    seen_at - before_at <= window_s AND before_scope = scope AS repeats
  FROM (SELECT *, lag(seen_at) OVER chain AS before_at, lag(scope) OVER chain AS before_scope, lag(state) OVER chain AS before_state
        FROM looked_up WHERE key IS NOT NULL AND cents IS NOT NULL
        WINDOW chain AS (PARTITION BY key ORDER BY seen_at, seq, place));
CREATE TABLE hits AS
  SELECT key, count(*) AS hits, lru_rank, seen_at, seq, max(seen_at * 100000000 + seq) AS latest
  FROM judged WHERE repeats GROUP BY key HAVING count(*) >= 3;
.mode tabs
.output figures.sqlite
SELECT 'accept', count(*), sum(cents) FROM judged WHERE repeats IS NOT 1;
SELECT 'duplicate_' || before_state, count(*) FROM judged WHERE repeats GROUP BY before_state ORDER BY before_state;
SELECT 'both', sum(cents) FROM judged WHERE repeats;
SELECT 'unknown_key', count(*) FROM looked_up WHERE key IS NULL;
SELECT 'bad_amount', count(*) FROM looked_up WHERE key IS NOT NULL AND cents IS NULL;
SELECT 'tenant', tenant, sum(cents) FROM judged WHERE repeats IS NOT 1 GROUP BY tenant ORDER BY tenant;
SELECT 'lru', tenant, source, dedupe_key, hits, lru_rank, seen_at, seq
  FROM (SELECT d.tenant, d.source, d.dedupe_key, h.*, d.lru_capacity,
          row_number() OVER (PARTITION BY d.tenant, d.source ORDER BY h.lru_rank DESC, h.seen_at DESC, h.seq DESC) AS nth
        FROM hits h JOIN dedupe d ON d.rowid = h.key)
  WHERE nth <= lru_capacity ORDER BY lru_rank, seen_at, seq;
