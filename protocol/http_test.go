package protocol

import (
	"strings"
	"testing"
)

func TestDecodePost(t *testing.T) {
	const room, id = "r", "k"
	cases := []struct {
		name, body string
		want       string // the send that it stands for
		code       Code
		names      string
	}{
		{"text alone", `{"text":"hi"}`, `{"type":"send","room":"r","clientMessageId":"k","text":"hi"}`, "", ""},
		{"all", `{"follows":"j","sentAt":5,"data":{"b":1,"a":2},"text":"hi"}`,
			`{"type":"send","room":"r","clientMessageId":"k","text":"hi","data":{"a":2,"b":1},"sentAt":5,"follows":"j"}`, "", ""},
		{"path and header count, not the body", `{"text":"hi","room":"other","clientMessageId":"other","type":"ping","ref":"x","token":7}`,
			`{"type":"send","room":"r","clientMessageId":"k","text":"hi"}`, "", ""},
		{"no text", `{}`, "", BadRequest, "text"},
		{"empty", ``, "", BadRequest, ""},
		{"text twice", `{"text":"a","text":"b"}`, "", BadRequest, "text"},
		{"two documents", `{"text":"a"} {}`, "", BadRequest, "follows the document"},
		{"follows itself", `{"text":"a","follows":"k"}`, "", BadRequest, "follows"},
		{"sentAt as text", `{"text":"a","sentAt":"5"}`, "", BadRequest, "sentAt"},
		{"long text", `{"text":"` + strings.Repeat("a", DefaultLimits.Text+1) + `"}`, "", TooLarge, "text"},
		{"1 MB", `{"text":"` + strings.Repeat("a", 1<<20) + `"}`, "", TooLarge, "body"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cmd, problem := DecodePost([]byte(c.body), room, id, &DefaultLimits)
			if c.code == "" {
				if problem != nil || string(AppendCommand(nil, &cmd)) != c.want {
					t.Fatalf("got %s, %v", AppendCommand(nil, &cmd), problem)
				}
				again, problem := DecodePost(AppendPost(nil, &cmd), room, id, &DefaultLimits)
				if problem != nil || string(AppendCommand(nil, &again)) != c.want {
					t.Fatalf("written and read again: %s, %v", AppendCommand(nil, &again), problem)
				}
				return
			}
			if problem == nil || problem.Code != c.code || !strings.Contains(problem.Message, c.names) {
				t.Fatalf("got %v", problem)
			}
			if problem.Room != room || problem.ClientMessageID != id || problem.Ref != "" {
				t.Fatalf("echoes %+v", problem)
			}
		})
	}
}

func TestDecodePostJudgesPathAndHeader(t *testing.T) {
	for _, c := range []struct{ room, id, names string }{
		{"", "k", "room"}, {"a\nb", "k", "room"}, {"r", "", "clientMessageId"}, {"r", noID, "clientMessageId"},
	} {
		_, problem := DecodePost([]byte(`{"text":""}`), c.room, c.id, &DefaultLimits)
		if problem == nil || problem.Code != BadRequest || !strings.Contains(problem.Message, c.names) {
			t.Errorf("%q, %q: got %v", c.room, c.id, problem)
		}
	}
}

func TestProblemDocumentOfEveryCode(t *testing.T) {
	for _, r := range Rules() {
		e := ErrorEvent(r.Code, `why: "x"`)
		e.Room, e.ClientMessageID, e.MessageID, e.RetryAfterMs = "r", "k", "m", 1500
		body, status := AppendProblem(nil, &e)
		if status != r.Status || !strings.Contains(string(body), `"type":"`+r.Type()+`"`) {
			t.Errorf("%s: %d %s", r.Code, status, body)
		}
		back, problem := DecodeProblem(body)
		if problem != nil || string(AppendEvent(nil, &back)) != string(AppendEvent(nil, &e)) {
			t.Errorf("%s: read back as %+v, %v", r.Code, back, problem)
		}
	}
}

func TestDecodeProblemRefusesOthers(t *testing.T) {
	for _, body := range []string{"", "<html>", `{}`, `{"title":"Bad Gateway","status":502}`, `{"code":5,"retryable":true}`,
		`{"code":"","retryable":true}`, `{"code":"x","retryable":true,"retryAfterMs":-1}`, `{"code":"x","retryable":true}x`} {
		if e, problem := DecodeProblem([]byte(body)); problem == nil {
			t.Errorf("%s: read as %+v", body, e)
		}
	}
}

func TestRetryAfterRoundsUp(t *testing.T) {
	for ms, want := range map[int64]string{-5: "0", 0: "0", 1: "1", 999: "1", 1000: "1", 1001: "2", 3_600_000: "3600"} {
		if got := RetryAfter(ms); got != want {
			t.Errorf("%d ms: got %s, want %s", ms, got, want)
		}
	}
}

func TestProblemBecomesAnErrorFrame(t *testing.T) {
	_, problem := DecodeCommand([]byte(`{"type":"send","ref":"9","room":"r","clientMessageId":"k"}`), &DefaultLimits)
	e := problem.Event()
	want := `{"type":"error","ref":"9","code":"bad_request","message":"text is missing","retryable":false,"clientMessageId":"k","room":"r"}`
	if got := string(AppendEvent(nil, &e)); got != want {
		t.Fatalf("got %s", got)
	}
	if problem.Error() != "bad_request: text is missing" {
		t.Fatal(problem.Error())
	}
}
