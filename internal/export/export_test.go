package export_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hapax/internal/export"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

// rig is a store with a policy (a window of 50 s) and the sources "s" (open) and "f" (registered keys, forwarded) of the tenant "t".
type rig struct {
	t   *testing.T
	st  *memory.Store
	ids int
}

const start = 1_000_000

func newRig(t *testing.T) *rig {
	r := &rig{t: t, st: memory.New()}
	r.enter(&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 50, ScopeStrict: true, LRUMinHits: 1}}, source("s", 0), source("f", 0))
	return r
}

func source(name string, window int64) *gateway.SetSource {
	return &gateway.SetSource{Tenant: "t", Source: name, Settings: gateway.Settings{
		WindowS: window, Scope: settle.ScopeWire, LRUCapacity: 3, Open: name == "s", Forward: name == "f", Parts: 1,
	}}
}

func name(source, key string) gateway.Name {
	return gateway.Name{Tenant: "t", Source: source, Key: key}
}

func (r *rig) enter(commands ...gateway.Command) []gateway.Outcome {
	r.t.Helper()
	outcomes, err := r.st.Enter(r.t.Context(), start*1000, commands)
	if err != nil {
		r.t.Fatal(err)
	}
	return outcomes
}

func (r *rig) event(n gateway.Name, change func(*gateway.Event)) gateway.Outcome {
	r.t.Helper()
	r.ids++
	e := &gateway.Event{Name: n, ID: fmt.Sprint("ev_", r.ids), Amount: "1.50", AmountOK: true, Currency: "USD", Body: &gateway.Body{}}
	if change != nil {
		change(e)
	}
	e.Value, _ = settle.ParseAmount([]byte(e.Amount))
	return r.enter(e)[0]
}

func (r *rig) export(out string) (s *export.Summary, err error) {
	err = r.st.ViewBooks(r.t.Context(), func(v store.BooksView) error {
		s, err = export.Export(r.t.Context(), v, out, 0o700)
		return err
	})
	return s, err
}

