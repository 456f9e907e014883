package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/commands"
	"switchboard/router/delivery"
	"switchboard/router/ledger"
)

// mostAsked is how many questions of one person may be open that others are to decide.
const mostAsked = 5

// Approval implements agent.Journal.
func (j *journal) Approval(ctx context.Context, ask agent.Ask) (got agent.Approval, err error) {
	err = j.patiently(ctx, "an approval could not be read", func() (err error) {
		if got, err = j.runner.Ledger.Approval(context.WithoutCancel(ctx), j.ref, j.data.Turn.Person.Name, ask); err != nil || got.ID != 0 {
			return err
		}
		asked, err := j.deciders(ctx, ask.Rule)
		if err == nil && len(asked) == 0 {
			got.State = agent.Nobody
		}
		return err
	})
	if err != nil {
		j.unwritten = !ledger.IsFinal(err)
	}
	return got, err
}

// deciders are the conversations in which to ask what a rule asks: the turn's own, where its
// person may decide, else the chat of each admin that they used last.
func (j *journal) deciders(ctx context.Context, rule string) ([]channels.Conversation, error) {
	if p := j.runner.Roster.Named(j.data.Turn.Person.Name); p != nil && (p.Role == ledger.RoleAdmin || rule == tools.RuleKeeps) {
		return []channels.Conversation{j.data.Conversation}, nil
	}
	chats, err := j.runner.Lines.AdminChats(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("look for the admins' chats: %w", err)
	}
	return chats, nil
}

// ask renders what a step asks for, and commits it with the end of the work for now.
func (j *journal) ask(ctx context.Context, step agent.Step) (next *claimed, err error) {
	q, within := step.Ask, j.runner.settings().ApprovalDeadline
	wish := delivery.Wish{Tool: q.Tool, Shown: q.Shown, Rule: q.Rule, Reason: q.Reason, Taint: q.Taint, Within: within, Means: q.Means, Loads: q.Loads}
	var chats []channels.Conversation
	if err := j.patiently(ctx, "the admins' chats could not be read", func() (err error) {
		chats, err = j.deciders(ctx, q.Rule)
		return err
	}); err != nil {
		return nil, err
	}
	here := func(c channels.Conversation) bool {
		return c.Channel == j.data.Conversation.Channel && c.ID == j.data.Conversation.ID
	}
	own := len(chats) == 1 && here(chats[0])
	asked := ledger.Asked{ExpiresAt: time.Now().Add(within)}
	if !own {
		wish.Person, asked.MostOpen = j.asker(), mostAsked
	}
	for _, chat := range chats {
		asked.Questions = append(asked.Questions, j.runner.Lines.Line(chat.Channel).Question(ctx, chat, wish))
	}
	if !own {
		asked.Questions = append(asked.Questions, j.line.Asking(j.data.Conversation, wish))
	}
	for i := range asked.Questions {
		if q := &asked.Questions[i]; here(q.Conversation) {
			q.Reply.Person, q.Reply.ReplyTo = j.data.Turn.Person.Name, j.line.Answers(j.data)
		}
	}
	err = j.patiently(ctx, "a question could not be committed", func() error {
		stops := j.runner.running.stops()
		c, err := j.runner.Ledger.Ask(context.WithoutCancel(ctx), j.ref, step, asked)
		if c != nil {
			next = &claimed{*c, stops}
		}
		j.unclear = j.unclear || err != nil && !ledger.IsFinal(err)
		return err
	})
	if err == nil || j.unclear {
		for _, q := range asked.Questions {
			j.runner.Lines.Committed(q.Conversation)
		}
		retry.Signal(j.runner.due)
	}
	if errors.Is(err, ledger.ErrTooManyAsked) {
		err = agent.ErrTooManyAsked
	}
	return next, err
}

// asker is whose wish it is, for who decides: of somebody whom an open channel let in also what they call themselves.
func (j *journal) asker() string {
	name, label := j.data.Turn.Person.Name, words.OneLine(words.Visible(j.data.Conversation.Title), 30)
	if p := j.runner.Roster.Named(name); p == nil || p.Source != ledger.FromOpen || label == "" || j.data.Conversation.Kind != channels.Direct {
		return name
	}
	return label + " (" + name + ")"
}

