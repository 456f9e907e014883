package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/agent/tools"
	"switchboard/internal/api"
	"switchboard/router/turns"
)

// Tools are what turns may use.
type Tools interface {
	// Tools lists all, as they are now; the slice is nobody's to change.
	Tools() []tools.Tool
	// Usable names those that the person of that name may use in a direct chat on a channel.
	Usable(person, channel string) []string
	// Typed reads arguments that a person gave, as tools.Registry does.
	Typed(tool string, args json.RawMessage) (complete json.RawMessage, takes string, fault error)
}

// executeWait is how long a call waits for what a tool brings.
const executeWait = 20 * time.Second

type toolsIn struct {
	User string `query:"user" maxLength:"256" doc:"Whose tools: a person's name or identity. Without it those of the token's only person; with scope admin, all."`
}

type toolList struct {
	Tools []toolView `json:"tools"`
}

type toolView struct {
	Name    string          `json:"name"`
	Summary string          `json:"summary"`
	Schema  json.RawMessage `json:"schema" doc:"JSON Schema of the arguments."`
	Effect  tools.Effect    `json:"effect" enum:"read,write,outside" doc:"What it may change: nothing, the session's workspace, or the world outside."`
	Taints  bool            `json:"taints" doc:"What it brings is text from elsewhere."`
}

