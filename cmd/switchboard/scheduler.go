package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/outbox"
	"switchboard/scheduler"
	"switchboard/store"
)

// newScheduler makes what has jobs run when they are due.
func (e *engine) newScheduler(of *store.Router) *scheduler.Scheduler {
	return scheduler.New(scheduler.Deps{
		Store: e.db.Scheduler(e.owner.ID(), e.mind.now.Load().harmless...), Channels: e.channels, Maintainer: e, Teller: teller{e.router}, Log: e.log,
		Starter: &jobs.Starter{Router: e.router, Heartbeats: e.newHeartbeats(of), Now: time.Now, Named: func(ctx context.Context, conv channels.Conversation, asked channels.MessageID, person string) string {
			called, err := of.Author(ctx, conv, asked)
			if err != nil {
				e.log.WarnContext(ctx, "cannot read what somebody calls themselves", "person", person, "error", err)
			}
			return cmp.Or(called, person)
		}},
		Settings: func() scheduler.Settings {
			s := e.settings().Scheduler
			return scheduler.Settings{Enabled: s.Enabled && e.begins == allJobs, Defaults: scheduler.Defaults{Misfire: scheduler.Misfire(s.Misfire), Grace: s.MisfireGrace}}
		},
	})
}

// channels are the names of the channels that are attached here.
func (e *engine) channels() []string {
	list := e.router.Channels.List()
	names := make([]string, len(list))
	for i, at := range list {
		names[i] = at.Name()
	}
	return names
}

// A teller is scheduler.Teller; the router tells persons.
type teller struct{ *router.Router }

// Warn implements scheduler.Teller.
func (t teller) Warn(ctx context.Context, job scheduler.Job, text string) {
	about := "jobs of " + job.Owner // one notice where all of a person's stop
	if job.Owner == "" {
		about = fmt.Sprint("job ", job.ID)
	}
	t.Lines.Notify(ctx, outbox.NoticeJobDisabled, about, fmt.Sprintf("Job %d of %s does not run any more: %s. \"/jobs %d\" says more.",
		job.ID, words.Escape(cmp.Or(job.Owner, "the program")), words.Escape(text), job.ID))
}

// newDesk makes what stands behind the commands and tools for jobs; the router is made after it.
func (e *engine) newDesk(of *store.Router, person func(string) *core.Person) *jobs.Service {
	return &jobs.Service{Deps: jobs.Deps{
		Ledger: of, Person: person, Now: time.Now,
		Begins: func(p scheduler.Payload) bool {
			return e.begins == allJobs || e.begins == ownJobs && p == scheduler.PayloadMaintenance
		},
		Chat: func(ctx context.Context, session string) (channels.Conversation, error) {
			channel, id, _ := strings.Cut(session, ":")
			chat, err := of.Chat(ctx, channels.Conversation{Channel: channel, ID: channels.ConversationID(id)})
			return chat.Conversation, err
		},
		FindRecipient: func(ctx context.Context, person *core.Person, to string) (channels.Conversation, string, *tools.Result) {
			return e.router.Messages.FindRecipient(ctx, person, to)
		},
		Change: func(ctx context.Context, c core.Change, by core.Actor) error { return e.router.Change(ctx, c, by) },
		Zone: func(ctx context.Context, conv channels.Conversation, person *core.Person) (string, error) {
			return e.router.TimeZone(ctx, conv, person)
		},
		Hide: func(text string) string { return e.router.Hide(text) },
		Settings: func() jobs.Settings {
			s := e.settings()
			return jobs.Settings{
				Enabled: s.Scheduler.Enabled, Models: append(routerSettings(s).Models, s.Agent.Planner),
				PerRun: s.Budget.PerJobRun, Unpriced: s.Unpriced(),
			}
		},
	}}
}
