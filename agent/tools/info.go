package tools

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/tools/host"
	"switchboard/internal/words"
)

// clock is the tool "time".
type clock func() time.Time

func (now clock) run(_ context.Context, call Call, args struct{ Zone *string }) Result {
	name, err := cmp.Or(strings.TrimSpace(call.Session.TimeZone), "UTC"), error(nil)
	if args.Zone != nil {
		name, err = words.Zone(cmp.Or(strings.TrimSpace(*args.Zone), "UTC"))
	}
	if err != nil {
		return failed("unknown_zone", "use an IANA name: Continent/City with underscores, such as Asia/Tokyo or America/New_York, or UTC", "%v", err)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return failed("unknown_zone", "use another zone", "%v", err)
	}
	at := now()
	local := at.In(zone)
	return Result{End: EndOK, Output: fmt.Sprintf(
		"zone: %s\nlocal: %s\nweekday: %s\nutc_offset: %s\ninstant: %s\n",
		name, local.Format("2006-01-02 15:04"), local.Weekday(), local.Format("-07:00"), at.UTC().Format(time.RFC3339),
	)}
}

// sessionInfo is the tool "session.info".
func sessionInfo(_ context.Context, call Call) Result {
	s := call.Session
	var b strings.Builder
	for _, line := range [][2]string{
		{"session", s.ID},
		{"person", s.Person},
		{"role", s.Role},
		{"channel", s.Channel},
		{"mode", s.Mode},
		{"time_zone", cmp.Or(s.TimeZone, "UTC")},
		{"language", s.Language},
		{"model", s.Model},
	} {
		fmt.Fprintf(&b, "%s: %s\n", line[0], cmp.Or(line[1], "(not set)"))
	}
	return Result{End: EndOK, Output: b.String()}
}

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
