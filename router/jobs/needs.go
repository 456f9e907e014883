// Package jobs has what people do with jobs: the commands /remind, /jobs and /notifications, what
// stands behind the tools schedule.*, and what a run of a job becomes when it is due (Starter).
//
// When a job is due, and what becomes of slots that passed, is the scheduler's.
package jobs

import (
	"context"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/scheduler"
)

// A Store has the jobs, and what became of them. Implemented by store.
type Store interface {
	// Jobs lists jobs that are neither done nor removed, by number from after on; of one person,
	// or, where that is empty, of everybody and of the program itself.
	Jobs(ctx context.Context, of string, after int64, limit int) ([]scheduler.Job, error)
	// Job is one job, in whatever state. ErrNotFound: there is none of that number, or it is not of
	// that person; empty: of anybody.
	Job(ctx context.Context, id int64, of string) (*scheduler.Job, error)
	// Runs lists runs of a job, the newest first, before a number; 0: from the newest of all.
	Runs(ctx context.Context, job, before int64, limit int) ([]scheduler.Run, error)
	// AskedIn is the message that a turn answers, by the platform's ID; empty: nobody wrote one.
	AskedIn(ctx context.Context, turn int64) (channels.MessageID, error)
	// Notifications lists a person's, the newest first, before a number; 0: from the newest of all.
	Notifications(ctx context.Context, person string, before int64, limit int, unread bool) ([]Notification, error)
}

// Beats are what came about in the database. Implemented by store.
type Beats interface {
	// News is what came about for a person since what a heartbeat saw, or, with nil, how far all is.
	// With no person it is everybody's. What became of runs of that job itself is no news.
	News(ctx context.Context, job int64, person string, since *News) (News, error)
	// Chat is a conversation. ErrNotFound: it is not known.
	Chat(ctx context.Context, conv channels.Conversation) (core.Chat, error)
	// AdminChats are the direct chats of admins, on whichever engine.
	AdminChats(ctx context.Context) ([]core.Chat, error)
}

// A Submitter puts in what nobody typed; the router is one.
type Submitter interface {
	Submit(ctx context.Context, s Submission) (Submitted, error)
}
