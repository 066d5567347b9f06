package gateway_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// records are one of each kind, with no field zero.
func records() []gateway.Record {
	n := gateway.Name{Tenant: "tenant", Source: "source", Key: "kéy"}
	return []gateway.Record{
		&gateway.PolicyRecord{Policy: settle.Policy{BlockWindowS: 3600, ScopeStrict: true, LRUMinHits: 2}},
		&gateway.SourceRecord{Tenant: "tenant", Source: "source", Settings: gateway.Settings{
			WindowS: 60, Scope: settle.ScopeWire, LRUCapacity: 9, Open: true, Forward: true, Parts: 2, Guard: gateway.GuardReject, GuardS: 60,
		}},
		&gateway.RegisterRecord{Name: n, Scope: settle.ScopeSchema, WindowS: 1 << 40, LRUCapacity: 3, Origin: gateway.OriginAPI, By: "open"},
		&gateway.UnregisterRecord{Name: n, Origin: gateway.OriginAPI, By: "ann"},
		&gateway.EventRecord{
			Name: n, ID: "ev_1", Decision: gateway.DuplicatePending, Currency: "USD", Amount: "1.00", AmountOK: true,
			Said: settle.ScopeWire, Scope: settle.ScopeSchema, State: settle.StatePending, Named: true, NamedAt: -5, SeenAt: 1_700_000_000, WindowS: 60,
			Prior: 7, Predecessor: 6, PredecessorState: settle.StatePending, Root: 5, Forwarded: true,
			Fingerprint: gateway.HashOf([]byte("f")), Digest: gateway.HashOf([]byte("d")), Strict: true, Twin: 4,
		},
		&gateway.DeliveryRecord{Event: 5, What: gateway.Died, Reason: "404", Sends: 3, Origin: gateway.OriginDuplicate, By: "ann"},
		&gateway.LossRecord{From: 92, Hash: gateway.HashOf([]byte("92")), To: 27, By: "ann", Reason: "the disk"},
	}
}

// oldRecords are of the kinds that named no origin, guard or twin.
func oldRecords() []gateway.Record {
	n := gateway.Name{Tenant: "tenant", Source: "source", Key: "kéy"}
	return []gateway.Record{
		&gateway.RegisterRecord{Name: n, Scope: settle.ScopeSchema, WindowS: 1 << 40, LRUCapacity: 3, By: "open"},
		&gateway.UnregisterRecord{Name: n, By: "ann"},
		&gateway.DeliveryRecord{Event: 5, What: gateway.Died, Reason: "404", Sends: 3, By: "duplicate"},
		&gateway.SourceRecord{Tenant: "tenant", Source: "source", Settings: gateway.Settings{WindowS: 60, Scope: settle.ScopeWire, Parts: 2}},
		&gateway.EventRecord{Name: n, ID: "ev_1", Currency: "USD", Amount: "1.00", SeenAt: 1_700_000_000},
	}
}

func recordBytes(r gateway.Record) []byte {
	return gateway.AppendRecord(nil, 42, gateway.HashOf([]byte("before")), 1_700_000_000_123, r)
}

func TestRecordsReadBack(t *testing.T) {
	for _, r := range append(records(), oldRecords()...) {
		e, err := gateway.ReadRecord(recordBytes(r))
		if err != nil {
			t.Fatalf("%T: %v", r, err)
		}
		want := gateway.Entry{Number: 42, Before: gateway.HashOf([]byte("before")), At: 1_700_000_000_123, Record: r}
		if !reflect.DeepEqual(e, want) {
			t.Errorf("%+v\nwant %+v", e.Record, r)
		}
		zero := reflect.New(reflect.TypeOf(r).Elem()).Interface().(gateway.Record)
		if e, err = gateway.ReadRecord(gateway.AppendRecord(nil, 0, gateway.Hash{}, 0, zero)); err != nil || !reflect.DeepEqual(e.Record, zero) {
			t.Errorf("of zeros: %+v, %v", e.Record, err)
		}
	}
}

func TestBriefIsTheRecords(t *testing.T) {
	for _, r := range records() {
		text := recordBytes(r)
		b, err := gateway.ReadBrief(text)
		e, isEvent := r.(*gateway.EventRecord)
		if err != nil || b.Number != 42 || b.At != 1_700_000_000_123 || b.Event != isEvent {
			t.Errorf("%T: %+v, %v", r, b, err)
		}
		if isEvent && (string(b.Tenant) != e.Tenant || string(b.Source) != e.Source || b.Decision != e.Decision) {
			t.Errorf("%+v of %+v", b, e)
		}
		for n := range 20 {
			if b, err := gateway.ReadBrief(text[:n]); err == nil {
				t.Errorf("%T cut to %d bytes: %+v", r, n, b)
			}
		}
	}
}