type executeIn struct {
	Name string `path:"name"`
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"As of POST /v1/messages."`
	Body struct {
		User    string          `json:"user" minLength:"1" maxLength:"256" doc:"Under whose rights: a person's name or identity."`
		Session string          `json:"session,omitempty" doc:"In which session; without it one of the person's own for this."`
		Args    json.RawMessage `json:"args,omitempty" doc:"The arguments, an object as the tool's schema says."`
	}
}

type executeOut struct {
	Status int
	Body   executed
}

type executed struct {
	TurnID  int64  `json:"turn_id,string"`
	Session string `json:"session"`
	State   string `json:"state" doc:"Of the turn; waiting: somebody has to allow it first."`
	Output  string `json:"output,omitempty"`
	// Approvals are those of a turn that waits.
	Approvals []askedOut `json:"approvals,omitempty" doc:"What waits for a person: POST /v1/approvals/{id}/decide."`
	Error     *api.Error `json:"error,omitempty" doc:"Why the tool did not do it."`
}

func (a *API) toolCalls() {
	register(a, Call{Scope: Read, Method: http.MethodGet, Path: "/v1/tools", ID: "listTools", Tag: "tools", Summary: "The tools that a person may use here."}, a.listTools)
	op := a.operation(Call{
		Scope: Messages, Method: http.MethodPost, Path: "/v1/tools/{name}/execute", ID: "executeTool", Tag: "tools",
		Summary: "Run one tool, with no model: a turn of one task. 200 if it ended within 20 seconds, else 202; the session's events have the rest.",
	})
	op.Responses = map[string]*huma.Response{"202": {
		Description: "It is not done yet.", Content: schemas{"application/json": schemaOf[executed](a, "executed")}.content(),
	}}
	registerAs(a, op, a.execute)
}

// listTools lists what somebody may use.
func (a *API) listTools(ctx context.Context, in *toolsIn) (*toolList, error) {
	c, list := CallerOf(ctx), &toolList{Tools: []toolView{}}
	channel := a.channelOf(c).Name()
	user := cmp.Or(in.User, c.only())
	all, usable := user == "" && c.Has(Admin), []string(nil)
	switch p := a.who(c, user); {
	case all:
	case user == "":
		return nil, api.Failed(http.StatusBadRequest, "add ?user=NAME", "user: say whose tools you mean")
	case p == nil && len(c.People) > 0:
		return nil, a.otherPerson(c, user)
	case p != nil:
		usable = a.Tools.Usable(p.Name, channel)
	}
	for _, tool := range a.Tools.Tools() {
		if all || slices.Contains(usable, tool.Name) {
			list.Tools = append(list.Tools, toolView{tool.Name, tool.Summary, tool.Schema, tool.Effect, tool.Taints})
		}
	}
	return list, nil
}

// execute has one tool run as /tool does in a chat, and waits a while for what becomes of it.
func (a *API) execute(ctx context.Context, in *executeIn) (*executeOut, error) {
	c, args := CallerOf(ctx), &bytes.Buffer{}
	if !slices.ContainsFunc(a.Tools.Tools(), func(t tools.Tool) bool { return t.Name == in.Name }) {
		return nil, api.Failed(http.StatusNotFound, "GET /v1/tools lists the tools", "there is no tool %.60q", in.Name)
	}
	if _, takes, fault := a.Tools.Typed(in.Name, in.Body.Args); fault != nil {
		return nil, api.Failed(http.StatusBadRequest, "it takes "+cmp.Or(strings.ReplaceAll(takes, "\n", "; "), "no arguments"), "%v", fault)
	}
	if err := json.Compact(args, []byte(cmp.Or(string(in.Body.Args), "{}"))); err != nil {
		return nil, err
	}
	session, person := cmp.Or(in.Body.Session, "tools"), a.who(c, in.Body.User)
	if in.Body.Session == "" && !c.Local && person != nil {
		session += "-" + digest(person.Name)
	}
	receipt, err := a.post(ctx, &messageIn{Key: in.Key, Body: messageBody{Session: session, User: in.Body.User, Content: "/tool " + in.Name + " " + args.String()}})
	if err != nil {
		return nil, err
	}
	if receipt.TurnID == 0 {
		return nil, api.Failed(http.StatusBadRequest, "the session's messages say why", "nothing was run")
	}
	out := &executeOut{http.StatusAccepted, executed{TurnID: receipt.TurnID, Session: receipt.Session, State: string(turns.TurnQueued)}}
	if !c.Local && person == nil { // nothing runs, and nobody is told so
		return out, nil
	}
	at, err := a.place(c, session, in.Body.User)
	if err != nil {
		return nil, err
	}
	turn, err := a.await(ctx, at, receipt.TurnID)
	if err = cmp.Or(err, c.good(ctx)); err != nil {
		return nil, err
	}
	if out.Body.State = turn.State; !turns.TurnState(turn.State).Open() {
		out.Status, out.Body.Output, out.Body.Error = http.StatusOK, output(turn), fault(in.Name, turn)
	} else if turn.State == string(turns.TurnWaiting) {
		brief, err := a.shown(ctx, turn)
		if err != nil {
			return nil, err
		}
		out.Body.Approvals = brief.Approvals
	}
	return out, nil
}

// await is a turn once it has ended, or waits for somebody, or executeWait is over.
func (a *API) await(ctx context.Context, at place, id int64) (turn *turns.Turn, err error) {
	waiting, cancel := context.WithTimeout(ctx, executeWait)
	defer cancel()
	err = at.channel.await(waiting, at.conv, func() (over bool, err error) {
		if turn, err = a.Turns.Turn(context.WithoutCancel(ctx), id, false); err != nil {
			return false, err
		}
		state := turns.TurnState(turn.State)
		return !state.Open() || state == turns.TurnWaiting, nil
	})
	return turn, err
}

// task is the one of a turn that runs a tool; nil: it came to none.
func task(turn *turns.Turn) *turns.Task {
	if len(turn.Plans) == 0 || len(turn.Plans[0].Tasks) == 0 {
		return nil
	}
	return &turn.Plans[0].Tasks[0]
}

func output(turn *turns.Turn) string {
	if t := task(turn); t != nil {
		return t.Output
	}
	return ""
}

// fault says why a tool did not do what it was to; nil: it did.
func fault(tool string, turn *turns.Turn) *api.Error {
	t := task(turn)
	switch {
	case t == nil:
		return &api.Error{Code: cmp.Or(turn.Outcome, turn.State), Message: "the turn ended before the tool ran"}
	case t.State == "done":
		return nil
	}
	outcome, code, _ := strings.Cut(t.Outcome, " ")
	if outcome == string(tools.EndRefused) {
		return &api.Error{Code: cmp.Or(code, t.Rule, outcome), Message: cmp.Or(t.Output, t.Reason, tool+" was refused"), Hint: t.Reason}
	}
	return &api.Error{Code: cmp.Or(code, outcome, t.State), Message: tool + " did not work: " + strings.ReplaceAll(cmp.Or(code, outcome, t.State), "_", " "), Hint: t.Reason}
}
