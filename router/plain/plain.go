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
// ErrOverLimit, errors of package llm, and those of setting aside what it may cost. That the cost cannot be counted is logged.
func (s *Service) Ask(ctx context.Context, person, system, user string, grow func(text string)) (text string, used llm.Usage, err error) {
	now := s.Settings()
	day, aside := now.Budget.Day(time.Now()), 0.0
	req := llm.Request{Role: "plain", System: now.Mask.Stable(system), User: now.Mask.Text(user), Timeout: now.Timeout}
	if now.Budget.Limited() {
		req.Reserve = func(q llm.Quote) error {
			if q.Unpriced != "" {
				return fmt.Errorf("%w: there is a limit of [budget], and %s", llm.ErrNotAvailable, q.Unpriced)
			}
			err := s.Store.SetAside(ctx, person, money.Reservation{Most: q.Most - aside, Day: day, Budget: now.Budget})
			if err == nil {
				aside = q.Most
			} else if _, over := errors.AsType[*money.OverLimitError](err); over {
				err = fmt.Errorf("%w: %w", ErrOverLimit, err)
			}
			return err
		}
	}
	if grow != nil {
		masked := now.Mask.Growing()
		req.Stream = func(text string) bool {
			grow(masked(text))
			return true
		}
	}
	response, err := now.Models.Complete(ctx, now.Model, req)
	if aside > 0 || response.Usage.Cost > 0 {
		counting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // also of who has left
		defer cancel()
		if err := s.Store.Spend(counting, day, person, aside, response.Usage.Cost); err != nil { // the answer is paid for all the same
			s.Log.ErrorContext(ctx, "it is not counted what a call of the model cost", "person", person, "cost", response.Usage.Cost, "error", err)
		}
	}
	return now.Mask.Text(response.Text), response.Usage, err
}
