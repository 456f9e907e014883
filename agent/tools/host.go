package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/tools/host"
)

// hostInfo is the tool "host.info".
type hostInfo func(ctx context.Context) (host.Reading, error)

func (read hostInfo) run(ctx context.Context, _ Call) Result {
	r, err := read(ctx)
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%s: "+format+"\n", append([]any{what}, args...)...)
	}
	line("host", "%s, %s, up %s", r.Host, r.System, r.Up.Round(time.Minute))
	busy := "not known"
	if r.CPU >= 0 {
		busy = fmt.Sprintf("%.0f %% busy", r.CPU)
	}
	line("processors", "%d, %s, load %.2f %.2f %.2f", r.CPUs, busy, r.Load[0], r.Load[1], r.Load[2])
	if used := r.MemoryUsed(); used >= 0 {
		line("memory", "%.0f %% of %s used", used, gigabytes(r.Memory))
	}
	if used := r.DiskUsed(); used >= 0 {
		line("disk", "%.0f %% of %s used, %s free", used, gigabytes(r.Disk), gigabytes(r.Free))
	}
	line("this program", "%d MB of memory", r.Program/1_000_000)
	if err != nil {
		line("not known", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return Result{End: EndOK, Output: b.String()}
}

func gigabytes(bytes uint64) string { return fmt.Sprintf("%.1f GB", float64(bytes)/1e9) }
