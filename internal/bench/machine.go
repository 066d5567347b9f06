package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine is where something was measured.
type Machine struct {
	CPU    string  `json:"cpu"`
	Cores  int     `json:"cores"`
	OS     string  `json:"os"`
	Go     string  `json:"go"`
	Time   string  `json:"time"`
	SyncMs float64 `json:"syncMs"` // a small append and its sync, the median of some
}

// String is the machine in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, a sync takes %.2f ms (%s)", m.CPU, m.Cores, m.OS, m.Go, m.SyncMs, m.Time)
}

// syncSamples are enough for a median and take some milliseconds on a good disk.
const syncSamples = 32

func thisMachine(dir string) (Machine, error) {
	m := Machine{CPU: cpuName(), Cores: runtime.GOMAXPROCS(0), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Time: time.Now().UTC().Format(time.RFC3339)}
	f, err := os.CreateTemp(dir, "sync")
	if err != nil {
		return m, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	defer func() { _ = f.Close() }()
	var times []float64
	for range syncSamples {
		if _, err := f.Write(make([]byte, 256)); err != nil {
			return m, err
		}
		started := time.Now()
		if err := f.Sync(); err != nil {
			return m, err
		}
		times = append(times, time.Since(started).Seconds()*1000)
	}
	m.SyncMs = median(times)
	return m, nil
}

// cpuName is what Linux calls the processor; elsewhere the architecture must do.
func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
