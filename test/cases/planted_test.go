package cases

import (
	"strings"
	"testing"
)

// TestTheRunnerCanFail plants wrong expectations of every kind into scenarios that are right, and expects each to be told.
func TestTheRunnerCanFail(t *testing.T) {
	const right = `{"do":"http","as":"ada","path":"/v1/rooms/tea/messages","id":"a","body":{"text":"x"},"status":201,"expect":{"body":{"messageId":"$id","seq":1,"duplicate":false}}}`
	for name, c := range map[string]struct{ world, steps, fault string }{
		"a status":          {"server", `{"do":"http","as":"ada","path":"/v1/rooms/tea/messages","id":"a","body":{"text":"x"},"status":200}`, "status 201"},
		"a member":          {"server", right + `,{"do":"http","as":"ada","path":"/v1/rooms/tea/messages","expect":{"body":{"messages":[{"text":"y"}]}}}`, `want "y"`},
		"a number of rows":  {"server", right + `,{"do":"http","as":"ada","path":"/v1/rooms/tea/messages","expect":{"body":{"messages":[]}}}`, "want 0 elements"},
		"a noted value":     {"server", right + `,{"do":"http","as":"ada","path":"/v1/rooms/tea/messages","id":"b","body":{"text":"x"},"expect":{"body":{"messageId":"$id"}}}`, "messageId: want"},
		"an absent member":  {"server", right + `,{"do":"http","as":"ada","path":"/v1/rooms/tea/messages","expect":{"body":{"head":null}}}`, "should be nothing"},
		"a frame":           {"server", `{"do":"connect","name":"c","as":"ada"},{"do":"send","name":"c","frame":{"type":"ping"}},{"do":"expect","name":"c","frame":{"type":"ack"}}`, `want "ack"`},
		"a frame too many":  {"server", `{"do":"connect","name":"c","as":"ada"},{"do":"send","name":"c","frame":{"type":"ping"}},{"do":"quiet","name":"c"}`, "unexpected"},
		"an error":          {"script", `{"do":"sdk.open","name":"c","store":"memory","kind":"offline"},{"do":"sdk","name":"c","method":"say","room":"tea","text":"x","error":"full"}`, "should be refused as full"},
		"no error":          {"script", `{"do":"sdk.open","name":"c","store":"memory","kind":"offline"},{"do":"sdk","name":"c","method":"send","room":"tea","id":"00000000000000000000000000000000","text":"x"}`, "zero_id"},
		"a silence":         {"script", `{"do":"sdk.open","name":"c","store":"memory"},{"do":"accept","name":"c"},{"do":"none","name":"c"}`, "unexpected"},
		"a row":             {"script", `{"do":"sdk.open","name":"c","store":"memory","kind":"offline"},{"do":"sdk","name":"c","method":"say","room":"tea","text":"x"},{"do":"sdk","name":"c","method":"outbox","expect":[{"attempts":1}]}`, "attempts: want 1"},
		"an event":          {"script", `{"do":"sdk.open","name":"c","store":"memory"},{"do":"sdk.event","name":"c","within":1000,"expect":{"event":"confirmed"}}`, "it never comes"},
		"a delay":           {"script", `{"do":"delay","n":3,"limits":{"base":1000,"cap":300000,"least":501},"in":[0]}`, "attempt 1"},
		"an unknown word":   {"script", `{"do":"dance"}`, "unknown word"},
		"an unknown name":   {"script", `{"do":"check","value":"$nothing","expect":1}`, "nothing is noted"},
		"something twice":   {"script", `{"do":"distinct","value":["a","b","a"]}`, "twice"},
		"a number too high": {"script", `{"do":"check","value":9007199254740993,"expect":{"$max":9007199254740992}}`, "not within"},
		"digits":            {"script", `{"do":"check","value":9007199254740993,"expect":9007199254740992}`, "want 9007199254740992"},
		"something among":   {"script", `{"do":"check","value":[{"a":1}],"expect":{"$has":[{"a":2}]}}`, "not among"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Scenario
			if err := decode([]byte(`{"name":"planted","world":"`+c.world+`","steps":[`+c.steps+`]}`), &s); err != nil {
				t.Fatal(err)
			}
			if err := playIn(t, &s); err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("the runner says %v, and should tell of %q", err, c.fault)
			}
		})
	}
}

