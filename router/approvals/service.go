package approvals

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/outbox"
)

// Store keeps what waits for a decision, and what was granted.
type Store interface {
	// ExpireApprovals ends those whose time is over, at most 100, and queues their turns. Next
	// is when the next one is due that is open; zero: none is.
	ExpireApprovals(ctx context.Context) (expired []int64, next time.Time, err error)
	// TurnApprovals lists the approvals of a turn.
	TurnApprovals(ctx context.Context, turn int64) (ids []int64, err error)
	// Grants lists what is granted to person, or to anybody, the oldest first.
	Grants(ctx context.Context, person string, any bool) ([]Grant, error)
}

// A Service ends what nobody decided in time, has questions say what became of them, and has the commands.
type Service struct {
	Store Store
	// Questions shows what became of them, on the channels that this engine holds.
	Questions interface {
		Decided(ctx context.Context, approval int64)
		Wake(core.Wake)
	}
	Queued func()        // looks for turns that may go on
	Due    chan struct{} // is signalled when something new waits for a decision
	Log    *slog.Logger
}

// Rows are the rows of the table: /grants, /approve and /deny.
func (s *Service) Rows() []commands.Command {
	return []commands.Command{
		{Name: "grants", Typed: true, Args: "[remove NUMBER]", About: commands.Text{
			EN: "what I may do without asking", DE: "was ich ungefragt darf", ES: "lo que puedo hacer sin preguntar", FR: "ce que je peux faire sans demander", IT: "che cosa posso fare senza chiedere",
		}, Run: s.grants},
		{Name: "approve", Typed: true, Args: "CODE [session|always]", About: commands.Text{
			EN: "allow what I asked for", DE: "erlauben, worum ich bat", ES: "permitir lo que pedí", FR: "permettre ce que j'ai demandé", IT: "permettere ciò che ho chiesto",
		}, Run: s.approve},
		{Name: "deny", Typed: true, Args: "CODE [WHY]", About: commands.Text{
			EN: "do not allow it", DE: "es nicht erlauben", ES: "no permitirlo", FR: "ne pas le permettre", IT: "non permetterlo",
		}, Run: s.approve},
	}
}

// approvalsEvery is how often it is looked for approvals that are overdue, where none is known to be.
const approvalsEvery = 15 * time.Second

// Watch ends what nobody decided in time, until ctx ends.
func (s *Service) Watch(ctx context.Context) {
	for {
		expired, next, err := s.Store.ExpireApprovals(ctx)
		for _, id := range expired {
			s.Decided(ctx, id)
		}
		if len(expired) > 0 {
			s.Queued()
		}
		pause := approvalsEvery
		if err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "cannot look for approvals that are overdue", "error", err)
		} else if !next.IsZero() {
			pause = min(pause, max(time.Until(next), 10*time.Millisecond))
		}
		if !retry.Await(ctx, s.Due, pause) {
			return
		}
	}
}

// Decided has the questions of an approval that is not open any more say so, here and at
// the engines that hold their channels.
func (s *Service) Decided(ctx context.Context, approval int64) {
	s.Questions.Decided(ctx, approval)
	s.Questions.Wake(core.Wake{Kind: core.WakeDecided, Approval: approval})
}

// Close ends what a turn asked for that was cancelled.
func (s *Service) Close(ctx context.Context, turn int64) {
	ids, err := s.Store.TurnApprovals(ctx, turn)
	if err != nil {
		s.Log.DebugContext(ctx, "questions stay", "turn_id", turn, "error", err)
	}
	for _, id := range ids {
		s.Decided(ctx, id)
	}
}

// approve is /approve and /deny.
func (s *Service) approve(_ context.Context, c *commands.Call) (commands.Answer, error) {
	code, rest := commands.CodeIn(c.Args)
	if code == "" {
		return commands.Says("Write \"%s\" and the code that stands in the question.", c.Slash+c.Name), nil
	}
	if c.Event.Sender.Token != "" {
		return commands.Says("A program decides by POST /v1/approvals/{id}/decide, or cancels the turn."), nil
	}
	as := &DecisionIntent{Code: outbox.HashCode(code), Does: outbox.DoesOnce}
	switch {
	case c.Name == "deny":
		as.Does, as.Why = outbox.DoesDeny, words.OneLine(rest, 300)
	case rest != "":
		as.Does = outbox.Does(strings.ToLower(rest))
		if as.Does != outbox.DoesOnce && as.Does != outbox.DoesSession && as.Does != outbox.DoesAlways {
			return commands.Says("After the code you can write \"session\" or \"always\". Without, it is allowed once."), nil
		}
	}
	return commands.Answer{Intent: as}, nil
}

// grants is /grants: what is allowed without asking, or that one is taken back.
func (s *Service) grants(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	var after int64
	if c.Args != "" {
		verb, number, _ := strings.Cut(strings.ToLower(c.Args), " ")
		id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(number), "#"), 10, 64)
		switch {
		case err == nil && verb == "remove":
			return commands.Answer{Intent: &RevokeIntent{Grant: id, AnyPerson: c.IsAdmin()}}, nil
		case err != nil || verb != "after":
			return commands.Says("\"%[1]sgrants\" lists what I do without asking. \"%[1]sgrants remove NUMBER\" takes one back.", c.Slash), nil
		}
		after = id
	}
	list, err := s.Store.Grants(ctx, c.Person.Name, c.IsAdmin() && c.Direct()) // what others may is not for a group
	if err != nil {
		return commands.Answer{}, fmt.Errorf("list grants: %w", err)
	}
	list = slices.DeleteFunc(list, func(g Grant) bool { return g.ID <= after })
	switch {
	case len(list) == 0 && after != 0:
		return commands.Says("There are no more."), nil
	case len(list) == 0:
		return commands.Says("You have given no standing permissions."), nil
	}
	var a commands.Answer
	var b strings.Builder
	b.WriteString("Allowed without asking:")
	shown, more := commands.Shown(list)
	for _, g := range shown {
		where := "in " + render.Escape(core.ChatWords(core.OfSession(g.Session), c.Conversation()))
		if g.Scope == string(outbox.DoesAlways) {
			where = "always"
		}
		fmt.Fprintf(&b, "\n- %d: %s, %s, %s (by %s, %s)", g.ID, render.Escape(g.Person), grantOf(&g), where, render.Escape(g.By), g.At.UTC().Format(time.DateOnly))
		a.Buttons = append(a.Buttons, commands.Button{Label: fmt.Sprint("Remove ", g.ID), Command: fmt.Sprint("grants remove ", g.ID)})
	}
	if more {
		a.Buttons = append(a.Buttons, commands.Button{Label: "More", Command: fmt.Sprint("grants after ", shown[len(shown)-1].ID)})
	}
	a.Text = b.String()
	return a, nil
}

// grantOf is what was allowed, within a line.
func grantOf(g *Grant) string {
	switch {
	case g.Tool == tools.ExecName:
		return g.Tool + " " + commands.Code(120, g.Shown)
	case strings.HasPrefix(g.Shown, "{"):
		return commands.Code(120, tools.Written(g.Tool, g.Shown))
	}
	return commands.Code(120, g.Shown)
}
