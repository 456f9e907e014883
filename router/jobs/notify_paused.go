package jobs

import (
	"context"
	"fmt"
	"strings"

	"switchboard/channels/render"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
)

// NotifyPaused notifies the admins of jobs of somebody that stopped, and why.
func NotifyPaused(ctx context.Context, to *delivery.Connections, owner, why string, jobs []int64) {
	if len(jobs) == 0 {
		return
	}
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(jobs), "[]"), " ", ", ")
	to.Notify(ctx, outbox.NoticeJobDisabled, "paused "+list, fmt.Sprintf(
		"%s %s, so jobs of theirs are paused: %s. \"/jobs %d\" says more.", render.Escape(owner), why, list, jobs[0]))
}
