package turns

import (
	"context"
	"time"

	"switchboard/agent"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/money"
	"switchboard/router/outbox"
)

// Store is what turns need of the database. Every write is one transaction that runs to its end once
// begun, whatever becomes of the caller's context.
type Store interface {
	Sessions
	Steps
	Money
	Approvals
}

// Sessions leases sessions, for their turns to be run.
type Sessions interface {
	// Claim takes the leases of up to limit sessions that nobody holds and whose
	// next turn is queued, or was left running by a dead owner; the longest
	// waiting first, none whose next turn is for a person in except. It sets those
	// turns running. Channels restricts it to sessions of these channels.
	Claim(ctx context.Context, owner int64, channels []string, except []string, limit int) ([]core.Claimed, error)
	// ReleaseSession releases a session's lease; a running turn stays running, to be
	// claimed by anybody. ErrFenced is no error here.
	ReleaseSession(ctx context.Context, ref core.TurnRef) error
	// Held lists the sessions that owner has the lease of and that have open turns.
	Held(ctx context.Context, owner int64) ([]Held, error)
	// Idle notes, by an event of kind session, that nothing happened in the session for
	// so long and that it has no open turn, nor one that waits for a decision. It is
	// noted once, by the first engine that asks. Again says when to ask again, where
	// something happened since or a turn waits; zero: not at all.
	Idle(ctx context.Context, session int64, after time.Duration) (again time.Time, err error)
}

// Steps reads and writes one turn under its session's lease. All return ErrFenced.
type Steps interface {
	// Load reads all that a turn needs. ErrNotFound; ErrUnreadable: what is
	// returned suffices to end the turn, and no more.
	Load(ctx context.Context, ref core.TurnRef) (*core.TurnData, error)
	// Commit writes a step; says[i] renders step.Say[i]. When step.End is set the
	// turn ends, and either the session's next queued turn is set running under the same
	// lease and returned, or the lease is released. ErrConflict: what is stored is another
	// than the step follows from, or the approval that it uses is not good any more.
	Commit(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (next *core.Claimed, err error)
	// PutOff is Commit of a step that queues its turn again, ahead of what has not begun: it is claimed
	// once step.End.Wait is over, and nothing of its session before it. ErrStopped: it was asked to stop.
	PutOff(ctx context.Context, ref core.TurnRef, step agent.Step, says []outbox.Reply) (next *core.Claimed, err error)
	// Absorb merges the queued turns that may steer this one (same session, same
	// person) into it, in one transaction, oldest first, and returns their messages.
	// From is the attempt that is to heed them. With none it writes nothing.
	Absorb(ctx context.Context, ref core.TurnRef, from int) ([]agent.Incoming, error)
	// Backlog lists what is to be offered again, in place of the turn's answer: its own
	// message first. It is empty unless the turn had waited for longer than stale as it
	// began, with nobody at work on its session.
	Backlog(ctx context.Context, ref core.TurnRef, stale time.Duration) ([]Waiting, error)
	// Offer is Commit of a step that ends the turn, into which it first merges the turns
	// merge. ErrConflict: one of them is not queued any more.
	Offer(ctx context.Context, ref core.TurnRef, merge []int64, step agent.Step, say outbox.Reply) (next *core.Claimed, err error)
	// Resume notes that a turn is worked on again, and returns for how long in all nobody
	// did, in pauses longer than stale.
	Resume(ctx context.Context, ref core.TurnRef, stale time.Duration) (away time.Duration, err error)
}

// Money is set aside for model calls, and counted.
type Money interface {
	// Reserve sets aside what a call of the running turn can cost, in place of what was for the
	// same call before, in one transaction that compares it with the limits: no number of calls
	// on any engines passes one. It returns what was spent of each limit before. A commit of
	// the call with Held settles it. *money.OverLimitError; ErrFenced; ErrConflict: it is
	// answered already.
	Reserve(ctx context.Context, ref core.TurnRef, r money.Reservation) ([]money.Spending, error)
	// SettleLost ends, once, the calls that the former run of the turn had begun: each counts
	// as what was reserved for it, and may be made again. ErrFenced.
	SettleLost(ctx context.Context, ref core.TurnRef) error
}

// Approvals are what a task waits for.
type Approvals interface {
	// Approval is what people said to ask: to the very task under ref, or as a grant to
	// person. The zero value: nothing yet.
	Approval(ctx context.Context, ref core.TurnRef, person string, ask agent.Ask) (agent.Approval, error)
	// Ask is Commit of a step that parks its turn, with the questions whether its task may
	// run. ErrStopped: the turn was asked to stop. ErrTooManyAsked.
	Ask(ctx context.Context, ref core.TurnRef, step agent.Step, asked approvals.Asked) (next *core.Claimed, err error)
}

// People are who is known now.
type People interface {
	// Named is somebody by name; nil: nobody is called so, or they are away.
	Named(name string) *core.Person
	// Away says that somebody is known and not served for now.
	Away(name string) bool
	// Learn reads somebody whom another engine let in.
	Learn(ctx context.Context, name string) error
}

// An Agent answers one turn; *agent.Agent is one.
type Agent interface {
	Run(ctx context.Context, turn agent.Turn, journal agent.Journal) error
}
