package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"switchboard/agent/tools"
	"switchboard/agent/tools/host"
	"switchboard/configs"
	"switchboard/retry"
	"switchboard/router"
	"switchboard/scheduler"
	"switchboard/store"
)

// Maintain implements scheduler.Maintainer.
func (e *engine) Maintain(ctx context.Context, job *scheduler.Job) (done scheduler.Maintained, err error) {
	var n int64
	switch job.Name {
	case scheduler.MaintainRetention:
		n, err = e.db.Retain(ctx, e.owner.ID(), retention(e.settings(), e.log))
		done.Did = some(n, "old rows were cleared away")
	case scheduler.MaintainFiles:
		n, err = e.files.Forget(ctx)
		done.Did = some(n, "old attachments were forgotten")
	case scheduler.MaintainOrphans:
		n, err = e.files.RemoveOrphans(ctx)
		done.Did = some(n, "files that nothing refers to were removed")
	case scheduler.MaintainAudit:
		n, err = e.db.SealAudit(ctx, e.owner.ID())
		done.Did = some(n, "rows of the audit log were sealed")
	case scheduler.MaintainOptimize:
		err = e.db.Optimize(ctx)
	default:
		err = fmt.Errorf("this build has no maintenance %q", job.Name)
	}
	return done, err
}

// some says what was done to n things; nothing of none.
func some(n int64, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func retention(s *configs.Settings, log *slog.Logger) store.Retention {
	r := s.Retention
	return store.Retention{
		Turns: r.Turns, Strangers: r.Strangers, Prompts: r.Prompts, Audit: r.Audit, Sessions: r.Sessions, Named: s.Names,
		Dropped: func(session int64) {
			if err := tools.RemoveWorkspace(router.Workspace(s.DataDir, session)); err != nil {
				log.Warn("the workspace of a session that is gone could not be removed", "session_id", session, "error", err)
			}
		},
	}
}

// hostInfo is how the machine is, its processors over a short while.
func (e *engine) hostInfo(ctx context.Context) (host.Reading, error) {
	var m host.Meter
	dir := e.settings().DataDir
	_, _ = m.Read(ctx, dir) // the one that counts says the same
	retry.Sleep(ctx, 300*time.Millisecond)
	return m.Read(ctx, dir)
}

// maintainHourly does all maintenance until the scheduler does.
func (e *engine) maintainHourly(ctx context.Context) {
	for pause := time.Minute; retry.Sleep(ctx, pause); pause = time.Hour {
		for _, job := range scheduler.Maintenance() {
			if _, err := e.Maintain(ctx, &job); err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "maintenance failed, it is tried again later", "job", job.Name, "error", err)
			}
		}
	}
}
