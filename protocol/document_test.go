package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func read(t testing.TB, text string) Value {
	t.Helper()
	d, err := ReadDocument([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d.Root()
}

func TestDocumentIsReadStrictly(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth)
	wide := make([]string, 40)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"m%d":0`, i)
	}
	for _, text := range []string{
		``, ` `, `{`, `{}{}`, `{} x`, `[1,]`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a"}`, `{a:1}`, `'a'`, `tru`, `nul`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `0x10`, `NaN`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"b":{"a":1,"b":[],"a":2}}`, `"\ud800"`, `"\udc00x"`, "\"\xff\"", "\"a\nb\"", `"\x"`, "\ufeff{}",
		deep + "[" + strings.Repeat("]", MaxDepth+1), `{` + strings.Join(wide, ",") + `,"m7":1}`,
	} {
		d, err := ReadDocument([]byte(text))
		var p *Problem
		if d != nil || !errors.As(err, &p) || p.Code != BadRequest {
			t.Errorf("%.40q was read: %v", text, err)
		}
	}
	for _, text := range []string{deep + strings.Repeat("]", MaxDepth), ` {"a" : [ 1e9999 , 123456789012345678901234567890 ] } `, `{` + strings.Join(wide, ",") + `}`, `{"A":1,"a":2}`} {
		read(t, text)
	}
}

func TestDocumentKeepsNumbersAsWritten(t *testing.T) {
	for _, literal := range []string{"1.0", "1", "-0", "1e9999", "0.10", "123456789012345678901", "1E+2"} {
		v, ok := read(t, `{"a":[0,`+literal+`]}`).Find(Pointer{"a", "1"})
		if !ok || v.Kind() != JSONNumber || v.Literal() != literal {
			t.Errorf("%s: %v", literal, ok)
		}
	}
}

func TestPointers(t *testing.T) {
	const text = `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8,"0":{"1":"x"},"n":null,"A":5}`
	for pointer, want := range map[string]string{
		"": text, "/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/foo/1": `"baz"`, "/": "0", "/a~1b": "1", "/c%d": "2", "/m~0n": "8", "/0/1": `"x"`, "/n": "null", "/A": "5",
		"/foo/2": "", "/foo/00": "", "/foo/-": "", "/foo/-1": "", "/foo/1e0": "", "/a": "", "/foo/0/x": "", "/n/x": "", "/foo/99999999999999999999": "",
	} {
		p, ok := ParsePointer(pointer)
		if !ok {
			t.Errorf("%q is a pointer", pointer)
			continue
		}
		v, found := read(t, text).Find(p)
		if found != (want != "") || found && v.Literal() != want {
			t.Errorf("%q points to %v", pointer, found)
		}
	}
	for _, bad := range []string{"foo", "/~", "/a~2", "/~a", "#/a", "/\xff"} {
		if p, ok := ParsePointer(bad); ok {
			t.Errorf("%q was read as %q", bad, p)
		}
	}
}

// Where RFC 8785 has a form (and Canonical gives it), it is the document's.
func TestCanonicalOfADocument(t *testing.T) {
	for _, text := range []string{
		`{"b":1,"a":[true,false,null,"x"]}`, `{"\u20ac":"Euro","\r":"CR","1":"One","\ud83d\ude00":"Smiley","\u0080":"Control","\u00f6":"ö","\ufb33":"Hebrew"}`,
		`[1.0,1e2,-0,0.000001,1e-7,1e21,333333333.33333329,4.50,2e-3,0.000000000000000000000000001,9007199254740991,0.1,0.30000000000000004]`,
		`"\u0041\u001b\/\"\\"`, ` 7 `,
	} {
		want, err := Canonical(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "333333333.33333329") {
			want = bytes.Replace(want, []byte("333333333.3333333"), []byte("33333333333333329e-8"), 1) // RFC 8785 loses the last digit
		}
		if got := read(t, text).AppendCanonical([]byte("x"), nil); string(got[1:]) != string(want) {
			t.Errorf("%s\n got %s\nwant %s", text, got[1:], want)
		}
	}
}

// Two numbers have one form exactly where they are one number.
func TestNumbersThatADoubleLosesStayApart(t *testing.T) {
	for _, same := range [][]string{
		{"1", "1.0", "10e-1", "0.1e1", "1E0", "1e+0"}, {"0", "-0", "0.00", "0e5", "0e99999999999"}, {"1e9999", "10e9998", "0.1e10000"},
		{"12345678901234567890", "1234567890123456789e1", "12345678901234567890.0"}, {"9007199254740993", "9007199254740993.0"},
		{"-100000000.00000001", "-10000000000000001e-8"}, {"1e-400", "10e-401"},
	} {
		for _, text := range same {
			if a, b := read(t, same[0]).AppendCanonical(nil, nil), read(t, text).AppendCanonical(nil, nil); string(a) != string(b) {
				t.Errorf("%s is %s, %s is %s", same[0], a, text, b)
			}
		}
	}
	seen := map[string]string{}
	for _, text := range []string{
		"1", "-1", "0", "1e9999", "1e9998", "-1e9999", "12345678901234567890", "12345678901234567891", "9007199254740992", "9007199254740993", "100000000.00000001",
		"100000000.00000002", "1e-400", "1e-401", "1e99999999999", "1e-99999999999",
	} {
		form := string(read(t, text).AppendCanonical(nil, nil))
		if other, taken := seen[form]; taken {
			t.Errorf("%s and %s are both %s", text, other, form)
		}
		seen[form] = text
	}
}

func TestCanonicalWithout(t *testing.T) {
	v := read(t, `{"id":1,"sent":{"at":5},"list":[1,2,3],"z":0}`)
	var without []Value
	for _, p := range []Pointer{{"sent", "at"}, {"list", "1"}, {"z"}} {
		found, ok := v.Find(p)
		if !ok {
			t.Fatal(p)
		}
		without = append(without, found)
	}
	if got := string(v.AppendCanonical(nil, without)); got != `{"id":1,"list":[1,3],"sent":{}}` {
		t.Error(got)
	}
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{`{"a":1,"b":[1,{"c":2}]}`, `{"b":[1.0,{"c":2}],"a":1}`, nil},
		{`{"a":1}`, `{"a":2}`, []string{"/a"}},
		{`{"a":1,"c":3}`, `{"b":1,"c":4}`, []string{"/a", "/b", "/c"}},
		{`{"a":[1,2,{"x":1}]}`, `{"a":[1,3,{"x":2}]}`, []string{"/a/1", "/a/2/x"}},
		{`{"a":[1,2]}`, `{"a":[1]}`, []string{"/a"}},
		{`{"a/b~":null}`, `{}`, []string{"/a~1b~0"}},
		{`1`, `"1"`, []string{""}},
		{`{"a":{}}`, `{"a":[]}`, []string{"/a"}},
	} {
		if got := Differences(read(t, c.a), read(t, c.b), nil); !slices.Equal(got, c.want) {
			t.Errorf("%s and %s differ at %q", c.a, c.b, got)
		}
	}
	many := func(v int) string {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, `,"%s%d":%d`, strings.Repeat("n", 300), i, v)
		}
		return `{"x":{"short":0` + b.String() + `}}`
	}
	if got := Differences(read(t, many(1)), read(t, many(2)), nil); !slices.Equal(got, []string{"/x"}) {
		t.Errorf("long names are told by what they are in, once: %d", len(got))
	}
	a, b := read(t, `{"a":1,"b":1}`), read(t, `{"a":2,"b":2}`)
	left, _ := a.Find(Pointer{"a"})
	right, _ := b.Find(Pointer{"a"})
	if got := Differences(a, b, []Value{left, right}); !slices.Equal(got, []string{"/b"}) {
		t.Errorf("without a: %q", got)
	}
}

// A document of any bytes is refused or has a form, whose form is itself and which differs from it nowhere.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{`{"b":[1,2.50,-0],"a":"\u001b"}`, `[1e9999,12345678901234567890]`, `{"a":{"a":{}},"":null}`, "\xff", `{"a":1,"a":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadDocument(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q isn't JSON", text)
		}
		form := d.Root().AppendCanonical(nil, nil)
		again, err := ReadDocument(form)
		if err != nil {
			t.Fatalf("the form %q of %q: %v", form, text, err)
		}
		if twice := again.Root().AppendCanonical(nil, nil); !bytes.Equal(form, twice) {
			t.Fatalf("%q became %q", form, twice)
		}
		if at := Differences(d.Root(), again.Root(), nil); at != nil {
			t.Fatalf("%q and %q differ at %q", text, form, at)
		}
		if want, err := Canonical(nil, text); err == nil {
			if got, err := Canonical(nil, form); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("RFC 8785 has %q for %q, and %q for its form %q: %v", want, text, got, form, err)
			}
		}
	})
}
