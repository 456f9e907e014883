// Package host says how the machine is that the program runs on: processors, memory, disk. The tool host.info
// and the health check ask it; it knows neither.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"
)

// A Reading is how the machine is at a moment.
type Reading struct {
	Host   string
	System string // such as "debian 12 (linux/amd64)"
	Up     time.Duration
	CPUs   int
	// CPU is how busy the processors were since the reading before, in percent; -1: not known.
	CPU          float64
	Load         [3]float64 // of 1, 5 and 15 minutes; zeros where the system has none
	Memory, Used uint64     // bytes
	Disk, Free   uint64     // bytes of the disk with our data; Free is what we may use
	Program      uint64     // bytes of memory that the program itself takes
}

// MemoryUsed is how much of the memory is taken, in percent; -1: not known.
func (r *Reading) MemoryUsed() float64 { return percent(r.Used, r.Memory) }

// DiskUsed is how much of the disk is taken, in percent; -1: not known.
func (r *Reading) DiskUsed() float64 { return percent(r.Disk-min(r.Free, r.Disk), r.Disk) }

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return -1
	}
	return 100 * float64(part) / float64(whole)
}

// A Meter reads, and remembers how busy the processors were until then. The zero value works.
type Meter struct {
	mu    sync.Mutex
	busy  float64
	total float64
}

// Read reads how the machine is, and its disk under path. What the system does not say stays zero, or -1; an
// error says what that is, and the rest of the reading counts.
func (m *Meter) Read(ctx context.Context, path string) (r Reading, err error) {
	r = Reading{CPUs: runtime.NumCPU(), CPU: -1}
	note := func(what string, fault error) bool {
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", what, fault))
		}
		return fault == nil
	}
	if i, fault := host.InfoWithContext(ctx); note("system", fault) {
		r.Host, r.Up = i.Hostname, time.Duration(i.Uptime)*time.Second
		r.System = strings.TrimSpace(i.Platform+" "+i.PlatformVersion) + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"
	}
	if times, fault := cpu.TimesWithContext(ctx, false); note("processors", fault) && len(times) > 0 {
		r.CPU = m.since(&times[0])
	}
	if l, fault := load.AvgWithContext(ctx); fault == nil { // some systems have none
		r.Load = [3]float64{l.Load1, l.Load5, l.Load15}
	}
	if v, fault := mem.VirtualMemoryWithContext(ctx); note("memory", fault) {
		r.Memory, r.Used = v.Total, v.Total-min(v.Available, v.Total)
	}
	if d, fault := disk.UsageWithContext(ctx, path); note("disk", fault) {
		r.Disk, r.Free = d.Used+d.Free, d.Free // without what is reserved for root
	}
	if p, fault := process.NewProcessWithContext(ctx, int32(os.Getpid())); note("program", fault) { //nolint:gosec // process numbers fit
		if info, fault := p.MemoryInfoWithContext(ctx); note("program", fault) {
			r.Program = info.RSS
		}
	}
	return r, err
}

// since is how busy the processors were since it was asked before.
func (m *Meter) since(t *cpu.TimesStat) float64 {
	total := t.User + t.System + t.Idle + t.Nice + t.Iowait + t.Irq + t.Softirq + t.Steal
	busy := total - t.Idle - t.Iowait
	m.mu.Lock()
	defer m.mu.Unlock()
	whole, part := total-m.total, busy-m.busy
	first := m.total == 0
	m.total, m.busy = total, busy
	if first || whole <= 0 {
		return -1
	}
	return min(max(100*part/whole, 0), 100)
}
