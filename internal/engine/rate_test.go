package engine

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNoRateNoBound(t *testing.T) {
	b := newBuckets(0, 0, 0)
	for range 1000 {
		if _, ok := b.take("ann", 0); !ok {
			t.Fatal("a token was refused without a rate")
		}
	}
	if b.forgotten() != 0 {
		t.Error("nothing to forget")
	}
}

// Never more than the burst and what the rate brought since, and whoever waits as long as it is told gets a token.
func TestBucketsAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond, burst := float64(rapid.IntRange(1, 50).Draw(t, "rate")), rapid.IntRange(1, 10).Draw(t, "burst")
		b := newBuckets(perSecond, burst, 100)
		var now time.Duration
		taken := map[string]int{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			actor := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "actor")
			now += time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond
			wait, ok := b.take(actor, now)
			if !ok {
				if wait <= 0 {
					t.Fatalf("refused with a wait of %v", wait)
				}
				now += wait + time.Microsecond // rounding
				if _, ok = b.take(actor, now); !ok {
					t.Fatalf("refused after waiting %v as told", wait)
				}
			}
			taken[actor]++
			if most := float64(burst) + perSecond*now.Seconds() + .01; float64(taken[actor]) > most {
				t.Fatalf("%s took %d tokens in %v at %v a second and a burst of %d", actor, taken[actor], now, perSecond, burst)
			}
		}
	})
}

func TestBucketsAreBoundedAndForgetTheFull(t *testing.T) {
	b := newBuckets(1, 2, 10)
	now := time.Duration(0)
	for i := range 1000 {
		now += 500 * time.Millisecond
		if _, ok := b.take(fmt.Sprint("actor", i), now); !ok {
			t.Fatalf("actor %d's first token was refused", i)
		}
		if n := len(b.now) + len(b.old); n > 10 {
			t.Fatalf("%d actors are remembered, want 10 at most", n)
		}
	}
	if b.forgotten() != 0 {
		t.Errorf("%d actors forgotten too early", b.forgotten())
	}
	for i := range 100 { // all at once: the table can't hold them
		b.take(fmt.Sprint("crowd", i), now)
	}
	if n := len(b.now) + len(b.old); n > 10 || b.forgotten() == 0 {
		t.Errorf("%d actors are remembered, %d forgotten early", n, b.forgotten())
	}
}

func TestAnEmptyBucketIsNotForgotten(t *testing.T) {
	b := newBuckets(1, 5, 10)
	for range 5 {
		b.take("ann", 0)
	}
	for i := range 3 { // others come; generations turn by time only
		b.take(fmt.Sprint("other", i), time.Duration(i)*time.Millisecond)
	}
	if _, ok := b.take("ann", 10*time.Millisecond); ok {
		t.Error("ann's empty bucket was full again")
	}
}
