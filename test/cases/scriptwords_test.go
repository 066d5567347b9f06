package cases

import (
	"errors"
	"fmt"
	"testing/synctest"
	"time"
)

// scriptWords are the server's part in a world where every frame of it stands in the file, and the clock.
var scriptWords = map[string]word{
	// accept takes the connection that a client dials, within so many ms, as the peer To (the client's name, else).
	"accept": func(r *run, s *Step) error {
		within, err := r.number(s.Within, 0)
		if err != nil {
			return err
		}
		for end := time.Now().Add(time.Duration(within) * time.Millisecond); ; {
			synctest.Wait()
			sc := r.script
			sc.mu.Lock()
			list := sc.waiting[s.Name]
			if len(list) > 0 {
				sc.waiting[s.Name] = list[1:]
				sc.peers[peerName(s)] = sc.read(list[0])
			}
			sc.mu.Unlock()
			if len(list) > 0 {
				return nil
			}
			left := time.Until(end)
			if left <= 0 {
				return errors.New("nobody dials")
			}
			<-time.After(min(left, 10*time.Millisecond))
		}
	},
	// welcome takes the hello and answers it; Frame overrides the welcome's members.
	"welcome": func(r *run, s *Step) error {
		p, err := r.peer(s)
		if err != nil {
			return err
		}
		f, err := p.take(r.ctx, 0, nil)
		if err != nil {
			return err
		}
		if err := r.vars.match(map[string]any{"type": "hello"}, f); err != nil {
			return err
		}
		if s.Expect != nil {
			if err := r.vars.match(s.Expect, f); err != nil {
				return err
			}
		}
		v, err := r.vars.resolve(s.Frame)
		if err != nil {
			return err
		}
		change, _ := v.(map[string]any)
		hello, _ := f.(map[string]any)
		return p.write(r.ctx, welcomeFrame(hello, change))
	},
	// take holds the client's next frame against Frame. Within lets time pass; the rest of the time no time does.
	"take": func(r *run, s *Step) error {
		p, err := r.peer(s)
		if err != nil {
			return err
		}
		within, err := r.number(s.Within, 0)
		if err != nil {
			return err
		}
		start := time.Now()
		f, err := p.take(r.ctx, within, s.Skip)
		if err != nil {
			return err
		}
		if err := r.vars.match(s.Frame, f); err != nil {
			return fmt.Errorf("%w\n\tin %s", err, show(f))
		}
		if s.Expect == nil { // of the ms that passed
			return nil
		}
		return r.vars.match(s.Expect, plain(time.Since(start).Milliseconds()))
	},
	// none holds that the client has sent nothing more, while Within ms pass.
	"none": func(r *run, s *Step) error {
		p, err := r.peer(s)
		if err != nil {
			return err
		}
		within, err := r.number(s.Within, 0)
		if err != nil {
			return err
		}
		if f, err := p.take(r.ctx, within, s.Skip); err == nil {
			return fmt.Errorf("unexpected: %s", show(f))
		}
		return nil
	},
	// give sends a frame to the client.
	"give": func(r *run, s *Step) error {
		p, err := r.peer(s)
		if err != nil {
			return err
		}
		f, err := r.vars.resolve(s.Frame)
		if err != nil {
			return err
		}
		return p.write(r.ctx, f)
	},
	"cut": func(r *run, s *Step) error {
		p, err := r.peer(s)
		if err != nil {
			return err
		}
		delete(r.script.peers, peerName(s))
		return p.end.Close()
	},
	// nobody holds that the client dials not, while Within ms pass.
	"nobody": func(r *run, s *Step) error {
		within, err := r.number(s.Within, 0)
		if err != nil {
			return err
		}
		<-time.After(time.Duration(within) * time.Millisecond)
		synctest.Wait()
		r.script.mu.Lock()
		defer r.script.mu.Unlock()
		if n := len(r.script.waiting[s.Name]); n > 0 {
			return fmt.Errorf("%d dials", n)
		}
		return nil
	},
	// dialing says what becomes of dials from now on: "refused", "hole" (taken, welcomed, never answered) or "waits" for accept.
	"dialing": func(r *run, s *Step) error {
		r.script.mu.Lock()
		defer r.script.mu.Unlock()
		r.script.refuse, r.script.hole = s.How == "refused", s.How == "hole"
		return nil
	},
	// pass lets time pass.
	"pass": func(r *run, s *Step) error {
		ms, err := r.number(s.Ms, 0)
		if err != nil {
			return err
		}
		<-time.After(time.Duration(ms) * time.Millisecond)
		synctest.Wait()
		return nil
	},
	// traffic tells what the clients did: dials, the greatest number within a second after the first, frames and bytes sent.
	"traffic": func(r *run, s *Step) error {
		synctest.Wait()
		return r.vars.match(s.Expect, r.script.traffic())
	},
	"now": func(r *run, s *Step) error {
		r.vars[s.Var] = plain(time.Now().UnixMilli())
		return nil
	},
}

func (s *script) traffic() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, sends, bytes := 0, 0, int64(0)
	for _, p := range s.peers {
		p.mu.Lock()
		frames += len(p.came)
		bytes += p.bytes
		for _, f := range p.came {
			if o, _ := f.(map[string]any); o["type"] == "send" {
				sends++
			}
		}
		p.mu.Unlock()
	}
	gaps := []int64{}
	for i := 1; i < len(s.dials); i++ {
		gaps = append(gaps, s.dials[i].at-s.dials[i-1].at)
	}
	return plain(map[string]any{"dials": len(s.dials), "gaps": gaps, "frames": frames, "sends": sends, "bytes": bytes})
}

func peerName(s *Step) string {
	if s.To != "" {
		return s.To
	}
	return s.Name
}

func (r *run) peer(s *Step) (*peer, error) {
	r.script.mu.Lock()
	defer r.script.mu.Unlock()
	p := r.script.peers[peerName(s)]
	if p == nil {
		return nil, errors.New("no such connection")
	}
	return p, nil
}
