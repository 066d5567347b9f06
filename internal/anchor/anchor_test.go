package anchor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func head(n int64) Head {
	return Head{At: time.Unix(1_700_000_000+n, 0).UTC(), Number: n, Hash: [32]byte{byte(n), 0xAB}}
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "anchor")
	var want []Head
	for n := int64(1); n < 5; n++ {
		if err := Append(path, head(n)); err != nil {
			t.Fatal(err)
		}
		want = append(want, head(n))
	}
	if got, err := Read(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestALineCutOffAnywhere cuts the last line at each byte, as a crash may, and goes on behind it.
func TestALineCutOffAnywhere(t *testing.T) {
	first, second := head(7).Line(), head(8).Line()
	for cut := range second {
		path := filepath.Join(t.TempDir(), "anchor")
		if err := os.WriteFile(path, append(bytes.Clone(first), second[:cut]...), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path); err != nil || !reflect.DeepEqual(got, []Head{head(7)}) {
			t.Fatalf("cut at %d: %v, %v", cut, got, err)
		}
		if err := Append(path, head(9)); err != nil {
			t.Fatal(err)
		}
		want := []Head{head(7), head(9)}
		if cut == len(second)-1 { // only its line end was missing
			want = []Head{head(7), head(8), head(9)}
		}
		if got, err := Read(path); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d and gone on: %v, %v", cut, got, err)
		}
	}
}

func TestWhatIsNoAnchor(t *testing.T) {
	line := string(head(7).Line())
	for _, text := range []string{"", "\n", "hello\n", line + "2023-11-14 7\n", line + "x" + line, line[:len(line)-2] + "G\n", line[:len(line)-1] + "0\n", "2023-13-14T22:13:20Z" + line[20:]} {
		path := filepath.Join(t.TempDir(), "anchor")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path); !errors.Is(err, ErrForm) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := Append(filepath.Join(t.TempDir(), "no", "folder"), head(1)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
