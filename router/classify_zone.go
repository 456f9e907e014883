package router

import (
	"context"
	"strings"

	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/sessions"
)

// toldZone is where somebody says that they are, in answer to the question that a reminder asked; empty: they do not.
func (s *classifier) toldZone(ctx context.Context, entry *classified, person *core.Person) (string, error) {
	m := &entry.Event.Message
	said := strings.Trim(strings.TrimSpace(m.Text), ".!")
	for _, lead := range []string{"I'm in ", "I’m in ", "I am in ", "I live in ", "near ", "in ", "In "} {
		said = strings.TrimPrefix(said, lead)
	}
	said, _, _ = strings.Cut(said, ",") // Rome, Italy
	if person.TimeZone != "" || len(said) > 60 || said == "" || strings.EqualFold(said, "nice") || !ownText(*m) {
		return "", nil
	}
	if _, place := words.Place(said); place == "" && words.Inexact(said) == "" && !sessions.TellsClock(said) { // each message costs no more than this
		return "", nil
	}
	if assumes, err := s.Ledger.Assumes(ctx, person.Name); err != nil || !assumes {
		return "", err
	}
	return said, nil
}
