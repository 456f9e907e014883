package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"switchboard/internal/api"
	"switchboard/internal/words"
	"switchboard/router/approvals"
	"switchboard/router/outbox"
	"switchboard/router/turns"
)

// Approvals reads what waits for a person's decision.
type Approvals interface {
	// OpenApprovals lists those of tools, of one turn or, where that is 0, of all, the oldest first.
	OpenApprovals(ctx context.Context, turn int64) ([]approvals.Open, error)
}

func (a *API) approvalCalls() {
	call := Call{Scope: Admin, Method: http.MethodGet, Path: "/v1/approvals", ID: "listApprovals", Tag: "approvals", Summary: "What waits for a person's decision, with the codes that decide in the chats where people were asked: everything, if the token speaks for an admin, else what is asked for those for whom it speaks."}
	register(a, call, func(ctx context.Context, _ *struct{}) (*ApprovalList, error) {
		list, err := a.Approvals.OpenApprovals(ctx, 0)
		if c := CallerOf(ctx); !a.forAdmin(c) {
			list = slices.DeleteFunc(list, func(o approvals.Open) bool { return !c.SpeaksFor(a.People.Named(o.Person)) })
		}
		return &ApprovalList{some(list)}, err
	})
	call.Method, call.Path, call.ID = http.MethodPost, "/v1/approvals/{id}/decide", "decideApproval"
	call.Summary = "Decide as a person who may: one of those that the token names. Never about a turn that the token started itself."
	register(a, call, a.decideApproval)
}

// ApprovalList are approvals.
type ApprovalList struct {
	Approvals []approvals.Open `json:"approvals"`
}

type decideIn struct {
	NumberIn
	Body struct {
		Decision string `json:"decision" enum:"once,session,always,deny"`
		Person   string `json:"person,omitempty" doc:"Who decides; none: the only person of the token."`
		Why      string `json:"why,omitempty" maxLength:"1000" doc:"Of deny: what whoever asked is told."`
	}
}

type decideOut struct {
	ID    string             `json:"id"`
	State outbox.ActionState `json:"state" doc:"accepted or rejected"`
}

func (a *API) decideApproval(ctx context.Context, in *decideIn) (*decideOut, error) {
	c, person := CallerOf(ctx), in.Body.Person
	d := &approvals.Decision{ID: in.number(), Does: outbox.Does(in.Body.Decision), Why: words.OneLine(in.Body.Why, 300)}
	switch {
	case c.Local:
		person = cmp.Or(person, a.Owner)
	default:
		person = cmp.Or(person, c.only())
		d.NotOf = a.Channel.Kind() + ":" + c.Token
		if !slices.Contains(c.People, person) {
			return nil, api.Failed(http.StatusForbidden, `name in "person" one whom the token names: "switchboard token create NAME --scope admin --person WHO"`, "the token %q may not decide as %q", c.Token, person)
		}
	}
	by := a.actor(c, person)
	by.Person = person
	err := a.Changer.Change(ctx, d, by)
	switch {
	case d.Outcome == approvals.OwnTurn:
		return nil, api.Failed(http.StatusForbidden, "an admin decides: with /approve CODE in the terminal of the bot's machine, or by another token", "%s", approvals.Texts[d.Outcome])
	case d.Outcome == approvals.NotYours:
		return nil, api.Failed(http.StatusForbidden, "", "%s", approvals.Texts[d.Outcome])
	case d.Outcome == approvals.OnceOnly:
		return nil, api.Failed(http.StatusConflict, `decide "once" or "deny"`, "that can be allowed once only")
	case err != nil:
		return nil, err
	}
	return &decideOut{in.ID, d.State}, nil
}

// codes adds to what a turn asks the codes that decide in its session.
func (a *API) codes(ctx context.Context, t *turns.Turn, asked []askedOut) error {
	list, err := a.Approvals.OpenApprovals(ctx, t.ID)
	for i := range asked {
		for _, open := range list {
			for _, q := range open.Questions {
				if asked[i].ID == open.ID && q.Session == t.Session {
					asked[i].Code = q.Code
				}
			}
		}
	}
	return err
}
