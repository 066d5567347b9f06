package storetest

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// picture writes all that a view shows into lines, by every one of its methods; a method that contradicts another fails. Two stores with equal
// pictures answer every question alike. An empty store is one line.
func picture(t Failer, v store.BooksView) (lines []string) {
	t.Helper()
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	h := v.Head()
	add("head %+v", h)
	number, ofTenant := int64(0), map[string][]int64{}
	for record, err := range v.Records(0) {
		number++
		entry := recordOf(t, must(record, err)(t))
		if entry.Number != number {
			t.Fatal("record", entry.Number, "comes as the", number, "th")
		}
		if again := must(v.Record(number))(t); !bytes.Equal(again, record) {
			t.Fatal("record", number, "reads differently alone")
		}
		add("record %d %x", number, record)
		if e, ok := entry.Record.(*gateway.EventRecord); ok {
			if n := must(v.Number(e.ID))(t); n != number {
				t.Fatal("event", e.ID, "has number", n, "want", number)
			}
			ofTenant[e.Tenant] = append(ofTenant[e.Tenant], number)
			add("body %d %s", number, bodyLine(must(v.Body(number))(t)))
		}
	}
	if number != h.Number {
		t.Fatal(number, "records, the head says", h.Number)
	}
	for tenant, want := range ofTenant {
		slices.Reverse(want)
		if got := tenantEvents(t, v, tenant, math.MaxInt64); !slices.Equal(got, want) {
			t.Fatal("the events of tenant", tenant, "are told as", got, "want", want)
		}
	}
	for _, s := range must(v.Sources())(t) {
		add("source %+v", s)
		lines = append(lines, pictureOfSource(t, v, s.Tenant, s.Name)...)
	}
	for k, err := range v.Keys("", "", "") {
		if one := must(v.Key(k.Name))(t); fmt.Sprint(one) != fmt.Sprint(must(k, err)(t).Key) {
			t.Fatal("key", k.Name, "reads differently alone")
		}
		add("key %+v", k)
	}
	for _, b := range must(v.Books())(t) {
		add("book %+v", b)
		for _, limit := range []int64{0, 1, 2, 1 << 40} {
			add("repeated %+v %d: %+v", b.BookName, limit, must(v.Repeated(b.BookName.Currency, b.BookName.Tenant, b.BookName.Source, limit))(t))
		}
	}
	return append(lines, pictureOfOutbox(t, v)...)
}

func tenantEvents(t Failer, v store.BooksView, tenant string, before int64) (numbers []int64) {
	t.Helper()
	for n, err := range v.TenantEvents(tenant, before) {
		numbers = append(numbers, must(n, err)(t))
	}
	return numbers
}

func recordOf(t Failer, record []byte) gateway.Entry {
	t.Helper()
	return must(gateway.ReadRecord(record))(t)
}

func bodyLine(b *gateway.Body) string {
	if b == nil {
		return "erased"
	}
	return fmt.Sprintf("%q %q %q", b.ContentType, b.Headers, b.Bytes)
}

func pictureOfSource(t Failer, v store.BooksView, tenant, source string) (lines []string) {
	t.Helper()
	lines = append(lines, fmt.Sprintf("capacity %d", must(v.Capacity(tenant, source))(t)))
	last, n := "", 0
	for k, err := range v.Keys(tenant, source, "") {
		must(k, err)(t)
		if k.Name.Tenant != tenant || k.Name.Source != source || k.Name.Key <= last {
			t.Fatal("key", k.Name, "comes after", last, "in", tenant, source)
		}
		last = k.Name.Key
		if n++; n == 2 { // a page that begins there goes on with the rest
			for next, err := range v.Keys(tenant, source, last) {
				lines = append(lines, fmt.Sprintf("after %q comes %q", last, must(next, err)(t).Name.Key))
				break
			}
		}
	}
	times := []int64{0, 1 << 60}
	for d, err := range v.Deliveries() {
		if must(d, err)(t); d.Name.Tenant == tenant && d.Name.Source == source && d.Due != gateway.Held {
			times = append(times, d.Due)
		}
	}
	slices.Sort(times)
	for _, at := range times {
		for _, limit := range []int{1, 100} {
			rows, next, err := v.Due(tenant, source, at, limit)
			lines = append(lines, fmt.Sprintf("due %d %d: %+v next %d", at, limit, must(rows, err)(t), next))
		}
	}
	lines = append(lines, fmt.Sprintf("dead of the source %+v", must(v.DeadLetters(tenant, source, 0, 100))(t)))
	dead := must(v.DeadLetters(tenant, "", 0, 100))(t)
	lines = append(lines, fmt.Sprintf("dead of the tenant %+v", dead))
	if len(dead) > 1 {
		lines = append(lines, fmt.Sprintf("dead after the first %+v", must(v.DeadLetters(tenant, "", dead[0].Number, 1))(t)))
	}
	return lines
}

func pictureOfOutbox(t Failer, v store.BooksView) (lines []string) {
	t.Helper()
	last := int64(0)
	for d, err := range v.Deliveries() {
		one := must(v.Delivery(must(d, err)(t).Number))(t)
		if one == nil || fmt.Sprint(*one) != fmt.Sprint(d) || d.Number <= last {
			t.Fatal("delivery", d.Number, "after", last, "reads differently alone:", one)
		}
		last = d.Number
		lines = append(lines, fmt.Sprintf("delivery %+v", d))
	}
	for _, c := range must(v.Outbox())(t) {
		lines = append(lines, fmt.Sprintf("outbox %+v", c))
	}
	return lines
}

// same fails where two stores' pictures differ, and says where.
func same(t Failer, a, b []string) {
	t.Helper()
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Fatal(fmt.Sprintf("line %d:\n%s\nwant\n%s", i, x, y))
		}
	}
}

// ledgerOf is the ledger of a tenant's source in a currency, as the report wants it.
func ledgerOf(t Failer, v store.BooksView, n gateway.BookName) []settle.Entry {
	t.Helper()
	return must(v.Repeated(n.Currency, n.Tenant, n.Source, must(v.Capacity(n.Tenant, n.Source))(t)))(t)
}