// files wants the lines of a folder's file.
func files(t *testing.T, path string, want ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(text) == 0 {
		got = nil
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const heading = "# tenant\tsource\tdedupe_key\tscope\twindow_s\tlru_capacity\tsince"

func row(columns ...any) string {
	text := make([]string, len(columns))
	for i, c := range columns {
		text[i] = fmt.Sprint(c)
	}
	return strings.Join(text, "\t")
}

// TestRowsOfEvents exports one of each decision. States are those that successors were measured against, else the present ones.
func TestRowsOfEvents(t *testing.T) {
	r := newRig(t) // records 1 to 3
	pending := func(e *gateway.Event) { e.State = settle.StatePending }
	r.event(name("s", "a"), pending)                                                                               // 4 registers, 5 accepted, pending
	r.event(name("s", "a"), nil)                                                                                   // 6 repeats it
	r.event(name("s", "a"), func(e *gateway.Event) { e.Currency = "JPY" })                                         // 7 mismatch of currencies
	r.event(name("s", "a"), func(e *gateway.Event) { e.Scope, e.State = settle.ScopeSchema, settle.StatePending }) // 8 accepted, in another scope
	r.event(name("f", "b"), nil)                                                                                   // 9 unknown
	r.enter(&gateway.Register{Name: name("f", "b"), Scope: settle.ScopeWire, LRUCapacity: 2, By: "ops"})
	first := r.event(name("f", "b"), nil) // 11 accepted, forwarded
	r.event(name("f", "b"), nil)          // 12 repeats it, pending
	r.enter(&gateway.Settled{Number: first.Number, OK: true})
	r.event(name("f", "b"), func(e *gateway.Event) { // 14 of other content
		e.Strict, e.Fingerprint = true, gateway.Hash{1}
	})
	out := filepath.Join(t.TempDir(), "out")
	s, err := r.export(out)
	if err != nil || s.Number != 14 || s.Registrations != 2 || len(s.Currencies) != 2 || s.Currencies[1] != (export.Currency{Name: "USD", Events: 6, Mismatches: 1}) {
		t.Errorf("%+v, %v", s, err)
	}
	files(t, out+"/USD/policy.tsv", "BLOCK_WINDOW_S\t50", "SCOPE_STRICT\t1", "LRU_MIN_HITS\t1")
	files(t, out+"/USD/events.tsv",
		row(5, "t", "s", "a", "wire", start, "1.50", "pending", 5),
		row(6, "t", "s", "a", "wire", start, "1.50", "done", 6),
		row(8, "t", "s", "a", "schema", start, "1.50", "pending", 8),
		row(9, "t", "f", "b", "", start, "1.50", "done", 9),
		row(11, "t", "f", "b", "wire", start, "1.50", "pending", 11),
		row(12, "t", "f", "b", "wire", start, "1.50", "done", 12))
	files(t, out+"/USD/mismatches.tsv", row(14, "t", "f", "b", "wire", start, "1.50", "done", 14, 11, "content"))
	files(t, out+"/JPY/events.tsv")
	files(t, out+"/JPY/mismatches.tsv", row(7, "t", "s", "a", "wire", start, "1.50", "done", 7, 5, "currency"))
	registry := []string{heading, row("t", "s", "a", "wire", 50, 3, 4), row("t", "f", "b", "wire", 50, 2, 10)}
	files(t, out+"/USD/dedupe.tsv", registry...)
	files(t, out+"/JPY/dedupe.tsv", registry...)
}

// TestRowsOfTheRegistry changes registrations and the source's window, and deletes some.
func TestRowsOfTheRegistry(t *testing.T) {
	r := newRig(t) // records 1 to 3
	register := func(key string, window int64) *gateway.Register {
		return &gateway.Register{Name: name("f", key), Scope: settle.ScopeWire, WindowS: window, LRUCapacity: 2, By: "ops"}
	}
	r.enter(register("own", 9), register("inherits", 0), register("gone", 0), register("back", 0), register("leaves", 0)) // 4 to 8
	r.enter(source("f", 20))                                                                                              // 9
	r.enter(&gateway.Unregister{Name: name("f", "gone")}, &gateway.Unregister{Name: name("f", "back")}, register("leaves", 7), register("back", 0))
	same := source("f", 20)
	same.Settings.LRUCapacity = 8
	r.enter(same)           // 14: another setting, no other window
	r.enter(source("f", 0)) // 15: the policy's again
	r.event(name("f", "own"), nil)
	out := filepath.Join(t.TempDir(), "out")
	if _, err := r.export(out); err != nil {
		t.Fatal(err)
	}
	of := func(key string, window, since int) string { return row("t", "f", key, "wire", window, 2, since) }
	files(t, out+"/USD/dedupe.tsv", heading,
		of("own", 9, 4), of("inherits", 50, 5), of("leaves", 50, 8),
		of("inherits", 20, 9), of("leaves", 20, 9),
		of("leaves", 7, 12), of("back", 20, 13),
		of("inherits", 50, 15), of("back", 50, 15))
}

func TestAmountsThatAreNone(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ came, written string }{
		{"12,50", "12,50"}, {"", ""}, {"5.00", "-"}, {"a\tb", "-"}, {"a\u0085", "-"}, {"\xff", "-"}, {strings.Repeat("9", 64), strings.Repeat("9", 64)},
		{strings.Repeat("9", 65), "-"}, {"１２", "１２"},
	} {
		r.event(name("s", "k"), func(e *gateway.Event) { e.Amount, e.AmountOK = c.came, false })
		out := filepath.Join(t.TempDir(), "out")
		if _, err := r.export(out); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out + "/USD/events.tsv")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if got := strings.Split(lines[len(lines)-1], "\t")[6]; got != c.written {
			t.Errorf("%q is written as %q, want %q", c.came, got, c.written)
		}
	}
}

func TestAnExportIsWholeOrNotThere(t *testing.T) {
	r := newRig(t)
	r.event(name("s", "k"), nil)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, f := range map[string]func(store.BooksView) error{
		"given up": func(v store.BooksView) error { _, err := export.Export(ctx, v, out, 0o700); return err },
		"damaged":  func(v store.BooksView) error { _, err := export.Export(t.Context(), cut{v}, out, 0o700); return err },
	} {
		if err := r.st.ViewBooks(t.Context(), f); err == nil {
			t.Errorf("%s: no error", what)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", what, left, err)
		}
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.export(out); err != nil {
		t.Errorf("into an empty folder: %v", err)
	}
	before, err := os.ReadDir(out)
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	if _, err := r.export(out); !errors.Is(err, export.ErrNotEmpty) {
		t.Errorf("into a folder in which there is something: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// cut is a view whose records can be read, and whose keys can't.
type cut struct{ store.BooksView }

var errAway = errors.New("the disk is away")

func (cut) Keys(string, string, string) iter.Seq2[store.NamedKey, error] {
	return func(yield func(store.NamedKey, error) bool) { yield(store.NamedKey{}, errAway) }
}

// TestAnExportIsItsUsersAlone unless a mode for others is asked for.
func TestAnExportIsItsUsersAlone(t *testing.T) {
	r := newRig(t)
	r.event(name("s", "k"), nil)
	for _, mode := range []os.FileMode{0o700, 0o750} {
		out := filepath.Join(t.TempDir(), "out")
		err := r.st.ViewBooks(t.Context(), func(v store.BooksView) error {
			_, err := export.Export(t.Context(), v, out, mode)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			want := mode
			if !d.IsDir() {
				want &^= 0o111
			}
			if info, err := d.Info(); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, want %v", path, info.Mode(), want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
