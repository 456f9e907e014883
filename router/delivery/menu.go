package delivery

import (
	"context"
	"math"
	"time"

	"switchboard/channels"
	"switchboard/retry"
)

const (
	menuTimeout  = time.Minute
	menuRetry    = time.Minute // doubling
	menuRetryMax = time.Hour
)

// keepMenu brings the menu to the platform once it spoke, and again after a
// pause while it does not take it.
func (l *Line) keepMenu(ctx context.Context) {
	commander, ok := l.channel().(channels.Commander)
	if !ok {
		return
	}
	if !retry.Await(ctx, l.health.up, math.MaxInt64) {
		return
	}
	for range retry.Doubling(ctx, menuRetry, menuRetryMax) {
		setting, cancel := context.WithTimeout(ctx, menuTimeout)
		err := commander.SetCommands(setting, l.lines.Menu(l.Name, l.Kind))
		cancel()
		if err == nil {
			return
		}
		l.lines.Log.DebugContext(ctx, "the menu of commands was not set", "channel", l.Name, "error", err)
	}
}
