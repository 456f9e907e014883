// Package core has the few types that every feature shares: the errors by which the store says how it
// went, places, people and who acts for them, a turn under its lease, and how one engine wakes
// another. docs counts its names.
package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"switchboard/internal/retry"
)

// A StateError says in a sentence why something cannot be done by hand in the state it
// is in. Returned by Changes.Change and Turns.Cancel.
type StateError struct{ Sentence string }

func (e *StateError) Error() string { return e.Sentence }

// ErrFenced is returned by writes under a fence that is no longer the newest:
// another engine took the session or channel over, and nothing was written.
var ErrFenced = errors.New("the lease was taken over")

// ErrConflict is returned by writes that contradict what is stored, and changed
// nothing: what the caller knows is out of date, so it has to load again.
var ErrConflict = errors.New("it contradicts what is stored")

// ErrRefused is returned by writes with a value that the database does not take,
// and would not another time; nothing was written.
var ErrRefused = errors.New("the database does not take such a value")

// ErrNotNow is wrapped by all that says that the database cannot be asked, or can take
// nothing, for now (unreachable, full, read-only, not migrated) or asks for another try:
// nothing that it was asked is at fault.
var ErrNotNow = errors.New("the database cannot do it now")

// ErrUnreadable is returned by Load, Absorb and Backlog when a part of what is stored is not what we write.
// To try again brings nothing.
var ErrUnreadable = errors.New("what is stored of the turn cannot be read")

// ErrStopped is returned where a turn was to wait that was asked to stop; nothing was written.
var ErrStopped = errors.New("the turn was asked to stop")

// ErrNotFound is returned where a row asked for does not exist.
var ErrNotFound = errors.New("not found")

// ErrTooManyAsked is returned where a turn was to wait for a decision, and too many of its
// person wait already; nothing was written.
var ErrTooManyAsked = errors.New("too many questions of this person are open")

// ErrNotAway is returned where a turn was to wait for somebody who is not away; nothing was written.
var ErrNotAway = errors.New("the person of the turn is not away")

// IsFinal says that the same call would fail of err another time too.
func IsFinal(err error) bool {
	final := []error{ErrFenced, ErrConflict, ErrRefused, ErrNotFound, ErrUnreadable, ErrStopped, ErrTooManyAsked, ErrNotAway}
	return slices.ContainsFunc(final, func(one error) bool { return errors.Is(err, one) })
}

// retryFor is how long Retry tries: what was done must not be lost for a hiccup.
const retryFor = 2 * time.Minute

// Retry does something in the database, again and again while that cannot take it: it
// is no fault of the program that the disk is full or the server gone. It returns the
// latest error: a final one, or any after two minutes, or once ctx has ended.
func Retry(ctx context.Context, do func() error) error {
	var err error
	began := time.Now()
	for range retry.Doubling(ctx, 50*time.Millisecond, 2*time.Second) {
		if err = do(); err == nil || IsFinal(err) || time.Since(began) > retryFor {
			break
		}
	}
	return err
}
