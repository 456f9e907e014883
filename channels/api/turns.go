package api

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"switchboard/router/core"
	"switchboard/router/turns"
)

// outputLong is how much of a task's output a session's answer shows, in bytes.
const outputLong = 2000

// A turnOut is a turn as a session's answer shows it; GET /v1/turns/{id} has all of it.
type turnOut struct {
	ID         string     `json:"id"`
	State      string     `json:"state" doc:"queued, running, waiting, done, failed, cancelled or merged"`
	Outcome    string     `json:"outcome,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Plan       *planOut   `json:"plan,omitempty"`
	Error      *faultOut  `json:"error,omitempty"`
	Usage      usageOut   `json:"usage"`
	Approvals  []askedOut `json:"approvals,omitempty" doc:"What waits for a person."`
}

type planOut struct {
	Goal  string    `json:"goal"`
	Tasks []taskOut `json:"tasks"`
}

type taskOut struct {
	Type    string `json:"type"`
	Detail  string `json:"detail"`
	Tool    string `json:"tool,omitempty"`
	State   string `json:"state"`
	Outcome string `json:"outcome,omitempty"`
	Output  string `json:"output,omitempty" doc:"At most 2000 bytes of it."`
}

type faultOut struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

type usageOut struct {
	PromptTokens int64   `json:"prompt_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	Cost         float64 `json:"cost"`
}

type askedOut struct {
	ID       string `json:"id"`
	Rule     string `json:"rule"`
	Question string `json:"question"`
}

// over says that the turn has ended.
func (t *turnOut) over() bool {
	return slices.Contains([]string{"done", "failed", "cancelled", "merged"}, t.State)
}

// currentTurn is the newest turn of a session; nil: it has none.
func (a *API) currentTurn(ctx context.Context, at place) (*turnOut, error) {
	t, err := a.Sessions.Current(ctx, at.key)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return shown(t), nil
}

// shown is a turn, of which the newest plan is read, in short.
func shown(t *turns.Turn) *turnOut {
	out := &turnOut{
		ID: strconv.FormatInt(t.ID, 10), State: t.State, Outcome: t.Outcome, CreatedAt: t.CreatedAt, FinishedAt: t.FinishedAt,
		Usage: usageOut{t.TokensIn, t.TokensOut, t.Cost},
	}
	if t.State == "failed" {
		out.Error = &faultOut{t.Outcome, "the turn failed (" + t.Outcome + "); its last message says why", "GET /v1/turns/" + out.ID + "/explain shows each step"}
	}
	if len(t.Plans) == 0 {
		return out
	}
	p := t.Plans[len(t.Plans)-1]
	out.Plan = &planOut{Goal: p.Goal, Tasks: []taskOut{}}
	for _, task := range p.Tasks {
		out.Plan.Tasks = append(out.Plan.Tasks, taskOut{task.Type, task.Detail, task.Tool, task.State, task.Outcome, cut(task.Output)})
		for _, asked := range task.Approvals {
			if asked.State == "proposed" {
				out.Approvals = append(out.Approvals, askedOut{strconv.FormatInt(asked.ID, 10), asked.Rule, t.Request()})
			}
		}
	}
	return out
}

// cut is the beginning of a long text.
func cut(text string) string {
	if len(text) <= outputLong {
		return text
	}
	n := outputLong
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
