package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/words"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/scheduler"
	"switchboard/store"
)

// newScheduler makes what has jobs run when they are due.
func (e *Engine) newScheduler(of *store.Router, harmless []string) *scheduler.Scheduler {
	return scheduler.New(scheduler.Deps{
		Store: e.metrics.Jobs(e.db.Scheduler(e.owner.ID(), harmless...)), Teller: teller{e.router}, Log: e.log,
		Maintainer: &maintenance{settings: e.settings, db: e.db, owner: e.owner.ID(), files: e.files, connections: e.router.Connections, log: e.log},
		Channels: func() (names []string) {
			for _, at := range e.router.Channels.List() {
				names = append(names, at.Name())
			}
			return names
		},
		Starter: &jobs.Starter{Router: e.router, Heartbeats: e.newHeartbeats(of), Now: time.Now, Named: func(ctx context.Context, conv channels.Conversation, asked channels.MessageID, person string) string {
			called, err := of.Author(ctx, conv, asked)
			if err != nil {
				e.log.WarnContext(ctx, "cannot read what somebody calls themselves", "person", person, "error", err)
			}
			return cmp.Or(called, person)
		}},
		Settings: func() scheduler.Settings {
			s := e.settings.Now().Scheduler
			return scheduler.Settings{Enabled: s.Enabled && e.mode.begins == allJobs, Defaults: scheduler.Defaults{Misfire: scheduler.Misfire(s.Misfire), Grace: s.MisfireGrace}}
		},
	})
}

// A teller tells persons through the router, and admins.
type teller struct{ *router.Router }

var _ scheduler.Teller = teller{}

// Warn notifies the admins of what became of a job.
func (t teller) Warn(ctx context.Context, job scheduler.Job, text string) {
	about := "jobs of " + job.Owner // one notice where all of a person's stop
	if job.Owner == "" {
		about = fmt.Sprint("job ", job.ID)
	}
	t.Connections.Notify(ctx, outbox.NoticeJobDisabled, about, fmt.Sprintf("Job %d of %s does not run any more: %s. \"/jobs %d\" says more.",
		job.ID, words.Escape(cmp.Or(job.Owner, "the program")), words.Escape(text), job.ID))
}

// jobService is what stands behind the commands and tools for jobs.
func (e *Engine) jobService(of *store.Router) jobs.Service {
	return jobs.Service{
		Store: of, Person: e.router.Roster.Named, Now: time.Now,
		FindRecipient: e.router.Messages.FindRecipient, Change: e.router.Change, Zone: e.router.TimeZone, Hide: e.router.Hide,
		Begins: func(p scheduler.Payload) bool {
			return e.mode.begins == allJobs || e.mode.begins == ownJobs && p == scheduler.PayloadMaintenance
		},
		Chat: func(ctx context.Context, session string) (channels.Conversation, error) {
			chat, err := of.Chat(ctx, conversationOf(session))
			return chat.Conversation, err
		},
		Settings: func() jobs.Settings {
			s := e.settings.Now()
			return jobs.Settings{
				Enabled: s.Scheduler.Enabled, Models: append(routerSettings(s).Models, s.Agent.Planner),
				PerRun: s.Budget.PerJobRun, Unpriced: s.Unpriced(),
			}
		},
	}
}

// conversationOf is that of CHANNEL:ID.
func conversationOf(name string) channels.Conversation {
	channel, id, _ := strings.Cut(name, ":")
	return channels.Conversation{Channel: channel, ID: channels.ConversationID(id)}
}

// keepOwnJobs makes the program's own jobs, and the one of [heartbeat] as it is set.
func (e *Engine) keepOwnJobs(ctx context.Context, s *configs.Settings) error {
	list, h := scheduler.Maintenance(), s.Heartbeat
	if h.Enabled {
		to := conversationOf(h.DeliverTo)
		list = append(list, jobs.SystemJob(h.Every, h.ActiveHours, s.Scheduler.TimeZone, checklistFile, scheduler.Target{Channel: to.Channel, Conversation: string(to.ID)}))
	}
	return e.db.Router().KeepOwn(ctx, list)
}

const (
	checklists    = "heartbeat" // the folder of checklists, in the data folder
	checklistFile = "checklist.md"
)

// newHeartbeats makes what finds out whether a heartbeat has something to look at.
func (e *Engine) newHeartbeats(of *store.Router) *jobs.Heartbeats {
	return &jobs.Heartbeats{
		Store: of, AdminChats: e.router.Connections.AdminChats,
		Admins: func() (names []string) {
			for _, p := range e.router.Roster.Everybody() {
				if p.Role == core.RoleAdmin {
					names = append(names, p.Name)
				}
			}
			return names
		},
		Checklist: func(name string) ([]byte, error) {
			folder, err := os.OpenRoot(filepath.Join(e.settings.Now().DataDir, checklists))
			if err != nil {
				return nil, err
			}
			defer folder.Close()
			return folder.ReadFile(name)
		},
	}
}
