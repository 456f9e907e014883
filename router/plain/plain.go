// Package plain asks a model alone, for a person: with no session, no tools and no rows but what it costs.
package plain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"switchboard/agent/llm"
	"switchboard/internal/secrets"
	"switchboard/router/money"
)

// ErrOverLimit says that a limit of [budget] leaves no room for the call.
var ErrOverLimit = errors.New("what may be spent on language models today is used up; /budget shows the limits")

// A Store keeps what calls cost.
type Store interface {
	// Set asides what a call for a person can cost at most; *money.OverLimitError: nothing was set aside.
	SetAside(ctx context.Context, person string, of money.Reservation) error
	// Spend counts what a call cost, in place of what was set aside for it.
	Spend(ctx context.Context, day, person string, aside, cost float64) error
}

// A Model answers; *llm.Models has it for each name.
type Model interface {
	Complete(ctx context.Context, model string, req llm.Request) (llm.Response, error)
}

// Settings are those that count when a call begins.
type Settings struct {
	Models  Model
	Model   string // the one that is asked
	Timeout time.Duration
	Budget  money.Budget
	Mask    *secrets.Masker
}

// A Service asks models. Its methods may be called from several goroutines at once.
type Service struct {
	Log      *slog.Logger
	Store    Store
	Settings func() Settings
}

// Ask asks the model. Grow is called in the same goroutine with the whole of the answer so far each time there is more; nil: it is not.
// Errors as of a model of For.
func (s *Service) Ask(ctx context.Context, person, system, user string, grow func(text string)) (text string, used llm.Usage, err error) {
	now := s.Settings()
	req := llm.Request{Role: "plain", System: now.Mask.Stable(system), User: now.Mask.Text(user), Timeout: now.Timeout}
	if grow != nil {
		masked := now.Mask.Growing()
		req.Stream = func(text string) bool {
			grow(masked(text))
			return true
		}
	}
	response, err := s.For(person, now.Models).Complete(ctx, now.Model, req)
	return now.Mask.Text(response.Text), response.Usage, err
}

// For are models that are asked for a person, what they cost within [budget]. ErrOverLimit, errors of package llm, and those of setting
// aside what a call may cost. That the cost cannot be counted is logged.
func (s *Service) For(person string, of Model) Model { return charged{s, person, of} }

type charged struct {
	*Service
	person string
	of     Model
}

// Complete implements Model.
func (c charged) Complete(ctx context.Context, model string, req llm.Request) (llm.Response, error) {
	budget := c.Settings().Budget
	day, aside := budget.Day(time.Now()), 0.0
	if budget.Limited() {
		req.Reserve = func(q llm.Quote) error {
			if q.Unpriced != "" {
				return fmt.Errorf("%w: there is a limit of [budget], and %s", llm.ErrNotAvailable, q.Unpriced)
			}
			err := c.Store.SetAside(ctx, c.person, money.Reservation{Most: q.Most - aside, Day: day, Budget: budget})
			if err == nil {
				aside = q.Most
			} else if _, over := errors.AsType[*money.OverLimitError](err); over {
				err = fmt.Errorf("%w: %w", ErrOverLimit, err)
			}
			return err
		}
	}
	response, err := c.of.Complete(ctx, model, req)
	if aside > 0 || response.Usage.Cost > 0 {
		counting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // also of who has left
		defer cancel()
		if err := c.Store.Spend(counting, day, c.person, aside, response.Usage.Cost); err != nil { // the answer is paid for all the same
			c.Log.ErrorContext(ctx, "it is not counted what a call of the model cost", "person", c.person, "cost", response.Usage.Cost, "error", err)
		}
	}
	return response, err
}
