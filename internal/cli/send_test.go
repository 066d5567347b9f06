package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestLinesEndWithTheContext: a signal or --timeout ends the command also while its standard input is open and silent.
func TestLinesEndWithTheContext(t *testing.T) {
	in, typing := io.Pipe()
	defer in.Close()
	enough := errors.New("enough")
	ctx, end := context.WithCancelCause(t.Context())
	heard := make(chan string, 1)
	done := make(chan error)
	go func() { done <- lines(ctx, in, func(s string) error { heard <- s; return nil }) }()
	if _, err := io.WriteString(typing, "one\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "one" {
		t.Fatalf("%q", got)
	}
	end(enough)
	if err := <-done; !errors.Is(err, enough) {
		t.Fatal(err)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", longestLine-1)
	for _, c := range []struct {
		in   string
		want []string
		err  error
	}{
		{"", nil, nil},
		{"a\r\n\nb", []string{"a", "", "b"}, nil},
		{"a\n" + long + "\nb\n", []string{"a", long, "b"}, nil},
		{"a\n" + long + "xx", []string{"a"}, errLongLine},
	} {
		var got []string
		err := lines(t.Context(), strings.NewReader(c.in), func(s string) error { got = append(got, s); return nil })
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%.20q: %.40q, %v", c.in, got, err)
		}
	}
}
