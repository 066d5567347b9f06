package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestNumbersAsRFC8785 takes the samples of RFC 8785, appendix B, and the edges of ECMAScript's forms.
func TestNumbersAsRFC8785(t *testing.T) {
	for literal, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0.0e5": "0", "5.0": "5", "1E2": "100", "0.10": "0.1", "-1.50": "-1.5",
		"5e-324": "5e-324", "-5e-324": "-5e-324", "1.7976931348623157e308": "1.7976931348623157e+308", "-1.7976931348623157e308": "-1.7976931348623157e+308",
		"9007199254740992": "9007199254740992", "-9007199254740992": "-9007199254740992", "295147905179352825856": "295147905179352830000",
		"9.999999999999997e22": "9.999999999999997e+22", "1e23": "1e+23", "1.0000000000000001e23": "1.0000000000000001e+23",
		"999999999999999700000": "999999999999999700000", "999999999999999900000": "999999999999999900000", "1e21": "1e+21", "100000000000000000000": "100000000000000000000",
		"9.999999999999997e-7": "9.999999999999997e-7", "0.000001": "0.000001", "0.0000010": "0.000001", "1e-7": "1e-7", "1.5e-7": "1.5e-7",
		"333333333.3333332": "333333333.3333332", "333333333.33333325": "333333333.33333325", "333333333.3333333": "333333333.3333333",
		"1424953923781206.2": "1424953923781206.2", "123456789012345678901": "123456789012345680000", "12e-1": "1.2",
		"1e400": "1e400", "-1e999": "-1e999", // beyond all doubles: as written
	} {
		if got := string(appendNumber(nil, []byte(literal))); got != want {
			t.Errorf("%s is written %s, want %s", literal, got, want)
		}
	}
}

func TestStringsAsRFC8785(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  `""`,
		"a\"\\":                             `"a\"\\"`,
		"\b\t\n\f\r\x00\x01\x1f\x7f":        `"\b\t\n\f\r\u0000\u0001\u001f` + "\x7f\"",
		"</script>&\u2028é\U0001F600\uFEFF": "\"</script>&\u2028é\U0001F600\uFEFF\"",
	} {
		if got := string(quoted(text)); got != want {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}

// TestMembersSortByUTF16 takes the sample of RFC 8785, section 3.2.3.
func TestMembersSortByUTF16(t *testing.T) {
	names := []string{"\u20ac", "\r", "\ufb33", "1", "\U0001F600", "\u0080", "\u00f6"}
	slices.SortFunc(names, compareUTF16)
	if want := []string{"\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001F600", "\ufb33"}; !slices.Equal(names, want) {
		t.Errorf("order %q, want %q", names, want)
	}
}

// exact is the text by which a value is compared.
func exact(t *testing.T, text string) string {
	t.Helper()
	r := &jsonReader{src: []byte(text)}
	got, err := r.value(nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(got)
}

func TestExactText(t *testing.T) {
	for text, want := range map[string]string{
		` [ 1 , 1.0 , 1e0 , -0 , 10 ] `:      `[1,1.0,1e0,-0,10]`,
		`{"b":1,"a":{"d":[],"c":{}}}`:        `{"a":{"c":{},"d":[]},"b":1}`,
		`"\u0061\/\u00e9\ud83d\ude00"`:       `"a/é😀"`,
		`"\u000A\u001F\"\\\b\f\n\r\t"`:       `"\n\u001f\"\\\b\f\n\r\t"`,
		`{"\u0062":true,"a":false,"c":null}`: `{"a":false,"b":true,"c":null}`,
	} {
		if got := exact(t, text); got != want {
			t.Errorf("%s is compared as %s, want %s", text, got, want)
		}
	}
	if got := string(canonical([]byte(`{"b":[5.0,-0,1E2],"a":"\u0041"}`))); got != `{"a":"A","b":[5,0,100]}` {
		t.Errorf("canonical %s", got)
	}
}

// strictFaults are documents that a report can't be.
var strictFaults = []string{
	``, ` `, `null`, `true`, `1`, `"{}"`, `[]`, `[{}]`, `{`, `}`, `{}{}`, `{} {}`, `{},`, `{}x`, `{}` + "\x00", "\uFEFF{}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`,
	`{"a":1 "b":2}`, `{a:1}`, `{'a':1}`, `{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"a":1}}`, `{"x":[{"a":1,"b":2,"a":1}]}`, `{"a":01}`, `{"a":+1}`,
	`{"a":.5}`, `{"a":5.}`, `{"a":1e}`, `{"a":1e+}`, `{"a":-}`, `{"a":--1}`, `{"a":0x1}`, `{"a":NaN}`, `{"a":Infinity}`, `{"a":1_0}`, `{"a":tru}`, `{"a":TRUE}`, `{"a":truex}`,
	`{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, `{"a":"\u+123"}`, `{"a":"\ud800"}`, `{"a":"\ud800x"}`, `{"a":"\ud800\u0041"}`, `{"a":"\udc00"}`, `{"a":"\udc00\ud800"}`,
	`{"a":"` + "\xFF" + `"}`, `{"a":"` + "\xED\xA0\x80" + `"}`, `{"a":"x}`, `{"a":"\`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":[1}`, `{"a":]}`, `{"a":1}]`,
	`{"a":/**/1}`, `{"a":1}//`, "{\"a\":\u00A01}", "{\"a\":\v1}",
	`{"a":` + strings.Repeat("[", 2_000) + strings.Repeat("]", 2_000) + `}`,
	`{"a":` + strings.Repeat("[", 5_000_000),
	strings.Repeat(`{"a":`, 2_000) + "1" + strings.Repeat(`}`, 2_000),
}

func TestStrictReading(t *testing.T) {
	for _, document := range strictFaults {
		if members, err := readObject([]byte(document)); err == nil {
			t.Errorf("%.60q was taken: %d members", document, len(members))
		}
	}
	for _, document := range []string{
		`{}`, " \t\r\n{ } \n", `{"a":1}`, `{"":""}`, `{"a":{"a":{"a":1}}}`, `{"a":[{"a":1},{"a":1}]}`, `{"a":"\\u0061","b":1e999,"c":-0.0E-0}`,
		`{"a":"\ud83d\ude00"}`, `{"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`,
	} {
		if _, err := readObject([]byte(document)); err != nil {
			t.Errorf("%.60q: %v", document, err)
		}
	}
}

// FuzzStrictReading holds the reader against the standard library's: what it takes is JSON and means the same; what it
// refuses of good JSON has a reason that the standard library passes over.
func FuzzStrictReading(f *testing.F) {
	for _, document := range strictFaults {
		if len(document) < 100 {
			f.Add(document)
		}
	}
	f.Add(`{"a":[1,-2.50e3,"x\u00e9\n",{"b":null,"a":true}],"b":"\ud83d\ude00"}`)
	f.Fuzz(func(t *testing.T, document string) {
		members, err := readObject([]byte(document))
		if err != nil {
			return
		}
		if !json.Valid([]byte(document)) {
			t.Fatalf("%q was taken and is no JSON", document)
		}
		text := appendMembers(nil, members)
		if !sameJSON(t, document, string(text)) {
			t.Errorf("%q is compared as %s", document, text)
		}
		again, err := readObject(text)
		if err != nil || string(appendMembers(nil, again)) != string(text) {
			t.Errorf("%s isn't read as it was written: %v", text, err)
		}
		canonical([]byte(document))
	})
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	normal := func(text string) string {
		var value any
		from := json.NewDecoder(strings.NewReader(text))
		from.UseNumber()
		if err := from.Decode(&value); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		out, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return normal(a) == normal(b)
}