// TestTheRunnerCanFailAtAGateway plants wrong expectations about deliveries, destinations, books and the command line.
func TestTheRunnerCanFailAtAGateway(t *testing.T) {
	const gateway = `{"policy":{"block_window":"1h"},"tenants":{"acme":{"sources":{"shop":{"verify":{"scheme":"github","secrets":[{"label":"a","file":"${dir}/s"}]},
		"key":{"pointer":"/id"},"amount":{"pointer":"/amount"},"currency":{"const":"USD"},"registry":"open",
		"forward":{"url":"${destinations}/shop","secret_files":["${dir}/f"],"allow":["127.0.0.0/8"]}}}}}}`
	const right = `{"do":"deliver","body":{"id":"k","amount":"1"},"sign":{"scheme":"github","secret":"x"},"status":202},{"do":"arrived","name":"shop","expect":[{"attempt":1}]}`
	for name, c := range map[string]struct{ steps, fault string }{
		"a signature":     {`{"do":"deliver","body":{"id":"k","amount":"1"},"sign":{"scheme":"github","secret":"y"},"status":202}`, "status 401, want 202"},
		"a decision":      {right + `,{"do":"deliver","body":{"id":"k","amount":"1"},"sign":{"scheme":"github","secret":"x"},"expect":{"body":{"outcome":"accept"}}}`, `outcome: want "accept"`},
		"a request":       {right + `,{"do":"arrived","name":"shop","within":100,"expect":[{"attempt":2}]}`, "attempt: want 2"},
		"requests":        {right + `,{"do":"arrived","name":"shop","within":100,"expect":{"$len":2}}`, "it never becomes so"},
		"a total":         {right + `,{"do":"settled","expect":{"USD":{"accepted_total":"2.00"}}}`, `accepted_total: want "2.00"`},
		"a currency":      {right + `,{"do":"settled","expect":{"EUR":{}}}`, "EUR"},
		"an exit status":  {`{"do":"hapax","in":["version"],"expect":{"status":3}}`, "status: want 3"},
		"another's words": {`{"do":"hapax","in":["dance"],"expect":{"stderr":{"$text":"shall we"}}}`, "shall we"},
		"a rule's word":   {`{"do":"answers","name":"shop","in":[{"statsu":500}]}`, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Scenario
			if err := decode([]byte(`{"name":"planted","world":"server","files":{"s":"x","f":"whsec_AAAA"},"gateway":`+gateway+`,"steps":[`+c.steps+`]}`), &s); err != nil {
				t.Fatal(err)
			}
			if err := playIn(t, &s); err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("the runner says %v, and should tell of %q", err, c.fault)
			}
		})
	}
}

// TestFramesAreHeldAgainstTheirSchemas plants frames that no server of version 1 sends.
func TestFramesAreHeldAgainstTheirSchemas(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"pong","serverTime":5}`:     "",
		`{"type":"pong","serverTime":"5"}`:   "serverTime",
		`{"type":"pong"}`:                    "serverTime",
		`{"type":"presence","room":"lobby"}`: "publishes no frame",
		`{"type":"send","room":"lobby"}`:     "publishes no frame",
		`[1]`:                                "publishes no frame",
	} {
		var f any
		if err := decode([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if err := asPublished(f); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestFilesAreReadStrictly plants mistakes of writing: a misspelt field must not make a step mean less than it says.
func TestFilesAreReadStrictly(t *testing.T) {
	for _, text := range []string{`{"do":"expect","fraem":{}}`, `{"do":"expect"} {}`, `{"do":1}`} {
		var s Step
		if err := decode([]byte(text), &s); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