// watchApprovals ends what nobody decided in time, until ctx ends.
func (r *Router) watchApprovals(ctx context.Context) {
	for {
		expired, next, err := r.Ledger.ExpireApprovals(ctx)
		for _, id := range expired {
			r.decided(ctx, id)
		}
		if len(expired) > 0 {
			r.runner.turnQueuedHere()
		}
		pause := pollIdle
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "cannot look for approvals that are overdue", "error", err)
		} else if !next.IsZero() {
			pause = min(pause, max(time.Until(next), 10*time.Millisecond))
		}
		if !retry.Await(ctx, r.runner.due, pause) {
			return
		}
	}
}

// decided has the questions of an approval that is not open any more say so, here and at
// the engines that hold their channels.
func (r *Router) decided(ctx context.Context, approval int64) {
	r.Lines.Decided(ctx, approval)
	r.Lines.Wake(ledger.Wake{Kind: ledger.WakeDecided, Approval: approval})
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
func (r *Router) followApprovals(ctx context.Context, entry *sorted, acc *ledger.Accepted) {
	if acc.Approval != 0 && acc.Action != "" && !acc.Duplicate {
		r.decided(ctx, acc.Approval)
	}
	for _, turn := range acc.Dropped {
		r.closeQuestions(ctx, turn)
	}
	if acc.Decided != 0 {
		r.Log.InfoContext(ctx, "an approval was decided", "approval_id", acc.Approval, "turn_id", acc.Decided, "person", entry.Sender.Person, "state", acc.Action)
		r.runner.turnQueuedHere()
	}
}

// approve is /approve and /deny.
func (r *Router) approve(_ context.Context, c *commands.Call) (commands.Answer, error) {
	code, rest := commands.CodeIn(c.Args)
	if code == "" {
		return commands.Says("Write \"%s\" and the code that stands in the question.", c.Slash+c.Name), nil
	}
	as := &ledger.AsDecision{Code: ledger.HashCode(code), Does: ledger.DoesOnce}
	switch {
	case c.Name == "deny":
		as.Does, as.Why = ledger.DoesDeny, words.OneLine(rest, 300)
	case rest != "":
		as.Does = ledger.Does(strings.ToLower(rest))
		if as.Does != ledger.DoesOnce && as.Does != ledger.DoesSession && as.Does != ledger.DoesAlways {
			return commands.Says("After the code you can write \"session\" or \"always\". Without, it is allowed once."), nil
		}
	}
	return commands.Answer{As: as}, nil
}

// consent is what a message decides that is nothing but a yes or no in the person's own words, in a chat
// with one person; empty: it is none.
func consent(e *channels.Event) ledger.Does {
	m := &e.Message
	if e.Conversation.Kind != channels.Direct || !ownText(*m) || m.Quote != "" && m.ReplyTo == "" { // of another chat
		return ""
	}
	switch yes, plain := words.Consent(m.Text); {
	case !plain:
		return ""
	case yes:
		return ledger.DoesOnce
	}
	return ledger.DoesDeny
}

// grants is /grants: what is allowed without asking, or that one is taken back.
func (r *Router) grants(ctx context.Context, c *commands.Call) (commands.Answer, error) {
	var after int64
	if c.Args != "" {
		verb, number, _ := strings.Cut(strings.ToLower(c.Args), " ")
		id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(number), "#"), 10, 64)
		switch {
		case err == nil && verb == "remove":
			return commands.Answer{As: &ledger.AsRevoke{Grant: id, AnyPerson: c.IsAdmin()}}, nil
		case err != nil || verb != "after":
			return commands.Says("\"%[1]sgrants\" lists what I do without asking. \"%[1]sgrants remove NUMBER\" takes one back.", c.Slash), nil
		}
		after = id
	}
	list, err := r.Ledger.Grants(ctx, c.Person.Name, c.IsAdmin() && c.Conversation().Kind == channels.Direct) // what others may is not for a group
	if err != nil {
		return commands.Answer{}, fmt.Errorf("list grants: %w", err)
	}
	list = slices.DeleteFunc(list, func(g ledger.Grant) bool { return g.ID <= after })
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
		where := "in " + render.Escape(ledger.ChatWords(ledger.OfSession(g.Session), c.Conversation()))
		if g.Scope == string(ledger.DoesAlways) {
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
func grantOf(g *ledger.Grant) string {
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
