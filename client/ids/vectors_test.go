package ids

import (
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
)

// The file is embedded, as wasm has no disk. Its ids were computed by an implementation of BLAKE3 that this package doesn't use.
//
//go:embed testdata/vectors.json
var vectorFile []byte

type vectors struct {
	Domain  string
	Derive  []struct{ Device, Ordinal, ID string }
	Reserve []struct{ Mark, N, Jump, Start, Last, Error string }
	Parse   []struct {
		Text       string
		SDK, Valid bool
	}
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	if err := json.Unmarshal(vectorFile, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Derive) < 90 || len(v.Reserve) < 15 || len(v.Parse) < 15 {
		t.Fatalf("the file holds %d, %d, %d vectors", len(v.Derive), len(v.Reserve), len(v.Parse))
	}
	return v
}

func ordinal(t *testing.T, s string) Ordinal {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	o, err := OrdinalFrom(b)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestVectorsDerive(t *testing.T) {
	v := readVectors(t)
	if v.Domain+"\x00" != domain {
		t.Errorf("domain %q", v.Domain)
	}
	for _, c := range v.Derive {
		device := Device(ordinal(t, c.Device).Bytes())
		id := Make(device, ordinal(t, c.Ordinal))
		if id.String() != c.ID {
			t.Errorf("device %s ordinal %s: %v, want %s", c.Device, c.Ordinal, id, c.ID)
		}
		if back, err := Parse(c.ID); err != nil || back != id {
			t.Errorf("parsed %s: %v, %v", c.ID, back, err)
		}
	}
}

func TestVectorsReserve(t *testing.T) {
	for _, c := range readVectors(t).Reserve {
		n, err1 := strconv.ParseUint(c.N, 10, 64)
		jump, err2 := strconv.ParseUint(c.Jump, 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		l, err := Reserve(Device{9}, ordinal(t, c.Mark), n, jump)
		if c.Error != "" {
			if !errors.Is(err, ErrOverflow) {
				t.Errorf("%+v: %+v, %v", c, l, err)
			}
			continue
		}
		want := Lease{Device: Device{9}, Start: ordinal(t, c.Start), N: n}
		last, lastErr := l.Last()
		if err := errors.Join(err, lastErr); err != nil || l != want || last != ordinal(t, c.Last) {
			t.Errorf("%+v: %+v up to %+v, %v", c, l, last, err)
		}
	}
}

func TestVectorsParse(t *testing.T) {
	for _, c := range readVectors(t).Parse {
		id, err := Parse(c.Text)
		if (err == nil) != c.SDK || err == nil && id.String() != c.Text {
			t.Errorf("Parse(%q): %v, %v", c.Text, id, err)
		}
		if err := Check(c.Text); (err == nil) != c.Valid {
			t.Errorf("Check(%q): %v", c.Text, err)
		}
	}
}
