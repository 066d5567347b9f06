package ws

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func newTestOutbound(limit int) (*outbound, net.Conn) {
	here, there := net.Pipe()
	return &outbound{conn: here, limit: limit, timeout: 10 * time.Second, done: make(chan struct{}), wrote: func(int, error) {}}, there
}

func text(s string) func([]byte) []byte {
	return func(b []byte) []byte { return append(b, s...) }
}

func TestFramesLeaveInOrderInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, there := newTestOutbound(1000)
		for _, s := range []string{"a", "b", "c"} {
			o.append(text(s))
		}
		o.flush()
		buf := make([]byte, 10)
		if n, err := there.Read(buf); err != nil || string(buf[:n]) != "abc" {
			t.Fatalf("%q %v", buf[:n], err)
		}
		synctest.Wait()
		if o.writing || o.frames != nil {
			t.Fatal("an idle connection keeps a writer or a buffer")
		}
		o.end(false, text("z"))
		if n, err := there.Read(buf); err != nil || string(buf[:n]) != "z" {
			t.Fatalf("%q %v", buf[:n], err)
		}
		<-o.done
		if !o.append(text("late")) || o.frames != nil {
			t.Fatal("a frame after the last")
		}
		if o.end(false, text("again")) {
			t.Fatal("a second end counted")
		}
	})
}

// While a reader takes nothing, frames gather up to the limit and no further; nobody waits; and the cut drops what
// gathered, but not the frame that is half written.
func TestASlowReaderIsBoundedAndCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, there := newTestOutbound(100)
		o.append(text("half"))
		o.flush()
		synctest.Wait() // the writer is stuck in "half"
		fitted := 0
		for o.append(text(strings.Repeat("x", 30))) {
			o.flush()
			fitted++
		}
		if fitted != 3 {
			t.Fatalf("%d of 30 bytes fitted into 100", fitted)
		}
		o.end(true, text("END"))
		all := make(chan string, 1)
		go func() {
			b, _ := io.ReadAll(there)
			all <- string(b)
		}()
		<-o.done
		_ = o.conn.Close()
		if got := <-all; got != "halfEND" {
			t.Fatalf("%q", got)
		}
	})
}

func TestAWriteThatNobodyReadsEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, there := newTestOutbound(100)
		started := time.Now()
		o.append(text("never read"))
		o.flush()
		o.end(false, text("nor this"))
		<-o.done
		if took := time.Since(started); took != 10*time.Second {
			t.Fatalf("ended after %s", took)
		}
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("the socket is open: %v", err)
		}
		if !o.broken {
			t.Fatal("not given up")
		}
	})
}

func TestAnEndOnABrokenConnectionIsDoneAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, there := newTestOutbound(100)
		_ = there.Close()
		o.append(text("x"))
		o.flush()
		synctest.Wait()
		o.end(false, text("y"))
		<-o.done
	})
}

func TestDeadlinesInThePastWakeReaders(t *testing.T) {
	here, there := net.Pipe()
	defer func() { _ = here.Close(); _ = there.Close() }()
	if err := here.SetReadDeadline(past); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
}
