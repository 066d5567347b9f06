package bench

import (
	"context"
	"fmt"
	"time"

	"hapax/internal/engine"
)

// fillSenders × fillWindow in flight make groups as large as the engine takes.
const (
	fillSenders = 64
	fillWindow  = 64
	fillStep    = 10 * time.Second
)

// fill stores keys until there are as many as the plan asks for.
func (p *Plan) fill(ctx context.Context, e *engine.Engine) error {
	step := p.fillStep
	if step == 0 {
		step = fillStep
	}
	for stored, round := 0, 0; stored < p.Keys; round++ {
		load := Pressure{Senders: fillSenders, Window: fillWindow, Text: p.Text, Measure: step}
		f, err := load.through(ctx, e, fmt.Sprintf("fill%d", round))
		if err != nil {
			return err
		}
		stored += int(f.PerSecond * step.Seconds())
		p.say(fmt.Sprintf("  %d of %d keys stored", stored, p.Keys))
	}
	return nil
}
