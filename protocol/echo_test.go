package protocol

import "testing"

// A malformed frame is answered with its ref and room wherever they stand, as long as it is JSON at all.
func TestWhatAnAnswerRepeatsOfAMalformedFrame(t *testing.T) {
	const ids = `"ref":"r","room":"tea","clientMessageId":"a"`
	for name, c := range map[string]struct {
		frame string
		whole bool
	}{
		"a member twice, before":    {`{"x":1,"x":2,` + ids + `}`, true},
		"a member twice, after":     {`{` + ids + `,"x":1,"x":2}`, true},
		"a number past 2^53":        {`{"type":"send","data":9007199254740993,` + ids + `}`, true},
		"out of a double's range":   {`{"data":[1e999],` + ids + `}`, true},
		"a lone surrogate":          {`{"text":"\ud800",` + ids + `}`, true},
		"a member twice, inside":    {`{"data":{"a":1,"a":1},` + ids + `}`, true},
		"another spelling is none":  {`{"x":1,"x":2,"Ref":"r","ROOM":"tea","clientmessageid":"a"}`, false},
		"texts that aren't Unicode": {`{"x":1,"x":2,"ref":"\ud800","room":"\udfff","clientMessageId":"\ud800"}`, false},
		"other kinds":               {`{"x":1,"x":2,"ref":1,"room":["tea"],"clientMessageId":null}`, false},
		"each twice, the first":     {`{` + ids + `,"ref":"s","room":"milk","clientMessageId":"b"}`, true},
		"no JSON":                   {`{"x":,` + ids + `}`, false},
		"no object":                 {`[` + `{` + ids + `}]`, false},
		"more behind it":            {`{` + `"x":1,"x":1,` + ids + `} {}`, false},
	} {
		_, p := DecodeCommand([]byte(c.frame), &DefaultLimits)
		if p == nil || p.Code != BadRequest {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		got := [3]string{p.Ref, p.Room, p.ClientMessageID}
		want := [3]string{}
		if c.whole {
			want = [3]string{"r", "tea", "a"}
		}
		if got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
