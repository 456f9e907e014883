package agent

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"switchboard/agent/tools"
)

// maxAdded is how many messages are merged into one turn. What comes after them
// becomes turns of its own, so that no turn is kept from its end for ever.
const maxAdded = 10

// absorb merges what the person sent meanwhile into the turn, to be heeded from
// the attempt from on.
func (r *run) absorb(ctx context.Context, from int) error {
	if len(r.state.Added) >= maxAdded {
		return nil
	}
	if len(r.staged.Say) > 0 { // what was written before it is said before it
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	if handedBack(ctx) {
		return ErrHandBack
	}
	merging, done := steadfast(ctx)
	defer done()
	messages, err := r.journal.Absorb(merging, from)
	if err != nil {
		return fmt.Errorf("absorb into turn %d: %w", r.turn.ID, err)
	}
	for _, m := range messages {
		r.state.Added = append(r.state.Added, Added{Incoming: m, From: from})
		r.taint = r.taint.Join(incomingTaint(m))
	}
	return nil
}

// gather asks for additions before the plan of that attempt is made, where there
// may be some: the turn has acted, or was cut off. While a later attempt is known
// to be needed for some already, this one only repeats what was recorded.
func (r *run) gather(ctx context.Context, attempt int) error {
	if r.planRow(attempt) != nil || r.outdated(attempt) || len(r.calls)+len(r.state.Plans)+len(r.state.Added) == 0 {
		return nil
	}
	return r.absorb(ctx, attempt)
}

// setAside says, before task i is begun, that the rest of the plan gives way to a
// new one, because the person said more or changed the message. A task that was
// broken off for that is not reviewed: nobody wants its result any more.
func (r *run) setAside(ctx context.Context, plan *PlanRow, i int) (bool, error) {
	switch plan.Tasks[i].State {
	case TaskCancelled:
		return true, nil
	case TaskPending:
	default:
		return false, nil
	}
	atOnce := len(plan.Tasks) == 1 && plan.Tasks[i].Answer != nil // one commit, with the turn's end
	if (!atOnce || r.journal.Edited()) && !r.outdated(plan.Attempt) {
		if err := r.absorb(ctx, plan.Attempt+1); err != nil {
			return false, err
		}
	}
	return r.outdated(plan.Attempt), nil
}

// outdated says that something was added that the attempt does not heed.
func (r *run) outdated(attempt int) bool {
	return slices.ContainsFunc(r.state.Added, func(a Added) bool { return a.From > attempt })
}

// restart commits that what ran was broken off, and merges the change that it was
// broken off for.
func (r *run) restart(ctx context.Context) error {
	if err := r.commit(ctx, Step{Tasks: r.leftRunning()}); err != nil {
		return err
	}
	if err := r.absorb(ctx, len(r.state.Plans)); err != nil {
		return err
	}
	return ErrRestart
}

// incomingTaint is the taint of what a message brings along.
func incomingTaint(m Incoming) tools.Taint {
	taint := m.Taint
	if m.Quote != "" {
		taint = taint.Join("quote")
	}
	if len(m.Passed) > 0 {
		taint = taint.Join("forwarded")
	}
	if len(m.Attachments) > 0 {
		taint = taint.Join("file")
	}
	return taint
}

// A spoken is one message of the turn as it reads now.
type turnMessage struct {
	Incoming
	former []Incoming // what it was before it was edited, oldest first
}

// is says that id names the message, or what it was.
func (s turnMessage) is(id int64) bool {
	return s.ID == id || slices.ContainsFunc(s.former, func(m Incoming) bool { return m.ID == id })
}

// messages is what the person said as far as that attempt heeds it: the turn's
// message first, then what was added.
func (r *run) messages(attempt int) []turnMessage {
	list := []turnMessage{{Incoming: r.turn.Message}}
	for _, added := range r.state.Added {
		if added.From > attempt {
			continue
		}
		i := -1
		if added.Replaces != 0 {
			i = slices.IndexFunc(list, func(s turnMessage) bool { return s.is(added.Replaces) })
		}
		if i < 0 {
			list = append(list, turnMessage{Incoming: added.Incoming})
			continue
		}
		list[i] = turnMessage{Incoming: added.Incoming, former: append(list[i].former, list[i].Incoming)}
	}
	return list
}

// ownWords are the person's own words in the turn, as their messages read now. What a job asks
// for that was made after text from elsewhere was read may not be.
func (r *run) ownWords() string {
	if r.turn.Terms.Run != 0 && r.turn.Message.Taint != tools.Clean {
		return ""
	}
	var texts []string
	for _, m := range r.messages(math.MaxInt) {
		for line := range strings.Lines(m.Text) {
			if !strings.HasPrefix(strings.TrimSpace(line), ">") { // quoted by hand
				texts = append(texts, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	return strings.Join(texts, "\n")
}

// planStep is the key of a planner's answer. Where something was added it says how
// much, because an answer that does not heed all of it is none to this question.
func (r *run) planStep(attempt, try int) string {
	step := fmt.Sprintf("plan.%d.%d", attempt, try)
	heeded := 0
	for _, added := range r.state.Added {
		if added.From <= attempt {
			heeded++
		}
	}
	if heeded > 0 {
		step += fmt.Sprintf(".%d", heeded)
	}
	return step
}
