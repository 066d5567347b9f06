package settlement

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hapax/internal/settle"
)

// TestStandingRow compares the pruned list of a key with looking through all its rows.
func TestStandingRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 12).Draw(t, "since")
		r := newRegistry()
		head := uint32(0)
		for i, since := range rows {
			head = r.push(head, settle.Registration{Since: since, WindowS: int64(i)})
		}
		list := r.list(head, nil)
		for seq := range int64(11) {
			want := int64(-1)
			for i, since := range rows {
				if since <= seq {
					want = int64(i)
				}
			}
			for how, row := range map[string]*settle.Registration{"walking": r.stands(head, seq), "searching": standingAt(list, seq)} {
				got := int64(-1)
				if row != nil {
					got = row.WindowS
				}
				if got != want {
					t.Errorf("%s: row %d stands for seq %d, want %d", how, got, seq, want)
				}
			}
			if r.knows(head, seq) != (want >= 0) {
				t.Errorf("known at seq %d: %t", seq, r.knows(head, seq))
			}
		}
	})
}

// TestKeys numbers many keys, among them such as share a tag's slot, and finds each again and no other.
func TestKeys(t *testing.T) {
	k := newKeys()
	name := func(i int) keyName {
		row := fmt.Appendf(nil, "t%d\ts%d\tk%d", i%700, i%1500, i)
		tenant := len(fmt.Sprint("t", i%700))
		source := tenant + 1 + len(fmt.Sprint("s", i%1500))
		return keyName{tenant: row[:tenant], source: row[tenant+1 : source], key: row[source+1:]}
	}
	const count = 100_000
	for i := range count {
		record, isNew := k.add(name(i))
		if !isNew || numberOf(record) != uint32(i) {
			t.Fatalf("key %d is number %d, new %t", i, numberOf(record), isNew)
		}
		setRows(record, uint32(i)+7)
	}
	for i := range count {
		n := name(i)
		if record, isNew := k.add(n); isNew || numberOf(record) != uint32(i) {
			t.Fatalf("key %d was added twice", i)
		}
		ref, ok := k.find(n.pair(), n.key)
		if !ok || ref.number != uint32(i) || ref.rows != uint32(i)+7 {
			t.Fatalf("key %d is found as %+v %t", i, ref, ok)
		}
		record := k.record(uint32(i))
		if nameOf(record) != string(n.key) || k.pairs.list[pairOf(record)].text != string(n.pair()) {
			t.Fatalf("key %d has the names %q of %q", i, nameOf(record), k.pairs.list[pairOf(record)].text)
		}
	}
	for _, absent := range [][2]string{{"t0\ts0", "k1"}, {"t0\ts1", "k0"}, {"t0", "k0"}, {"t0\ts0", ""}, {"x\ty", "k0"}} {
		if _, ok := k.find([]byte(absent[0]), []byte(absent[1])); ok {
			t.Errorf("%q is found", absent)
		}
	}
	if k.bytes() > count*150 {
		t.Errorf("%d keys take %d bytes", count, k.bytes())
	}
}

// TestOneTagManyKeys gives two keys of one length the same tag: they are told apart by their names.
func TestOneTagManyKeys(t *testing.T) {
	k := newKeys()
	row := []byte("t\ts\tk1")
	record, _ := k.add(keyName{tenant: row[:1], source: row[2:3], key: row[4:]})
	q := k.ask([]byte("t\ts"), []byte("k1"))
	for name, want := range map[string]bool{"k1": true, "k2": false, "j1": false, "k": false, "k11": false} {
		q.name = []byte(name)
		k.probe(&q)
		if _, found := k.answer(&q); found != want {
			t.Errorf("with the tag of k1, %q is found %t", name, found)
		}
	}
	if pairOf(record) != q.pair {
		t.Error("the pair isn't the record's")
	}
}

// TestPartsOfAKeyAreApart is G10 for files: ("ab","c") is not ("a","bc"), and each part counts.
func TestPartsOfAKeyAreApart(t *testing.T) {
	r := newRegistry()
	rows := []string{"t\tab\tc", "t\ta\tbc", "u\tab\tc", "t\tb\tc", "t\tab\td"}
	text := strings.Join(rows, "\twire\t0\t1\n") + "\twire\t0\t1\n"
	if err := r.load(strings.NewReader(text), func(int64, reason) {}); err != nil {
		t.Fatal(err)
	}
	if r.keys.count != len(rows) {
		t.Errorf("%d keys, want %d", r.keys.count, len(rows))
	}
}

// TestCapacityOfAPair is the largest of its keys' last good rows, whatever their since.
func TestCapacityOfAPair(t *testing.T) {
	r := newRegistry()
	var skipped []string
	text := "t\ts\ta\twire\t0\t9\nt\ts\ta\twire\t0\t2\nt\ts\tb\twire\t0\t3\t500\nt\ts\tb\twire\t0\tbad\nt\ts\tc\twire\t0\t1\nt\tother\ta\twire\t0\t7\n"
	if err := r.load(strings.NewReader(text), func(line int64, why reason) { skipped = append(skipped, fmt.Sprint(line, why)) }); err != nil {
		t.Fatal(err)
	}
	r.loaded()
	if got := r.keys.pairs.list[0].capacity; got != 3 {
		t.Errorf("capacity %d, want 3", got)
	}
	if got := r.keys.pairs.list[1].capacity; got != 7 {
		t.Errorf("capacity of the other pair %d, want 7", got)
	}
	if fmt.Sprint(skipped) != "[4 lru_capacity]" {
		t.Errorf("skipped %v", skipped)
	}
}
