package plain_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"switchboard/agent/llm"
	"switchboard/internal/secrets"
	"switchboard/router/money"
	"switchboard/router/plain"
)

// ledger cannot count; the model answers.
type ledger struct{}

func (ledger) SetAside(context.Context, string, money.Reservation) error { return nil }

func (ledger) Spend(context.Context, string, string, float64, float64) error {
	return errors.New("the database is away")
}

func (ledger) Complete(context.Context, string, llm.Request) (llm.Response, error) {
	return llm.Response{Text: "paid for", Usage: llm.Usage{In: 1, Out: 2, Cost: 0.5}}, nil
}

func TestAnswerIsGivenWhereItsCostCannotBeCounted(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := &plain.Service{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Store: ledger{},
		Settings: func() plain.Settings { return plain.Settings{Models: ledger{}, Mask: secrets.NewMasker()} },
	}
	text, used, err := s.Ask(t.Context(), "ada", "", "hello", nil)
	if err != nil || text != "paid for" || used.Cost != 0.5 {
		t.Errorf("%q, %+v, %v", text, used, err)
	}
	if !strings.Contains(log.String(), "cost=0.5") || !strings.Contains(log.String(), "the database is away") {
		t.Errorf("logged: %s", log.String())
	}
}
