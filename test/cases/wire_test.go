package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// wireWords drive connections by hand: frames out and in, one by one.
var wireWords = map[string]word{
	// connect opens a connection and, unless there is no actor, says hello. The welcome is held against Expect.
	"connect": func(r *run, s *Step) error {
		c, err := dial(r.ctx, r.house.listen)
		if err != nil {
			return err
		}
		if old := r.sockets[s.Name]; old != nil {
			_ = old.conn.CloseNow()
		}
		r.sockets[s.Name] = c
		if s.As == "" {
			return nil
		}
		token, err := r.house.token(s.As, s.Rooms)
		if err != nil {
			return err
		}
		if err := c.write(r.ctx, map[string]any{"type": "hello", "token": token}); err != nil {
			return err
		}
		f, err := c.read(r.ctx)
		if err != nil {
			return err
		}
		if err := r.vars.match(map[string]any{"type": "welcome"}, f); err != nil || s.Expect == nil {
			return err
		}
		return r.vars.match(s.Expect, f)
	},
	"send": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		if s.Raw != nil {
			raw, err := r.textOf(s.Raw)
			if err != nil {
				return err
			}
			return c.writeRaw(r.ctx, []byte(raw))
		}
		f, err := r.vars.resolve(s.Frame)
		if err != nil {
			return err
		}
		return c.write(r.ctx, f)
	},
	// say is short for a send frame.
	"say": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		f := map[string]any{"type": "send", "room": s.Room, "clientMessageId": s.ID, "text": s.Text}
		if s.Data != nil {
			f["data"] = s.Data
		}
		v, err := r.vars.resolve(f)
		if err != nil {
			return err
		}
		return c.write(r.ctx, v)
	},
	// expect takes the next frame, those of the types in Skip passed over.
	"expect": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		f, err := c.next(r.ctx, s.Skip)
		if err != nil {
			return err
		}
		if err := r.vars.match(s.Frame, f); err != nil {
			return fmt.Errorf("%w\n\tin %s", err, show(f))
		}
		return nil
	},
	// comes takes frames up to one that is as said.
	"comes": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		for {
			f, err := c.next(r.ctx, s.Skip)
			if err != nil {
				return fmt.Errorf("%w\n\twaiting for %s", err, show(s.Frame))
			}
			if r.vars.match(s.Frame, f) == nil {
				return nil
			}
		}
	},
	// collect takes frames up to the answer to a ping: all that came until now.
	"collect": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		if err := c.write(r.ctx, map[string]any{"type": "ping", "ref": "collect"}); err != nil {
			return err
		}
		all := []any{}
		for {
			f, err := c.next(r.ctx, s.Skip)
			if err != nil {
				return err
			}
			if o, ok := f.(map[string]any); ok && o["ref"] == "collect" {
				return r.vars.match(s.Expect, all)
			}
			all = append(all, f)
		}
	},
	"quiet": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		return c.quiet(r.ctx)
	},
	// closed waits for the server's close; Expect is its code.
	"closed": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		code, err := c.closed(r.ctx)
		if err != nil {
			return err
		}
		delete(r.sockets, s.Name)
		return r.vars.match(s.Expect, plain(code))
	},
	// drop breaks a connection without a word; what it had read is lost.
	"drop": func(r *run, s *Step) error {
		c, err := r.socket(s)
		if err != nil {
			return err
		}
		delete(r.sockets, s.Name)
		_ = c.conn.CloseNow()
		return nil
	},
}

func (r *run) socket(s *Step) (*socket, error) {
	c := r.sockets[s.Name]
	if c == nil {
		return nil, errors.New("no such connection")
	}
	return c, nil
}

func splitLines(text string) iter.Seq[string] { return strings.SplitSeq(text, "\n") }

// plainNumber is a number of a text as a document would hold it.
func plainNumber(text string) any { return json.Number(text) }
