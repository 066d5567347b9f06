package audit

import "io"

// standing is a good row of dedupe.tsv.
type standing struct {
	since    int64 // the first event seq it stands for
	window   int64 // seconds; BLOCK_WINDOW_S already put in for 0
	capacity int64
	scope    scope
	earlier  uint32 // 1 + the place of the same key's good row before it; 0: none
}

// registry is dedupe.tsv: which keys are known, and by which rows.
type registry struct {
	keys    *keyTable
	rows    []standing // in the order of the file
	last    []uint32   // key → place of its last good row
	tenant  []uint32   // key → number of its tenant
	pair    []uint32   // key → number of its (tenant, source)
	tenants []string   // tenant number → name
	pairs   int        // how many (tenant, source) there are
	skipped []BadRow
}

var registryColumns = []string{"tenant", "source", "dedupe_key", "scope", "window_s", "lru_capacity", "since"}

// A registry's size is foretold by its file's, since slices that grow to hundreds of megabytes are copied again and
// again. Memory foretold and never touched costs nothing; the bound keeps a strange size from asking for the moon.
const (
	leastRow     = 48      // about how long a row is at least
	mostForetold = 1 << 32 // bytes of file
)

// readRegistry takes in the good rows and lists the others; only a failing reader is an error. size is the file's,
// in bytes, or 0.
func readRegistry(src io.Reader, size int64, p policy) (*registry, error) {
	size = min(size, mostForetold)
	expected := int(size / leastRow)
	reg := &registry{
		keys:   newKeyTable(expected, int(size)),
		rows:   make([]standing, 0, expected),
		last:   make([]uint32, 0, expected),
		tenant: make([]uint32, 0, expected),
		pair:   make([]uint32, 0, expected),
	}
	tenants, pairs := map[string]uint32{}, map[string]uint32{}
	var text []byte
	err := eachRow(src, func(line int, columns [][]byte) error {
		row, reason := registryRow(columns, p)
		if reason != "" {
			reg.skipped = append(reg.skipped, BadRow{Line: int64(line), Reason: reason})
			return nil
		}
		text = joinKey(text[:0], columns[0], columns[1], columns[2])
		key, known := reg.keys.add(text)
		if known {
			row.earlier = reg.last[key] + 1
			reg.last[key] = uint32(len(reg.rows))
		} else {
			reg.last = append(reg.last, uint32(len(reg.rows)))
			reg.tenant = append(reg.tenant, number(tenants, columns[0]))
			reg.pair = append(reg.pair, number(pairs, text[:len(columns[0])+1+len(columns[1])]))
		}
		reg.rows = append(reg.rows, row)
		return nil
	})
	reg.pairs = len(pairs)
	reg.tenants = make([]string, len(tenants))
	for name, i := range tenants {
		reg.tenants[i] = name
	}
	return reg, err
}

// registryRow reads one row whole, or gives the first rule that it breaks.
func registryRow(columns [][]byte, p policy) (row standing, reason string) {
	if columns == nil {
		return row, reasonLine
	}
	if len(columns) != 6 && len(columns) != 7 {
		return row, reasonColumns
	}
	var ok bool
	for i, text := range columns {
		switch i {
		case 0:
			ok = tenantName(text)
		case 1, 2:
			ok = name(text)
		case 3:
			row.scope, ok = statedScope(text)
		case 4:
			row.window, ok = integer(text)
		case 5:
			row.capacity, ok = integer(text)
		case 6:
			row.since, ok = integer(text)
		}
		if !ok {
			return row, registryColumns[i]
		}
	}
	if row.window == 0 {
		row.window = p.window
	}
	return row, ""
}

// capacities is the largest lru_capacity of each (tenant, source) among its keys, each by its last good row.
func (r *registry) capacities() []int64 {
	largest := make([]int64, r.pairs)
	for key, row := range r.last {
		largest[r.pair[key]] = max(largest[r.pair[key]], r.rows[row].capacity)
	}
	return largest
}

// standingRows gives the key's rows that can stand for some seq, latest `since` first: a row is hidden where a later
// one stands from the same seq or an earlier one.
func (r *registry) standingRows(into []standing, key uint32) []standing {
	for at := r.last[key] + 1; at != 0; at = r.rows[at-1].earlier {
		row := r.rows[at-1]
		if len(into) == 0 || row.since < into[len(into)-1].since {
			into = append(into, row)
		}
	}
	return into
}

func joinKey(into, tenant, source, dedupeKey []byte) []byte {
	into = append(append(into, tenant...), '\t')
	into = append(append(into, source...), '\t')
	return append(into, dedupeKey...)
}

func number(known map[string]uint32, name []byte) uint32 {
	if n, ok := known[string(name)]; ok {
		return n
	}
	n := uint32(len(known))
	known[string(name)] = n
	return n
}
