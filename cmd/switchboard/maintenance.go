package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/agent/tools/host"
	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/turns"
	"switchboard/scheduler"
	"switchboard/store"
)

// Maintain implements scheduler.Maintainer.
func (e *engine) Maintain(ctx context.Context, job *scheduler.Job) (done scheduler.Maintained, err error) {
	var n int64
	switch job.Name {
	case scheduler.MaintainRetention:
		keep := retention(e.settings(), e.log)
		keep.Connected = func(channel string) bool {
			return slices.ContainsFunc(e.router.Lines.Statuses(), func(s channels.Status) bool { return s.Name == channel && s.State == channels.StateConnected })
		}
		keep.DroppedFor = func(channel string, parts int64) { e.router.Lines.NotifyDropped(ctx, channel, parts) }
		n, err = e.db.Retain(ctx, e.owner.ID(), keep)
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
	case scheduler.MaintainHealth:
		done.Did, done.Seen, err = e.health().Look(ctx, job.Seen, time.Now())
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
		AwayLimit: s.Router.AwayLimit,
		Turns:     r.Turns, Strangers: r.Strangers, Prompts: r.Prompts, Audit: r.Audit, Runs: r.Runs, Sessions: r.Sessions, Named: s.Names,
		Dropped: func(session int64) {
			if err := tools.RemoveWorkspace(turns.Workspace(s.DataDir, session)); err != nil {
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

// health looks how machine and program are.
func (e *engine) health() *jobs.Health {
	return &jobs.Health{
		Machine: func(ctx context.Context) host.Reading {
			r, err := e.meter.Read(ctx, e.settings().DataDir)
			if err != nil {
				e.log.DebugContext(ctx, "the system does not say how the machine is", "error", err)
			}
			return r
		},
		Queue: e.db.Queue, Channels: e.router.Lines.Statuses, Notify: e.router.Lines.Notify,
	}
}

// keepOwnJobs makes the program's own jobs, and the one of [heartbeat] as it is set.
func (e *engine) keepOwnJobs(ctx context.Context, s *configs.Settings) error {
	list, h := scheduler.Maintenance(), s.Heartbeat
	if h.Enabled {
		channel, conversation, _ := strings.Cut(h.DeliverTo, ":")
		list = append(list, jobs.SystemJob(h.Every, h.ActiveHours, s.Scheduler.TimeZone, checklistFile, scheduler.Target{Channel: channel, Conversation: conversation}))
	}
	return e.db.Router().KeepOwn(ctx, list)
}

const (
	checklists    = "heartbeat" // the folder of checklists, in the data folder
	checklistFile = "checklist.md"
)

// newHeartbeats makes what finds out whether a heartbeat has something to look at.
func (e *engine) newHeartbeats(of *store.Router) *jobs.Heartbeats {
	return &jobs.Heartbeats{
		Ledger: of, AdminChats: e.router.Lines.AdminChats,
		Admins: func() (names []string) {
			for _, p := range e.router.Roster.Everybody() {
				if p.Role == core.RoleAdmin {
					names = append(names, p.Name)
				}
			}
			return names
		},
		Checklist: func(name string) ([]byte, error) {
			folder, err := os.OpenRoot(filepath.Join(e.settings().DataDir, checklists))
			if err != nil {
				return nil, err
			}
			defer folder.Close()
			return folder.ReadFile(name)
		},
	}
}
