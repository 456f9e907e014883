package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

// Turns reads turns.
type Turns interface {
	// Turns lists the newest first. State filters; empty: all.
	Turns(ctx context.Context, whose sessions.Whose, state string, limit int) ([]turns.Turn, error)
	// Turn reads one whole; prompts adds the bodies of its model calls. ErrNotFound.
	Turn(ctx context.Context, id int64, prompts bool) (*turns.Turn, error)
}

// outputLong is how much of a task's output a session's answer shows, in bytes.
const outputLong = 2000

// A turnOut is a turn as a session's answer shows it; GET /v1/turns/{id} has all of it.
type turnOut struct {
	ID         int64      `json:"id,string"`
	State      string     `json:"state" doc:"queued, running, waiting, done, failed, cancelled or merged"`
	Outcome    string     `json:"outcome,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Plan       *planOut   `json:"plan,omitempty"`
	Error      *api.Error `json:"error,omitempty"`
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

type usageOut struct {
	PromptTokens int64   `json:"prompt_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	Cost         float64 `json:"cost"`
}

type askedOut struct {
	ID       int64  `json:"id,string"`
	Rule     string `json:"rule"`
	Question string `json:"question"`
	Code     string `json:"code,omitempty" doc:"A person who may decide types it behind /approve or /deny, here; none: others are asked."`
}

// A NumberIn names what a call is about by its number.
type NumberIn struct {
	ID string `path:"id" pattern:"^[0-9]{1,18}$"`
}

func (in *NumberIn) number() int64 {
	n, _ := strconv.ParseInt(in.ID, 10, 64) // the pattern says that it is one
	return n
}

// listMost is how many rows a token gets at once.
const listMost = 500

// A ListIn says how many rows are wanted.
type ListIn struct {
	Limit int `query:"limit" default:"50" minimum:"1" doc:"At most 500."`
}

func (in *ListIn) most(c *Caller) int {
	if c.Local {
		return in.Limit
	}
	return min(in.Limit, listMost)
}

func (a *API) turnCalls() {
	call := callsOf("turns")
	register(a, call(Read, http.MethodGet, "", "listTurns", "The newest turns first."), a.listTurns)
	register(a, call(Read, http.MethodGet, "/{id}", "getTurn", "All of a turn: plans, tasks, verdicts, messages, costs."), a.getTurn)
	register(a, call(Read, http.MethodGet, "/{id}/explain", "explainTurn", "Why a turn went as it did, as text."), a.explainTurn)
	register(a, call(Messages, http.MethodPost, "/{id}/cancel", "cancelTurn", "Ask a turn to stop."), a.cancelTurn)
}

type listTurnsIn struct {
	ListIn
	State string `query:"state" enum:"queued,running,waiting,done,failed,cancelled,merged"`
}

// TurnList are turns.
type TurnList struct {
	Turns []turns.Turn `json:"turns"`
}

func (a *API) listTurns(ctx context.Context, in *listTurnsIn) (*TurnList, error) {
	c := CallerOf(ctx)
	list, err := a.Turns.Turns(ctx, c.whose(), in.State, in.most(c))
	return &TurnList{some(list)}, err
}

// some is a list that is [] in JSON where it is empty.
func some[T any](list []T) []T { return append([]T{}, list...) }

type getTurnIn struct {
	NumberIn
	Prompts bool `query:"prompts" doc:"With the bodies of its model calls; needs the scope admin."`
}

func (a *API) getTurn(ctx context.Context, in *getTurnIn) (*turns.Turn, error) {
	if in.Prompts {
		if err := CallerOf(ctx).may(Admin); err != nil {
			return nil, err
		}
	}
	return a.readTurn(ctx, &in.NumberIn, in.Prompts)
}

// readTurn is the turn of a call, if its caller may read it. To others it is as one that is not there.
func (a *API) readTurn(ctx context.Context, in *NumberIn, prompts bool) (*turns.Turn, error) {
	t, err := a.Turns.Turn(ctx, in.number(), prompts)
	if err == nil && !a.mayRead(CallerOf(ctx), t.Person) {
		return nil, core.ErrNotFound
	}
	return t, err
}

// Text is a text.
type Text struct {
	Text string `json:"text"`
}

func (a *API) explainTurn(ctx context.Context, in *NumberIn) (*Text, error) {
	t, err := a.readTurn(ctx, in, false)
	if err != nil {
		return nil, err
	}
	return &Text{t.Explanation().Show(a.Currency(), time.UTC)}, nil
}

func (a *API) cancelTurn(ctx context.Context, in *NumberIn) (*turnOut, error) {
	t, err := a.readTurn(ctx, in, false)
	if err != nil {
		return nil, err
	}
	if err := a.speaks(CallerOf(ctx), t.Person); err != nil {
		return nil, err
	}
	if err := a.stop(ctx, t.ID, t.Person); err != nil {
		return nil, err
	}
	if t, err = a.readTurn(ctx, in, false); err != nil {
		return nil, err
	}
	return a.shown(ctx, t)
}

// stop asks a turn to stop, in the name of its person.
func (a *API) stop(ctx context.Context, turn int64, person string) error {
	return a.Changer.Cancel(ctx, turn, a.actor(CallerOf(ctx), person))
}

// currentTurn is the newest turn of a session; nil: it has none.
func (a *API) currentTurn(ctx context.Context, at place) (*turnOut, error) {
	t, err := a.Sessions.Current(ctx, at.key)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return a.shown(ctx, t)
}

// shown is a turn, of which the newest plan is read, in short.
func (a *API) shown(ctx context.Context, t *turns.Turn) (*turnOut, error) {
	out := &turnOut{
		ID: t.ID, State: t.State, Outcome: t.Outcome, CreatedAt: t.CreatedAt, FinishedAt: t.FinishedAt,
		Usage: usageOut{t.TokensIn, t.TokensOut, t.Cost},
	}
	if t.State == "failed" {
		out.Error = &api.Error{
			Code: t.Outcome, Message: "the turn failed (" + t.Outcome + "); its last message says why", Hint: fmt.Sprintf("GET /v1/turns/%d/explain shows each step", t.ID),
		}
	}
	if len(t.Plans) == 0 {
		return out, nil
	}
	p := t.Plans[len(t.Plans)-1]
	out.Plan = &planOut{Goal: p.Goal, Tasks: []taskOut{}}
	for _, task := range p.Tasks {
		out.Plan.Tasks = append(out.Plan.Tasks, taskOut{task.Type, task.Detail, task.Tool, task.State, task.Outcome, cut(task.Output)})
		for _, asked := range task.Approvals {
			if asked.State == "proposed" {
				out.Approvals = append(out.Approvals, askedOut{ID: asked.ID, Rule: asked.Rule, Question: t.Request()})
			}
		}
	}
	if len(out.Approvals) == 0 {
		return out, nil
	}
	return out, a.codes(ctx, t, out.Approvals)
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
