package local_test

import (
	"testing"

	"go.uber.org/goleak"

	"hapax/internal/fanout"
	"hapax/internal/fanout/fanouttest"
	"hapax/internal/fanout/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	fanouttest.Run(t, func(*testing.T) (here, there fanout.Bus) {
		b := local.New()
		return b, b
	})
}

// The engine hands its own rows on first and hints then; here the hint has arrived when Publish returns.
func TestPublishIsSynchronous(t *testing.T) {
	b := local.New()
	var got []fanout.Hint
	defer b.Listen(func(h fanout.Hint) { got = append(got, h) })()
	b.Publish(fanout.Hint{Room: "r", Seq: 3})
	if len(got) != 1 || got[0] != (fanout.Hint{Room: "r", Seq: 3}) {
		t.Errorf("heard %v", got)
	}
}

func TestListenerMayStopItself(t *testing.T) {
	b := local.New()
	n := 0
	var stop func()
	stop = b.Listen(func(fanout.Hint) { n++; stop() })
	b.Publish(fanout.Hint{Room: "r", Seq: 1})
	b.Publish(fanout.Hint{Room: "r", Seq: 2})
	if n != 1 {
		t.Errorf("called %d times, want once", n)
	}
}
