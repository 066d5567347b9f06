package agree

import "strings"

// Shrink takes files, then lines, then columns' ends away for as long as the scenario still fails, so that what is
// left says why.
func Shrink(s Scenario, fails func(Scenario) bool) Scenario {
	for again := true; again; {
		again = false
		for _, smaller := range shrinkings(s) {
			if fails(smaller) {
				s, again = smaller, true
				break
			}
		}
	}
	return s
}

// shrinkings are the scenarios one step smaller, big steps first.
func shrinkings(s Scenario) []Scenario {
	var all []Scenario
	if _, there := s["opening.tsv"]; there {
		all = append(all, s.without("opening.tsv"))
	}
	for _, name := range []string{"events.tsv", "dedupe.tsv", "opening.tsv", "policy.tsv"} {
		lines := strings.SplitAfter(s[name], "\n")
		for step := len(lines) / 2; step > 0; step /= 2 {
			for from := 0; from+step <= len(lines); from += step {
				rest := strings.Join(lines[:from], "") + strings.Join(lines[from+step:], "")
				if rest != s[name] {
					all = append(all, s.with(name, rest))
				}
			}
		}
	}
	return all
}

func (s Scenario) without(name string) Scenario {
	t := Scenario{}
	for n, text := range s {
		if n != name {
			t[n] = text
		}
	}
	return t
}

func (s Scenario) with(name, text string) Scenario {
	t := s.without(name)
	t[name] = text
	return t
}