// TestNoFieldIsForgotten: changing any one field changes the bytes.
func TestNoFieldIsForgotten(t *testing.T) {
	for i, r := range records() {
		was := recordBytes(r)
		fields := reflect.ValueOf(r).Elem()
		for _, f := range reflect.VisibleFields(fields.Type()) {
			if f.Anonymous {
				continue
			}
			changed := records()[i]
			switch v := reflect.ValueOf(changed).Elem().FieldByIndex(f.Index); v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Int64:
				v.SetInt(v.Int() + 1)
			case reflect.Bool:
				v.SetBool(!v.Bool())
			case reflect.Uint8:
				v.SetUint(v.Uint() - 1)
			case reflect.Array:
				v.Index(31).SetUint(v.Index(31).Uint() ^ 1)
			default:
				t.Fatalf("%T.%s is a %v", r, f.Name, v.Kind())
			}
			if bytes.Equal(was, recordBytes(changed)) {
				t.Errorf("%T.%s isn't in the record", r, f.Name)
			}
		}
	}
	r := records()[0]
	was := recordBytes(r)
	for what, other := range map[string][]byte{
		"number": gateway.AppendRecord(nil, 43, gateway.HashOf([]byte("before")), 1_700_000_000_123, r),
		"before": gateway.AppendRecord(nil, 42, gateway.HashOf([]byte("other")), 1_700_000_000_123, r),
		"at":     gateway.AppendRecord(nil, 42, gateway.HashOf([]byte("before")), 1_700_000_000_124, r),
	} {
		if bytes.Equal(was, other) {
			t.Errorf("the %s isn't in the record", what)
		}
	}
	if out := gateway.AppendRecord([]byte("abc"), 42, gateway.HashOf([]byte("before")), 1_700_000_000_123, r); string(out[:3]) != "abc" || !bytes.Equal(out[3:], was) {
		t.Error("a record isn't appended")
	}
}

// TestEveryByteCounts: a record with a byte changed, removed or added is refused or is another one.
func TestEveryByteCounts(t *testing.T) {
	for _, r := range append(records(), oldRecords()...) {
		was := recordBytes(r)
		for i := range was {
			for bit := range 8 {
				changed := bytes.Clone(was)
				changed[i] ^= 1 << bit
				canonical(t, changed)
			}
			canonical(t, append(bytes.Clone(was[:i]), was[i+1:]...))
			for _, extra := range []byte{0, 1, 8, 0x80, 0xff} {
				canonical(t, append(append(bytes.Clone(was[:i]), extra), was[i:]...))
			}
			if _, err := gateway.ReadRecord(was[:i]); !errors.Is(err, gateway.ErrRecord) {
				t.Fatalf("%T cut to %d bytes: %v", r, i, err)
			}
		}
		for _, extra := range []byte{0, 1, 0xff} {
			if _, err := gateway.ReadRecord(append(bytes.Clone(was), extra)); !errors.Is(err, gateway.ErrRecord) {
				t.Fatalf("%T and a byte more: %v", r, err)
			}
		}
	}
}

// canonical: bytes that are read are those that are written of what was read. So no two texts are one record.
func canonical(t *testing.T, text []byte) {
	t.Helper()
	e, err := gateway.ReadRecord(text)
	if err != nil {
		if !errors.Is(err, gateway.ErrRecord) || e.Record != nil {
			t.Fatalf("%x: %+v, %v", text, e, err)
		}
		return
	}
	if again := gateway.AppendRecord(nil, e.Number, e.Before, e.At, e.Record); !bytes.Equal(again, text) {
		t.Fatalf("%x is read as %+v, which is written %x", text, e, again)
	}
}

// TestRecordFaults: what is wrong is told.
func TestRecordFaults(t *testing.T) {
	text := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	integer := append([]byte{8}, make([]byte, 8)...)
	head := func(kind string) []byte {
		return bytes.Join([][]byte{text(kind), integer, append([]byte{32}, make([]byte, 32)...), integer}, nil)
	}
	flag := append([]byte{8, 0, 0, 0, 0, 0, 0, 0}, 2)
	for name, bad := range map[string][]byte{
		"unknown kind":    head("evemt"),
		"cut off":         nil,
		"not minimal":     bytes.Join([][]byte{{0x86, 0x00}, head("policy")[1:], integer, integer, integer}, nil), // else whole
		"8 bytes":         append(text("policy"), text("1234567")...),
		"32 bytes":        bytes.Join([][]byte{text("policy"), integer, text("short")}, nil),
		"neither 0 nor 1": bytes.Join([][]byte{head("policy"), integer, flag, integer}, nil),
		"scope":           bytes.Join([][]byte{head("register"), text("t"), text("s"), text("k"), text("Wire"), integer, integer, text("")}, nil),
		"after the last":  bytes.Join([][]byte{head("policy"), integer, integer, integer, integer}, nil),
	} {
		if _, err := gateway.ReadRecord(bad); !errors.Is(err, gateway.ErrRecord) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecisionNames(t *testing.T) {
	for d := gateway.UnknownKey; d <= gateway.Accept; d++ {
		if got, ok := gateway.ParseDecision(d.String()); !ok || got != d {
			t.Errorf("%v reads back as %v", d, got)
		}
		if d.Rejected() == (d.Deduped() || d == gateway.Accept) {
			t.Errorf("%v is of two kinds, or of none", d)
		}
	}
	if _, ok := gateway.ParseDecision("Accept"); ok {
		t.Error("names are exact")
	}
}

func FuzzReadRecord(f *testing.F) {
	for _, r := range append(records(), oldRecords()...) {
		f.Add(recordBytes(r))
	}
	f.Fuzz(canonical)
}
