package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"switchboard/agent/tools"
	"switchboard/agent/tools/host"
	"switchboard/channels"
	"switchboard/cmd/switchboard/live"
	"switchboard/internal/retry"
	"switchboard/router/files"
	"switchboard/router/jobs"
	"switchboard/router/outbox/delivery"
	"switchboard/router/turns"
	"switchboard/scheduler"
	"switchboard/store"
)

// maintenance does the program's own jobs.
type maintenance struct {
	settings    *live.Settings
	db          *store.DB
	owner       int64
	files       *files.Service
	connections *delivery.Connections
	log         *slog.Logger
	meter       host.Meter // of the health job
}

var _ scheduler.Maintainer = (*maintenance)(nil)

// Maintain does one pass of what a job is for.
func (m *maintenance) Maintain(ctx context.Context, job *scheduler.Job) (done scheduler.Maintained, err error) {
	some := func(n int64, what string) { // nothing is said of none
		if n != 0 {
			done.Did = fmt.Sprintf("%d %s", n, what)
		}
	}
	var n int64
	switch job.Name {
	case scheduler.MaintainRetention:
		n, err = m.db.Retain(ctx, m.owner, m.retention(ctx))
		if err == nil {
			var aged int64
			aged, err = m.db.Age(ctx)
			n += aged
		}
		some(n, "old rows were cleared away")
	case scheduler.MaintainFiles:
		n, err = m.files.Forget(ctx)
		some(n, "old attachments were forgotten")
	case scheduler.MaintainOrphans:
		n, err = m.files.RemoveOrphans(ctx)
		some(n, "files that nothing refers to were removed")
	case scheduler.MaintainAudit:
		n, err = m.db.SealAudit(ctx, m.owner)
		some(n, "rows of the audit log were sealed")
	case scheduler.MaintainOptimize:
		err = m.db.Optimize(ctx)
	case scheduler.MaintainHealth:
		health := jobs.Health{Machine: m.machine, Queue: m.db.Queue, Channels: m.connections.Statuses, Notify: m.connections.Notify}
		done.Did, done.Seen, err = health.Look(ctx, job.Seen, time.Now())
	default:
		err = fmt.Errorf("this build has no maintenance %q", job.Name)
	}
	return done, err
}

func (m *maintenance) retention(ctx context.Context) store.Retention {
	s := m.settings.Now()
	r := s.Retention
	return store.Retention{
		AwayLimit: s.Router.AwayLimit,
		Turns:     r.Turns, Strangers: r.Strangers, Prompts: r.Prompts, Audit: r.Audit, Runs: r.Runs, Sessions: r.Sessions, Named: s.Names,
		Dropped: func(session int64) {
			if err := tools.RemoveWorkspace(turns.Workspace(s.DataDir, session)); err != nil {
				m.log.Warn("the workspace of a session that is gone could not be removed", "session_id", session, "error", err)
			}
		},
		Connected: func(channel string) bool {
			return slices.ContainsFunc(m.connections.Statuses(), func(s channels.Status) bool { return s.Name == channel && s.State == channels.StateConnected })
		},
		DroppedFor: func(channel string, parts int64) { m.connections.NotifyDropped(ctx, channel, parts) },
	}
}

func (m *maintenance) machine(ctx context.Context) host.Reading {
	r, err := m.meter.Read(ctx, m.settings.Now().DataDir)
	if err != nil {
		m.log.DebugContext(ctx, "the system does not say how the machine is", "error", err)
	}
	return r
}

// hostInfo is how the machine is, its processors over a short while.
func (e *Engine) hostInfo(ctx context.Context) (host.Reading, error) {
	var m host.Meter
	dir := e.settings.Now().DataDir
	_, _ = m.Read(ctx, dir) // the one that counts says the same
	retry.Sleep(ctx, 300*time.Millisecond)
	return m.Read(ctx, dir)
}
