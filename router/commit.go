package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

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
	accepted, err := b.Store.Accept(ctx, b.Engine.ID(), plain)
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
		return given, fmt.Errorf("classify the command of a button: %w", err)
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

// commitEach takes the entries of a batch in one by one, so that one that cannot be
// taken fails alone.
func (b *batch) commitEach(ctx context.Context) error {
	failed := make([]error, len(b.entries))
	for i := range b.entries {
		b.entries[i].Event.Mark = channels.Mark{} // one before it may be held back
		err := b.part(i).commitAlone(ctx)
		if err != nil && isNobodysFault(ctx, err) {
			// What was committed before is handed in again, and known then.
			return fmt.Errorf("take events in one by one: %w", err)
		}
		failed[i] = err
	}
	var held error
	for i, err := range failed {
		if err == nil {
			continue
		}
		entry := &b.entries[i]
		if !errors.Is(err, core.ErrRefused) && !b.failed.ownFault(entry.Key) {
			held = err
			continue
		}
		b.Log.ErrorContext(ctx, "the database refuses an event", "channel", entry.Event.Conversation.Channel, "error", err)
		key := entry.Key
		*entry = rejected(*entry, "the database refuses it")
		if err := b.part(i).commit(ctx); err != nil {
			return fmt.Errorf("reject an event: %w", err)
		}
		b.failed.clear(key)
	}
	if held != nil {
		return fmt.Errorf("take events in one by one: %w: %w", channels.ErrHeld, held)
	}
	return nil
}

// commitAlone tries the one entry of b until its error is clear.
func (b *batch) commitAlone(ctx context.Context) error {
	var err error
	for try := range retry.Doubling(ctx, alonePause, time.Second) {
		err = b.commit(ctx)
		if err == nil {
			b.failed.clear(b.entries[0].Key)
			break
		}
		if isNobodysFault(ctx, err) || errors.Is(err, core.ErrRefused) {
			break
		}
		if try+1 == aloneTries {
			b.failed.add(b.entries[0].Key)
			break
		}
	}
	return err
}
