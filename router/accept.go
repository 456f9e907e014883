package router

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// Accept implements channels.Sink, the one way in. Each event is classified (who is
// speaking, may they, what is it), then all are committed in one transaction,
// and only then does anything happen.
func (r *Router) Accept(ctx context.Context, events []channels.Event) ([]channels.Receipt, error) {
	if len(events) == 0 {
		return nil, nil
	}
	if !r.enter() {
		// The channel's connection stays open for sending, and what it sent us stays
		// unacknowledged.
		retry.Await(ctx, r.stopped, math.MaxInt64)
		return nil, errStopping
	}
	defer r.accepts.Done()
	ctx, end := r.untilHandBack(ctx)
	defer end()
	entries, err := classifyBatch(ctx, r, events)
	if err != nil {
		return nil, err
	}
	b := &batch{r, entries, make([]channels.Receipt, len(entries))}
	switch err := b.commit(ctx); {
	case err == nil:
		return b.receipts, nil
	case isNobodysFault(ctx, err):
		return nil, fmt.Errorf("take events in: %w", err)
	}
	return b.receipts, b.commitEach(ctx)
}

// enter begins an Accept, unless the engine stops: then all that have begun are waited
// for, and none begins any more.
func (r *Router) enter() bool {
	r.entering.Lock()
	defer r.entering.Unlock()
	if r.turns.Ends() {
		return false
	}
	r.accepts.Add(1)
	return true
}

// untilHandBack is ctx, which ends as well when what runs is handed back at a stop: a
// database that hangs does not keep the engine.
func (r *Router) untilHandBack(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancel(ctx)
	stop := context.AfterFunc(r.work, end)
	return ctx, func() { stop(); end() }
}

// A batch is what one call of Accept brought.
type batch struct {
	*Router
	entries  []classified
	receipts []channels.Receipt
}

// part is the batch of one of its entries.
func (b *batch) part(i int) *batch {
	return &batch{b.Router, b.entries[i : i+1], b.receipts[i : i+1]}
}

// commit takes the entries in, in one transaction, and does what that made possible. The
// workers reserved for it are given back where nothing came of them.
func (b *batch) commit(ctx context.Context) error {
	b.reserve()
	stops := b.turns.Stops()
	plain := make([]intake.Entry, len(b.entries))
	for i := range b.entries {
		plain[i] = b.entries[i].Entry
		plain[i].Say = func(acc *intake.Accepted) *outbox.Reply { return b.say(&b.entries[i], acc) }
	}
	accepted, err := b.Ledger.Accept(ctx, b.Engine.ID(), plain)
	if err != nil {
		b.unreserve()
		b.turns.Compare() // it may be committed all the same
		return err
	}
	for i := range accepted {
		if accepted[i].Outcome == intake.CommandPressed {
			err = errors.Join(err, b.part(i).commitPressed(ctx, &accepted[i]))
			continue
		}
		b.receipts[i] = (&committed{b.Router, &b.entries[i], &accepted[i]}).follow(ctx, stops)
	}
	return err
}

// commitPressed takes in, in place of the one entry of b, the command that a button gives, or what was typed in its place.
func (b *batch) commitPressed(ctx context.Context, acc *intake.Accepted) (err error) {
	b.entries = slices.Clone(b.entries)
	b.unreserve()
	if b.entries[0], err = b.give(ctx, b.entries[0], acc.Command, acc.Button); err != nil {
		return err
	}
	return b.commit(ctx)
}

// give takes a press as the command that its button gives. Where that cannot be looked up the
// button stays, and who pressed it is told; an error is nobody's fault.
func (b *batch) give(ctx context.Context, pressed classified, command string, button []byte) (classified, error) {
	typed := pressed
	typed.Button = button
	given, err := pressed.typed(ctx, typed, command)
	switch {
	case err != nil && isNobodysFault(ctx, err):
		return given, fmt.Errorf("sort the command of a button: %w", err)
	case err != nil:
		b.Log.ErrorContext(ctx, "the command of a button cannot be looked into", "channel", pressed.line.Name, "error", err)
		pressed.Intent = &intake.ControlIntent{Reply: pressed.line.Notice(pressed.Event, "I could not look that up just now; please press again.")}
		return pressed, nil
	}
	return given, nil
}

// reserve reserves a worker for each entry that may begin a turn at once.
func (b *batch) reserve() {
	for i := range b.entries {
		e := &b.entries[i]
		if turn := e.Turn(); turn != nil && turn.CollectWindow == 0 { // what waits for more is not run now
			turn.MayClaim = b.turns.MayBegin(e.Sender.Person)
		}
	}
}

func (b *batch) unreserve() {
	for i := range b.entries {
		if turn := b.entries[i].Turn(); turn != nil && turn.MayClaim {
			turn.MayClaim = false
			b.turns.GiveWorker(b.entries[i].Sender.Person)
		}
	}
}

// kept says that an entry is kept for that reason, and nobody is answered.
func (e *classified) kept(why intake.Audit) bool {
	audit, ok := e.Intent.(*intake.AuditIntent)
	return ok && audit.Why == why
}

// unanswered says that an entry brings nothing that is sent or read: a flood of them costs
// its own row each and no look at what is to be sent.
func (e *classified) unanswered() bool {
	return e.kept(intake.AuditStranger) || e.kept(intake.AuditOverheard) || e.kept(intake.AuditRejected)
}

// eventKey makes the key under which an event is remembered: a hash, so that it
// outlives what it came with.
func eventKey(event channels.Event) []byte {
	key := sha256.Sum256([]byte(event.Conversation.Channel + "\x00" + string(event.Key)))
	return key[:]
}
