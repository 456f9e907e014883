package setup_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// BenchmarkStart starts the real program, as a bare engine, on the data of its
// former start: the time from exec to the line that says it is ready, and the
// memory it holds after it has been idle for a second.
func BenchmarkStart(b *testing.B) {
	path := programtest.Build(b)
	data := filepath.Join(b.TempDir(), "data")
	var ready []float64
	var resident []float64
	for b.Loop() {
		took, kb := startOnce(b, path, data)
		ready = append(ready, float64(took)/float64(time.Millisecond))
		resident = append(resident, float64(kb)/1024)
	}
	slices.Sort(ready)
	slices.Sort(resident)
	b.ReportMetric(ready[len(ready)/2], "ready-ms")
	b.ReportMetric(resident[len(resident)/2], "idle-MB")
	b.ReportMetric(0, "ns/op") // the second of idling is no figure
}

func startOnce(b *testing.B, path, data string) (took time.Duration, kb int64) {
	b.Helper()
	cmd := exec.Command(path, "--data", data, "serve")
	cmd.Env = programtest.Environ()
	cmd.Dir = filepath.Dir(data)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte(`"ready"`)) {
			took = time.Since(began)
			break
		}
	}
	if took == 0 {
		b.Fatal("the program ended before it was ready")
	}
	time.Sleep(time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ = strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	for lines.Scan() { // until it is gone
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took, kb
}
