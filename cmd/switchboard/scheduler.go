package main

import (
	"context"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/jobs"
	"switchboard/router/ledger"
	"switchboard/store"
)

// newDesk makes what stands behind the commands and tools for jobs; the router is made after it.
func (e *engine) newDesk(of *store.Router, person func(string) *ledger.Person) *jobs.Desk {
	return &jobs.Desk{Deps: jobs.Deps{
		Ledger: of, Person: person, Now: time.Now,
		Chat: func(ctx context.Context, session string) (channels.Conversation, error) {
			channel, id, _ := strings.Cut(session, ":")
			chat, err := of.Chat(ctx, channels.Conversation{Channel: channel, ID: channels.ConversationID(id)})
			return chat.Conversation, err
		},
		FindRecipient: func(ctx context.Context, person *ledger.Person, to string) (channels.Conversation, string, *tools.Result) {
			return e.router.FindRecipient(ctx, person, to)
		},
		Change: func(ctx context.Context, c ledger.Change, by ledger.Hand) error { return e.router.Change(ctx, c, by) },
		Settings: func() jobs.Settings {
			s := e.settings().Scheduler
			return jobs.Settings{Enabled: s.Enabled, TimeZone: s.TimeZone}
		},
	}}
}
