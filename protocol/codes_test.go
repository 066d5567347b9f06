package protocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// declaredCodes reads the constants of type Code out of the source, so that one without a rule can't slip by.
func declaredCodes(t *testing.T) map[Code]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := make(map[Code]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Code" {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes[Code(code)] = true
		}
		return true
	})
	return codes
}

type codeCase struct {
	Code          Code
	Status, Close int
	Type          string
	Retryable     bool
	Advice        Advice
}

func TestTableOfCodesIsTotal(t *testing.T) {
	declared := declaredCodes(t)
	if len(declared) != 15 {
		t.Fatalf("version 1 has 15 codes, found %d", len(declared))
	}
	seen := make(map[Code]bool)
	for _, r := range Rules() {
		if !declared[r.Code] || seen[r.Code] {
			t.Errorf("%s: not declared, or two rules", r.Code)
		}
		seen[r.Code] = true
		if r.Title == "" || r.Status < 400 || r.Status > 599 || r.Retryable != (r.Advice == TryAgain) {
			t.Errorf("%s: %+v", r.Code, r)
		}
		if r.Close != 0 && (r.Close < 1000 || r.Close > 4999) {
			t.Errorf("%s: no WebSocket close code: %d", r.Code, r.Close)
		}
		if r.Code.Rule() != r {
			t.Errorf("%s: looked up as %+v", r.Code, r.Code.Rule())
		}
	}
	if len(seen) != len(declared) {
		t.Errorf("%d codes, %d rules", len(declared), len(seen))
	}
	cases := vectors[codeCase](t, "codes.json")
	if len(cases) != len(declared) {
		t.Errorf("%d codes, %d vectors", len(declared), len(cases))
	}
	for _, c := range cases {
		r := c.Code.Rule()
		if got := (codeCase{r.Code, r.Status, r.Close, r.Type(), r.Retryable, r.Advice}); got != c {
			t.Errorf("got %+v, want %+v", got, c)
		}
	}
}

func TestUnknownCodeIsNotRetryable(t *testing.T) {
	if r := Code("novel").Rule(); r.Retryable || r.Status != 500 || r.Code != "novel" {
		t.Fatalf("got %+v", r)
	}
}
