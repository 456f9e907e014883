package host_test

import (
	"testing"
	"time"

	"switchboard/agent/tools/host"
)

func TestReadsThisMachine(t *testing.T) {
	t.Parallel()
	var m host.Meter
	r, err := m.Read(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if r.CPU != -1 {
		t.Errorf("busy since nothing: %v", r.CPU)
	}
	if r.CPUs < 1 || r.Memory < 1<<20 || r.Used == 0 || r.Used > r.Memory || r.Disk == 0 || r.Free > r.Disk || r.Program < 1<<20 || r.System == "" {
		t.Errorf("%+v", r)
	}
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); { //nolint:revive // keeps a processor busy
	}
	if r, err = m.Read(t.Context(), t.TempDir()); err != nil || r.CPU < 0 || r.CPU > 100 {
		t.Errorf("busy %v, %v", r.CPU, err)
	}
	if p := r.MemoryUsed(); p <= 0 || p > 100 {
		t.Errorf("memory %v", p)
	}
	if r, err = m.Read(t.Context(), t.TempDir()+"/none"); err == nil || r.DiskUsed() != -1 || r.Memory == 0 {
		t.Errorf("with no such disk: %v, %+v", err, r)
	}
}
