package cases

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/client/store/memory"
)

// stores are the clients' stores of a scenario by name: files, or where the name begins with "memory", media in memory.
type stores struct {
	dir   string
	media map[string]*memory.Medium
	files map[string]string
}

func newStores(dir string) *stores {
	return &stores{dir: dir, media: map[string]*memory.Medium{}, files: map[string]string{}}
}

func (s *stores) inMemory(name string) bool { return len(name) >= 6 && name[:6] == "memory" }

// place returns where a store lies.
func (s *stores) place(name string) (path string, medium *memory.Medium) {
	if s.inMemory(name) {
		if s.media[name] == nil {
			s.media[name] = memory.NewMedium()
		}
		return "", s.media[name]
	}
	if s.files[name] == "" {
		s.files[name] = filepath.Join(s.dir, name+".db")
	}
	return s.files[name], nil
}

// killed ends a client of this process as kill -9 would: what its files hold at this moment is what the next one finds.
func (s *stores) killed(name string, a agent) error {
	path, medium := s.place(name)
	if medium != nil {
		medium.Crash()
		return a.kill()
	}
	after := filepath.Join(s.dir, fmt.Sprintf("%s-%d.db", name, len(s.files)))
	s.files[name+"@"+path] = path // so that names stay different
	if err := copyFiles(path, after); err != nil {
		return err
	}
	s.files[name] = after
	return a.kill()
}

// copyFiles copies a database with its log. What is in neither was never written.
func copyFiles(from, to string) error {
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(from + suffix)
		if errors.Is(err, os.ErrNotExist) && suffix != "" {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(to+suffix, raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// storeWords act on stores that no client has open, and on rules that need none.
var storeWords = map[string]word{
	"store.copy": func(r *run, s *Step) error {
		path, medium := r.stores.place(s.Name)
		if r.host != nil {
			to, _ := r.stores.place(s.To)
			return r.host.copyStore(path, to)
		}
		if medium != nil {
			r.stores.media[s.To] = medium.Copy()
			return nil
		}
		to, _ := r.stores.place(s.To)
		return copyFiles(path, to)
	},
	// store.damage breaks a file: "garbage", "cut" or "header".
	"store.damage": func(r *run, s *Step) error {
		path, _ := r.stores.place(s.Name)
		raw, err := os.ReadFile(path)
		if err != nil && s.How != "garbage" {
			return err
		}
		switch s.How {
		case "garbage":
			raw = []byte("this is no database, though something that somebody may miss")
		case "cut":
			raw = raw[:len(raw)/2]
		case "header":
			copy(raw, "XXXXXXXX")
		default:
			return fmt.Errorf("a store can be damaged by garbage, cut or header, not %q", s.How)
		}
		return os.WriteFile(path, raw, 0o600)
	},
	// store.hash notes or compares the bytes of a file.
	"store.hash": func(r *run, s *Step) error {
		path, _ := r.stores.place(s.Name)
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(raw)
		return r.vars.match(s.Expect, hex.EncodeToString(sum[:]))
	},
	// store.old puts a file of an earlier version in place, and notes the keys of its rows.
	"store.old": func(r *run, s *Step) error {
		path, _ := r.stores.place(s.Name)
		const old = "../../client/store/sqlite/testdata/v1/"
		if err := copyFiles(old+s.Kind, path); err != nil {
			return err
		}
		raw, err := os.ReadFile(old + "v1.json")
		if err != nil {
			return err
		}
		var held struct{ Rows []struct{ store.Key } }
		if err := json.Unmarshal(raw, &held); err != nil {
			return err
		}
		keys := []store.Key{}
		for _, row := range held.Rows {
			keys = append(keys, row.Key)
		}
		return r.vars.match(s.Expect, plain(keys))
	},
	// store.mark notes or compares the high-water mark of a medium's own device, as 32 hex digits.
	"store.mark": func(r *run, s *Step) error {
		_, medium := r.stores.place(s.Name)
		if medium == nil {
			return errors.New("marks are read of media in memory")
		}
		marks := medium.Marks()
		if len(marks) != 1 {
			return fmt.Errorf("%d devices", len(marks))
		}
		mark := new(big.Int).SetBytes(slices.Collect(maps.Values(marks))[0])
		return r.vars.match(s.Expect, json.Number(mark.String()))
	},
	// delay holds the delay law against bounds, for every number of attempts from N on to To and every random number of In.
	"delay": func(r *run, s *Step) error {
		most, err := r.number(s.N, 0)
		if err != nil {
			return err
		}
		var base, limit, low int64
		for name, to := range map[string]*int64{"base": &base, "cap": &limit, "least": &low} {
			if *to, err = r.number(s.Limits[name], 0); err != nil {
				return err
			}
		}
		for _, v := range s.In {
			u, err := plainFloat(v)
			if err != nil {
				return err
			}
			for n := int64(1); n <= most; n++ {
				if d := session.Delay(base, limit, int(n), u); d < low || d > limit {
					return fmt.Errorf("attempt %d with a random number of %v waits %d ms", n, u, d)
				}
			}
		}
		return nil
	},
}

func plainFloat(v any) (float64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v is not a number", v)
	}
	return n.Float64()
}
