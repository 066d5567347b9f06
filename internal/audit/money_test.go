package audit

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func sumOf(t *testing.T, texts ...string) *money {
	t.Helper()
	var sum money
	for _, text := range texts {
		whole, parts, ok := amount([]byte(text))
		if !ok {
			t.Fatalf("%q is no amount", text)
		}
		sum.add(money{whole: whole, parts: uint64(parts)})
	}
	return &sum
}

func TestMoneyText(t *testing.T) {
	for want, texts := range map[string][]string{
		"0.00":                          {},
		"0.30":                          {"0.1", "0.2"},
		"2.50":                          {"2.5"},
		"2.5001":                        {"2.50010000"},
		"1.00":                          {"1"},
		"0.00000001":                    {"0.00000001"},
		"0.125":                         {"0.125", "0.000"},
		"5.00":                          {"2.50", "2.5"},
		"0.40":                          {"0.125", "0.275"},
		"1000000000000000000.00":        {"999999999999999999.99999999", "0.00000001"},
		"1999999999999999999.99999998":  {"999999999999999999.99999999", "999999999999999999.99999999"},
		"1000000000000000000.00000001":  {"999999999999999999", "1.00000001"},
		"10000000000000000000000000.00": nil,
	} {
		sum := sumOf(t, texts...)
		if texts == nil {
			sum = &money{tops: 10_000_000}
		}
		if got := sum.text(); got != want {
			t.Errorf("%q sum to %s, want %s", texts, got, want)
		}
	}
}

// TestMoneyAgainstBig sums random amounts, merges the sums as the workers do, and compares with math/big.
func TestMoneyAgainstBig(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		var whole, left, right money
		want := new(big.Rat)
		for range random.IntN(30) {
			text := randomAmount(random)
			one := sumOf(t, text)
			whole.add(*one)
			if random.IntN(2) == 0 {
				left.add(*one)
			} else {
				right.add(*one)
			}
			value, _ := new(big.Rat).SetString(text)
			want.Add(want, value)
		}
		left.add(right)
		if whole != left {
			t.Fatalf("%v in one sum, %v in two", whole, left)
		}
		text := whole.text()
		got, ok := new(big.Rat).SetString(text)
		if !ok || got.Cmp(want) != 0 {
			t.Fatalf("sum %s, want %s", text, want.FloatString(8))
		}
		_, decimals, _ := strings.Cut(text, ".")
		if len(decimals) < 2 || (len(decimals) > 2 && strings.HasSuffix(decimals, "0")) {
			t.Fatalf("%s isn't written as the contract has it", text)
		}
	}
}

func randomAmount(random *rand.Rand) string {
	text := big.NewInt(random.Int64N(1_000_000_000_000_000_000)).String()
	if random.IntN(3) > 0 {
		text = text[:1+random.IntN(len(text))]
	}
	if decimals := random.IntN(9); decimals > 0 {
		text += "."
		for range decimals {
			text += string(rune('0' + random.IntN(10)*random.IntN(2)))
		}
	}
	return text
}
