package cases

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hapax/internal/cli"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asServer) != "":
		os.Exit(serverMain())
	case os.Getenv(asClient) != "":
		os.Exit(clientMain())
	case os.Getenv(asHapax) != "":
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

func caseFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// TestCases runs every file. A name of -run picks: TestCases/R06.
func TestCases(t *testing.T) {
	ran := 0
	for _, path := range caseFiles(t) {
		c, err := loadCase(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if *otherSDK != "" {
			c.Scenarios = slices.DeleteFunc(c.Scenarios, func(s Scenario) bool { return !s.forOtherSDK() })
		}
		if len(c.Scenarios) == 0 {
			continue
		}
		ran += len(c.Scenarios)
		t.Run(c.ID, func(t *testing.T) { playAll(t, c) })
	}
	if ran < 15 {
		t.Errorf("only %d scenarios", ran)
	}
}

func playAll(t *testing.T, c Case) {
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if err := playIn(t, s); err != nil {
				t.Errorf("%s (%s)\n\tright: %s\n\t%v", c.ID, c.Title, c.Right, err)
			}
		})
	}
}

// scenarioWait bounds a scenario.
const scenarioWait = 10 * time.Minute

// playIn runs a scenario in its world.
func playIn(t *testing.T, s *Scenario) (err error) {
	dir := t.TempDir()
	if s.World == "server" {
		ctx, cancel := context.WithTimeout(t.Context(), scenarioWait)
		defer cancel()
		return play(ctx, dir, s, false)
	}
	synctest.Test(t, func(t *testing.T) { err = play(t.Context(), dir, s, true) })
	return err
}
