package scheduler

import (
	"errors"
	"time"
)

// When is a time in words that was read.
type When struct {
	Spec Spec
	Rest string // what stood behind or before the time: "call Ann" of "tomorrow at 9 to call Ann"
}

// Ambiguous says that words mean one of several times.
type Ambiguous struct{ Choices []Choice }

// A Choice is one of the times that were meant.
type Choice struct {
	Words string // that Read takes, and that mean it
	When  When
}

func (*Ambiguous) Error() string { return "that may be one of several times; say which" }

// PastError says that a time is over.
type PastError struct{ Reason string }

func (e *PastError) Error() string { return e.Reason }

// Read reads a time in words, at the start or the end of a text, as somebody in a zone means it now. An
// error is an *Ambiguous, a *PastError, or says what is taken.
func Read(text string, now time.Time, zone string) (When, error) {
	return When{}, errors.New("times in words are not read yet")
}
