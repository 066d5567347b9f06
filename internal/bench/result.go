package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Figure is one measurement.
type Figure struct {
	PerSecond float64 `json:"perSecond"`
	P50ms     float64 `json:"p50Ms"`
	P99ms     float64 `json:"p99Ms"`
}

// Result is what a measurement came to: medians of its runs, and how it stands to its target.
type Result struct {
	Name       string   `json:"name"`
	Conditions string   `json:"conditions"`
	Unit       string   `json:"unit"`
	Median     Figure   `json:"median"` // of each field by itself
	Runs       []Figure `json:"runs,omitempty"`
	// Against, where there is one, is what was measured in the same runs for comparison, and Ratio the median of the pairs.
	Against string    `json:"against,omitempty"`
	Ratio   float64   `json:"ratio,omitempty"`
	Ratios  []float64 `json:"ratios,omitempty"`
	Target  string    `json:"target"`
	Met     bool      `json:"met"`
}

// Report is all that was measured, and where.
type Report struct {
	Machine Machine  `json:"machine"`
	Results []Result `json:"results"`
}

func medianFigure(runs []Figure) Figure {
	of := func(f func(Figure) float64) float64 {
		values := make([]float64, len(runs))
		for i, r := range runs {
			values[i] = f(r)
		}
		return median(values)
	}
	return Figure{
		PerSecond: of(func(f Figure) float64 { return f.PerSecond }),
		P50ms:     of(func(f Figure) float64 { return f.P50ms }),
		P99ms:     of(func(f Figure) float64 { return f.P99ms }),
	}
}

// median of no values is 0.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// pairs are two measurements, taken in turn.
type pairs struct{ this, other []Figure }

func (p *pairs) add(this, other Figure) {
	p.this, p.other = append(p.this, this), append(p.other, other)
}

func (p *pairs) ratios() []float64 {
	ratios := make([]float64, len(p.this))
	for i := range p.this {
		ratios[i] = p.this[i].PerSecond / max(p.other[i].PerSecond, 1e-9)
	}
	return ratios
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n\n", r.Machine); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "measured\tmedian\tp50 ms\tp99 ms\tratio\ttarget\t")
	for _, m := range r.Results {
		ratio, met := "", "no"
		if m.Against != "" {
			ratio = fmt.Sprintf("%.2f of %s", m.Ratio, m.Against)
		}
		if m.Met {
			met = "yes"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s: %s\t\n", m.Name, amount(m.Median.PerSecond, m.Unit), took(m.Median.P50ms), took(m.Median.P99ms), ratio, m.Target, met)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range r.Results {
		if _, err := fmt.Fprintf(w, "\n%s: %s", m.Name, m.Conditions); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func amount(v float64, unit string) string { return fmt.Sprintf("%.0f %s", v, unit) }

func took(ms float64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", ms)
}
