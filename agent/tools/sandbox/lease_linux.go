package sandbox

import (
	"time"

	"golang.org/x/sys/unix"
)

// leaseEvery is how often a helper is told that its command may run longer.
const leaseEvery = time.Second

// A lease is until when a command may run unless its helper is told of a later one. It ends
// when either clock says so: the wall clock is what others judge our leases by, and
// the other one does not follow when the wall clock is set back.
type lease struct {
	Wall int64 // Unix time in µs; 0: for ever
	Boot int64 // by CLOCK_BOOTTIME, in ns, which counts while the machine sleeps
}

// lease is until when commands may run, as far as this engine knows now.
func (s *Sandbox) lease() lease {
	if s.cfg.SafeUntil == nil {
		return lease{}
	}
	boot := bootTime() // first: what passes until the next line shortens the lease
	until := s.cfg.SafeUntil()
	if until.IsZero() {
		return lease{}
	}
	return lease{Wall: until.UnixMicro(), Boot: boot + int64(until.Round(0).Sub(time.Now().Round(0)))}
}

func (l lease) forEver() bool { return l.Wall == 0 }

// bootTime is CLOCK_BOOTTIME, which all processes of a machine share, in ns.
func bootTime() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		panic(err) // Linux has had it since 2.6.39
	}
	return now.Nano()
}

// passed says that a command with this lease must not run any longer.
func (l lease) passed() bool {
	return !l.forEver() && (time.Now().UnixMicro() >= l.Wall || bootTime() >= l.Boot)
}
