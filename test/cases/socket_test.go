package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"

	"hapax/protocol"
)

// socket is a connection as a client without our codec would have it.
type socket struct {
	conn *websocket.Conn
	seen []any // frames read, oldest first, that no step has taken
}

func dial(ctx context.Context, addr string) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+addr+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{protocol.Subprotocol}})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(16 << 20)
	return &socket{conn: conn}, nil
}

func (s *socket) write(ctx context.Context, frame any) error {
	b, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return s.writeRaw(ctx, b)
}

func (s *socket) writeRaw(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, b)
}

// next returns the next frame whose type isn't among those passed over. Those are kept for no one.
func (s *socket) next(ctx context.Context, skip []string) (any, error) {
	for {
		f, err := s.read(ctx)
		if err != nil {
			return nil, err
		}
		if o, ok := f.(map[string]any); ok {
			if kind, _ := o["type"].(string); slices.Contains(skip, kind) {
				continue
			}
		}
		return f, nil
	}
}

func (s *socket) read(ctx context.Context) (any, error) {
	if len(s.seen) > 0 {
		f := s.seen[0]
		s.seen = s.seen[1:]
		return f, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, b, err := s.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var f any
	if err := decode(b, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	return f, asPublished(f)
}

// quiet asks by a ping whether something came that no step expected: answers and rows that were due stand before the pong.
func (s *socket) quiet(ctx context.Context) error {
	ref := fmt.Sprint("quiet", time.Now().UnixNano())
	if err := s.write(ctx, map[string]any{"type": "ping", "ref": ref}); err != nil {
		return err
	}
	f, err := s.read(ctx)
	if err != nil {
		return err
	}
	if o, ok := f.(map[string]any); !ok || o["ref"] != ref {
		return fmt.Errorf("unexpected: %s", show(f))
	}
	return nil
}

// closed reads up to the close and returns its code.
func (s *socket) closed(ctx context.Context) (int, error) {
	for {
		_, err := s.read(ctx)
		if err == nil {
			continue
		}
		if code := websocket.CloseStatus(err); code != -1 {
			return int(code), nil
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return 0, err
		}
		return 0, nil // the connection broke without a word
	}
}
