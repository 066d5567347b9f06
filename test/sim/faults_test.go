package sim

import (
	"regexp"
	"strings"
	"testing"
)

// plantedWithin is how many seeds may pass before a planted fault has to be found: far fewer than CI runs.
const plantedWithin = 300

// TestPlantedFaultsAreFound plants each fault in turn and runs seeds until one of them shows it, by what the fault does.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault Fault
		shows string
	}{
		{"ack before sync", AckBeforeSync, `acknowledged message .* is lost|acknowledged as seq|told to be the first|was accepted by its Send, and is neither`},
		{"key without message", KeyWithoutMessage, `acknowledged message .* is lost|acknowledged as seq|was accepted by its Send, and is neither`},
		{"seq taken before commit", SeqBeforeCommit, `seq \d+ where \d+ was due`},
		{"in-flight repeat not judged", InFlightRepeat, `key .* and again at`},
		{"cursor moved by an ack", AckMovesCursor, `comes after row|after row .* the feed has row`},
		{"delta one row short", ShortDelta, `minutes of calm: .* whose head is|no order of its`},
		{"sending believed after a restart", SendingBelieved, `minutes of calm: .* rows queued|is seq .* the later row`},
		{"mark lowered", MarkLowered, `was issued to .* and again to`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shows := regexp.MustCompile(c.shows)
			for seed := uint64(1); seed <= plantedWithin; seed++ {
				w := Run(NewPlan(seed), c.fault, 0)
				if len(w.Faults()) == 0 {
					continue
				}
				if found := strings.Join(w.Faults(), "\n"); !shows.MatchString(found) {
					t.Fatalf("seed %d finds something else: %s", seed, found)
				}
				t.Logf("seed %d: %s", seed, w.Faults()[0])
				return
			}
			t.Fatalf("not found by %d seeds", plantedWithin)
		})
	}
}
