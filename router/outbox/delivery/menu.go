package delivery

import (
	"context"
	"math"
	"reflect"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

const (
	menuTimeout  = time.Minute
	menuRetry    = time.Minute // doubling
	menuRetryMax = time.Hour
)

// keepMenu brings the menu to the platform once it spoke, and again whenever it has changed, and
// after a pause while the platform does not take it.
func (c *Connection) keepMenu(ctx context.Context, commander channels.Commander) {
	if !retry.Await(ctx, c.supervisor.now().up, math.MaxInt64) {
		return
	}
	var had []channels.CommandSet // what the platform may show
	for failed := 0; ; {
		sets := c.parent.Menu(c.Name, c.Kind)
		if failed == 0 && reflect.DeepEqual(sets, had) {
			if !retry.Await(ctx, c.menus, math.MaxInt64) {
				return
			}
			continue
		}
		all := slices.Concat(sets, gone(had, sets))
		setting, cancel := context.WithTimeout(ctx, menuTimeout)
		err := commander.SetCommands(setting, all)
		cancel()
		if err == nil {
			had, failed = sets, 0
			continue
		}
		c.Log.DebugContext(ctx, "the menu of commands was not set", "error", err)
		had = all
		if !retry.Sleep(ctx, retry.Pause(failed, menuRetry, menuRetryMax)) {
			return
		}
		failed++
	}
}

// gone are the menus of single persons that are there no more, as empty ones: the platform is to show
// them what it shows everybody.
func gone(was, sets []channels.CommandSet) (list []channels.CommandSet) {
	for _, set := range was {
		if set.Sender != "" && !slices.ContainsFunc(sets, func(s channels.CommandSet) bool { return s.Sender == set.Sender }) {
			set.Commands = nil
			list = append(list, set)
		}
	}
	return list
}
