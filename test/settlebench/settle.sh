#!/bin/sh
# The same judgement by sort and one pass of awk. Amounts here have none or two decimals, so cents are exact in a double.
set -eu
export LC_ALL=C
tab=$(printf '\t')
sort -t "$tab" -s -S 2G --parallel=2 -T . -k6,6n -k1,1n events.tsv | awk -F '\t' -v OFMT='%.0f' -v CONVFMT='%.0f' '
function cents(text, point) {
  if (text !~ /^(0|[1-9][0-9]*)(\.[0-9][0-9])?$/) return -1
  point = index(text, ".")
  return point ? substr(text, 1, point - 1) * 100 + substr(text, point + 1) : text * 100
}
FILENAME == "dedupe.tsv" {
  key = $1 "\t" $2 "\t" $3
  scope[key] = $4
  window[key] = $5 == 0 ? 120 : $5
  next
}
{
  key = $2 "\t" $3 "\t" $4
  if (!(key in scope)) { unknown++; next }
  amount = cents($7)
  if (amount < 0) { bad++; next }
  judged = $5 == "" ? scope[key] : $5
  if (key in at && $6 - at[key] <= window[key] && was[key] == judged) {
    count["duplicate_" state[key]]++
    repeated += amount
    hits[key]++
    last[key] = $9 "\t" $6 "\t" $1
  } else {
    accept++
    total += amount
    tenant[$2] += amount
  }
  at[key] = $6; was[key] = judged; state[key] = $8
}
END {
  printf "accept\t%d\t%.0f\n", accept, total
  printf "duplicate_done\t%d\n", count["duplicate_done"]
  printf "duplicate_pending\t%d\n", count["duplicate_pending"]
  printf "both\t%.0f\n", repeated
  printf "unknown_key\t%d\nbad_amount\t%d\n", unknown, bad
  fflush()
  for (t in tenant) printf "tenant\t%s\t%.0f\n", t, tenant[t] | "sort"
  close("sort")
  # Most recent first, eight of each (tenant, source), then back into the order of the ledger.
  keep = "sort -t \"\t\" -k6,6nr -k7,7nr -k8,8nr | awk -F \"\\t\" \"n[\\$2 FS \\$3]++ < 8\" | sort -t \"\t\" -k6,6n -k7,7n -k8,8n"
  for (k in hits) if (hits[k] >= 3) print "lru\t" k "\t" hits[k] "\t" last[k] | keep
  close(keep)
}' dedupe.tsv - > figures.awk
