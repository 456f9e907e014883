package router

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/approvals"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
)

// approvalsEvery is how often it is looked for approvals that are overdue, where none is known to be.
const approvalsEvery = 15 * time.Second

// watchApprovals ends what nobody decided in time, until ctx ends.
func (r *Router) watchApprovals(ctx context.Context) {
	for {
		expired, next, err := r.Ledger.ExpireApprovals(ctx)
		for _, id := range expired {
			r.decided(ctx, id)
		}
		if len(expired) > 0 {
			r.turns.Queued()
		}
		pause := approvalsEvery
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "cannot look for approvals that are overdue", "error", err)
		} else if !next.IsZero() {
			pause = min(pause, max(time.Until(next), 10*time.Millisecond))
		}
		if !retry.Await(ctx, r.turns.Due(), pause) {
			return
		}
	}
}

// decided has the questions of an approval that is not open any more say so, here and at
// the engines that hold their channels.
func (r *Router) decided(ctx context.Context, approval int64) {
	r.Lines.Decided(ctx, approval)
	r.Lines.Wake(core.Wake{Kind: core.WakeDecided, Approval: approval})
}

// closeQuestions ends what a turn asked for that was cancelled.
func (r *Router) closeQuestions(ctx context.Context, turn int64) {
	ids, err := r.Ledger.TurnApprovals(ctx, turn)
	if err != nil {
		r.Log.DebugContext(ctx, "questions stay", "turn_id", turn, "error", err)
	}
	for _, id := range ids {
		r.decided(ctx, id)
	}
}

// followApprovals does what the commit of an entry that decides made possible.
func (r *Router) followApprovals(ctx context.Context, entry *classified, acc *intake.Accepted) {
	if acc.Approval != 0 && acc.Action != "" && !acc.Duplicate {
		r.decided(ctx, acc.Approval)
	}
	for _, turn := range acc.Dropped {
		r.closeQuestions(ctx, turn)
	}
	if acc.Decided != 0 {
		r.Log.InfoContext(ctx, "an approval was decided", "approval_id", acc.Approval, "turn_id", acc.Decided, "person", entry.Sender.Person, "state", acc.Action)
		r.turns.Queued()
	}
}

// approve is /approve and /deny.
func (r *Router) approve(_ context.Context, c *commands.Call) (commands.Answer, error) {
	code, rest := commands.CodeIn(c.Args)
	if code == "" {
		return commands.Says("Write \"%s\" and the code that stands in the question.", c.Slash+c.Name), nil
	}
	as := &approvals.DecisionIntent{Code: outbox.HashCode(code), Does: outbox.DoesOnce}
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

// consent is what a message decides that is nothing but a yes or no in the person's own words, in a chat
// with one person; empty: it is none.
func consent(e *channels.Event) outbox.Does {
	m := &e.Message
	if e.Conversation.Kind != channels.Direct || !ownText(*m) || m.Quote != "" && m.ReplyTo == "" { // of another chat
		return ""
	}
	switch yes, plain := words.Consent(m.Text); {
	case !plain:
		return ""
	case yes:
		return outbox.DoesOnce
	}
	return outbox.DoesDeny
}

// grants is /grants: what is allowed without asking, or that one is taken back.
func (r *Router) grants(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	var after int64
	if c.Args != "" {
		verb, number, _ := strings.Cut(strings.ToLower(c.Args), " ")
		id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(number), "#"), 10, 64)
		switch {
		case err == nil && verb == "remove":
			return commands.Answer{Intent: &approvals.RevokeIntent{Grant: id, AnyPerson: c.IsAdmin()}}, nil
		case err != nil || verb != "after":
			return commands.Says("\"%[1]sgrants\" lists what I do without asking. \"%[1]sgrants remove NUMBER\" takes one back.", c.Slash), nil
		}
		after = id
	}
	list, err := r.Ledger.Grants(ctx, c.Person.Name, c.IsAdmin() && c.Conversation().Kind == channels.Direct) // what others may is not for a group
	if err != nil {
		return commands.Answer{}, fmt.Errorf("list grants: %w", err)
	}
	list = slices.DeleteFunc(list, func(g approvals.Grant) bool { return g.ID <= after })
	switch {
	case len(list) == 0 && after != 0:
		return commands.Says("There are no more."), nil
	case len(list) == 0:
		return commands.Says("You have given no standing permissions."), nil
	}
	var a commands.Answer
	var b strings.Builder
	b.WriteString("Allowed without asking:")
	shown := list[:min(len(list), commands.Rows)]
	for _, g := range shown {
		where := "in " + render.Escape(core.ChatWords(core.OfSession(g.Session), c.Conversation()))
		if g.Scope == string(outbox.DoesAlways) {
			where = "always"
		}
		fmt.Fprintf(&b, "\n- %d: %s, %s, %s (by %s, %s)", g.ID, render.Escape(g.Person), grantOf(&g), where, render.Escape(g.By), g.At.UTC().Format(time.DateOnly))
		a.Buttons = append(a.Buttons, commands.Button{Label: fmt.Sprint("Remove ", g.ID), Command: fmt.Sprint("grants remove ", g.ID)})
	}
	if len(list) > len(shown) {
		a.Buttons = append(a.Buttons, commands.Button{Label: "More", Command: fmt.Sprint("grants after ", shown[len(shown)-1].ID)})
	}
	a.Text = b.String()
	return a, nil
}

// grantOf is what was allowed, within a line.
func grantOf(g *approvals.Grant) string {
	switch {
	case g.Tool == tools.ExecName:
		return g.Tool + " " + codeOf(g.Shown)
	case strings.HasPrefix(g.Shown, "{"):
		return codeOf(tools.Written(g.Tool, g.Shown))
	}
	return codeOf(g.Shown)
}

// codeOf shows a command or arguments within a line.
func codeOf(text string) string {
	text = words.OneLine(text, 120)
	if strings.Contains(text, "`") {
		return render.Escape(text)
	}
	return "`" + text + "`"
}
