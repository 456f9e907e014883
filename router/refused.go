package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
	"switchboard/router/core"
	"switchboard/router/intake"
)

// What cannot be taken in is judged here.
//
//   - Nobody's fault (isNobodysFault): the batch is held back and handed in again.
//   - A value that the database does not take (ErrRefused): that event is rejected.
//   - Anything else: that event is tried alone, aloneTries times. It is rejected if
//     another event was committed since it first failed; otherwise the batch is held back.

const (
	aloneTries = 3
	// alonePause is before the second try; it doubles.
	alonePause = 50 * time.Millisecond
)

// isNobodysFault says that an error has nothing to do with what was to be read or
// written, so that the same may work later.
func isNobodysFault(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, core.ErrNotNow) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// commitEach takes the entries of a batch in one by one, so that one that cannot be
// taken fails alone.
func (r *Router) commitEach(ctx context.Context, entries []classified, receipts []channels.Receipt) error {
	failed := make([]error, len(entries))
	for i := range entries {
		entries[i].Event.Mark = channels.Mark{} // one before it may be held back
		err := r.commitAlone(ctx, entries[i:i+1], receipts[i:i+1])
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
		entry := &entries[i]
		if !errors.Is(err, core.ErrRefused) && !r.failed.ownFault(entry.Key) {
			held = err
			continue
		}
		r.Log.ErrorContext(ctx, "the database refuses an event", "channel", entry.Event.Conversation.Channel, "error", err)
		key := entry.Key
		*entry = rejected(*entry, "the database refuses it")
		if err := r.commit(ctx, entries[i:i+1], receipts[i:i+1]); err != nil {
			return fmt.Errorf("reject an event: %w", err)
		}
		r.failed.clear(key)
	}
	if held != nil {
		return fmt.Errorf("take events in one by one: %w: %w", channels.ErrHeld, held)
	}
	return nil
}

// commitAlone tries one entry until its error is clear.
func (r *Router) commitAlone(ctx context.Context, entry []classified, receipt []channels.Receipt) error {
	var err error
	for try := range retry.Doubling(ctx, alonePause, time.Second) {
		err = r.commit(ctx, entry, receipt)
		if err == nil {
			r.failed.clear(entry[0].Key)
			break
		}
		if isNobodysFault(ctx, err) || errors.Is(err, core.ErrRefused) {
			break
		}
		if try+1 == aloneTries {
			r.failed.add(entry[0].Key)
			break
		}
	}
	return err
}

// maxFailedEvents bounds what is remembered of events that are not handed in again.
const maxFailedEvents = 1000

// failedEvents are events that could not be taken, for a reason that may be their own. The
// zero value knows of none.
type failedEvents struct {
	mu    sync.Mutex
	taken int64            // events that were committed as what they are
	since map[string]int64 // by key: how many of them there were when the event first failed
}

// took notes that an event was committed.
func (s *failedEvents) took() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken++
}

func (s *failedEvents) add(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.since[string(key)]; ok {
		return
	}
	if s.since == nil || len(s.since) >= maxFailedEvents {
		s.since = map[string]int64{}
	}
	s.since[string(key)] = s.taken
}

// ownFault says that another event was committed since this one first failed.
func (s *failedEvents) ownFault(key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, ok := s.since[string(key)]
	return ok && s.taken > since
}

func (s *failedEvents) clear(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, string(key))
}

// rejected makes an entry one that is kept raw and nothing else.
func rejected(entry classified, reason string) classified {
	entry.Intent = &intake.AuditIntent{Why: intake.AuditRejected, Reason: reason}
	entry.Sender.New, entry.charge, entry.aside = false, charge{}, "" // nothing of it is done
	if entry.Event.Raw == nil {
		entry.Event.Raw = []byte(entry.Event.Message.Text)
	}
	// Besides the raw bytes only what labels them is kept, and that made readable.
	c := entry.Event.Conversation
	id := []rune(readable(string(c.ID)))
	entry.Event.Conversation = channels.Conversation{
		Channel: c.Channel, ID: channels.ConversationID(id[:min(len(id), 200)]), Kind: channels.Direct,
	}
	return entry
}
