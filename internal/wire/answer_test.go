package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/protocol"
)

// Every outcome has one answer: an ack where a row is stored, else an error of a known code with the code's own advice.
func TestEveryOutcomeHasOneAnswer(t *testing.T) {
	key := idem.Key{Actor: "ada", Room: "tea", ID: "a"}
	codes := map[protocol.Code]room.Kind{}
	for _, k := range room.Kinds() {
		o := room.Outcome{Kind: k, Result: idem.Result{MessageID: "m", Seq: 7, Epoch: "e", At: 9}}
		a := Answer(o, key)
		if a.ClientMessageID != "a" || a.Room != "tea" {
			t.Errorf("%s doesn't say of what: %+v", k, a)
		}
		if k == room.Accepted || k == room.Duplicate {
			if a.Type != protocol.TypeAck || a.Seq != 7 || a.MessageID != "m" || a.Epoch != "e" || a.At != 9 || a.Duplicate != (k == room.Duplicate) {
				t.Errorf("%s: %+v", k, a)
			}
			continue
		}
		rule := a.Code.Rule()
		if a.Type != protocol.TypeError || rule.Status == 500 || a.Retryable != rule.Retryable || (a.RetryAfterMs > 0) != rule.Retryable || a.Text == "" {
			t.Errorf("%s: %+v", k, a)
		}
		if _, listed := refusals[k]; !listed {
			t.Errorf("%s has no line in the table", k)
		}
		if other, taken := codes[a.Code]; taken {
			t.Errorf("%s and %s are both %s", k, other, a.Code)
		}
		codes[a.Code] = k
		if (a.MessageID == "m") != (k == room.Conflict) {
			t.Errorf("%s names %q: only a conflict names the original", k, a.MessageID)
		}
	}
}

func TestOnlyTheAuthorsCopiesCarryTheId(t *testing.T) {
	rows := Rows([]room.Message{{Seq: 1, Actor: "ada", ID: "a"}, {Seq: 2, Actor: "eve", ID: "b"}}, "ada")
	if len(rows) != 2 || rows[0].ClientMessageID != "a" || rows[1].ClientMessageID != "" {
		t.Fatalf("%+v", rows)
	}
}

func TestProblemsSayWhenToComeBack(t *testing.T) {
	w := httptest.NewRecorder()
	WriteProblem(w, Error(protocol.RateLimited, "slowly", 1500))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "2" || w.Header().Get("Content-Type") != protocol.MediaProblem {
		t.Error(w.Code, w.Header())
	}
	w = httptest.NewRecorder()
	WriteProblem(w, Error(protocol.Forbidden, "no", 1500))
	if w.Code != http.StatusForbidden || w.Header().Get("Retry-After") != "" {
		t.Error(w.Code, w.Header())
	}
}
