package router

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
)

const (
	// backgroundMost bounds what commands have go on in the background, backgroundTimeout for how long.
	backgroundMost    = 4
	backgroundTimeout = time.Minute
)

// runBackground does what a committed command has go on in the background, and answers when it is done. What an
// engine that stops has not done is not answered: whoever wants to know asks again.
func (r *committed) runBackground() {
	event, do, name := r.entry.Event, r.entry.background, r.entry.Sender.Person
	admins := r.entry.Intent.(*intake.ControlIntent).Admins
	r.Connections.Background(func() {
		answer := commands.Says("I am busy with %d such things already. Please ask again in a minute.", backgroundMost)
		select {
		case r.background <- struct{}{}:
			ctx, cancel := context.WithTimeout(r.work, backgroundTimeout)
			answer = r.guarded(ctx, do)
			cancel()
			<-r.background
		default:
		}
		person := r.Roster.Named(name) // who was removed meanwhile, or is no admin any more, is told nothing
		if r.work.Err() != nil || person == nil || admins && person.Role != core.RoleAdmin {
			return
		}
		reply := r.entry.line.answered(event, person, answer)
		reply.Person = name
		if r.notify(r.work, "beside:", reply, "what a command found could not be committed") == nil {
			r.Connections.Committed(event.Conversation) // its channel may be another meanwhile
		}
	})
}

// guarded is what goes on in the background, of which a panic ends nothing else.
func (r *committed) guarded(ctx context.Context, do func(context.Context) commands.Answer) (answer commands.Answer) {
	defer func() {
		if fault := recover(); fault != nil {
			r.Log.ErrorContext(ctx, "a command failed", "error", fmt.Sprintf("panic: %v\n%s", fault, debug.Stack()))
			answer = commands.Says("That failed; my log says how.")
		}
	}()
	return do(ctx)
}
