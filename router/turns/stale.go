package turns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels/render"
	"switchboard/internal/retry"
	"switchboard/internal/words"
	"switchboard/router/core"
)

const (
	// backlogSettles is how long after the newest message of a backlog it is taken to be
	// all of it: platforms deliver it one by one.
	backlogSettles = 750 * time.Millisecond
	// backlogPatience is how long a backlog is waited for that does not end.
	backlogPatience = 10 * time.Second
	// offerShows is how many messages of a backlog an offer shows, offerWords how much of
	// each, in runes.
	offerShows = 8
	offerWords = 100
)

// The choices under an offer.
const (
	choiceGoOn  = "Go on"
	choiceLeave = "Leave it"
)

// lateness judges how late a turn is: it notes the time that nobody worked on one that
// had begun.
func (r *Runner) lateness(ref core.TurnRef, data *core.TurnData) error {
	after := r.Settings().StaleAfter
	if time.Since(data.Turn.StartedAt) <= after {
		return nil
	}
	away, err := r.Store.Resume(r.work, ref, after)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	data.Turn.StartedAt = data.Turn.StartedAt.Add(away - data.Away)
	data.Away = away
	return nil
}

// offer makes one offer of the session's stale backlog, if that is what the turn is, and
// ends the turn with it. No model is asked.
func (j *journal) offer(ctx context.Context) (offered bool, err error) {
	stale := j.runner.Settings().StaleAfter
	if s := &j.data.State; j.data.Submitted || len(s.Calls)+len(s.Plans)+len(s.Said)+len(s.Added) > 0 || time.Since(j.data.Asked) <= stale {
		return false, nil
	}
	for since := time.Now(); ; {
		var backlog []Waiting
		err := j.retry(ctx, "the backlog could not be read", func(ctx context.Context) (err error) {
			backlog, err = j.runner.Store.Backlog(ctx, j.ref, stale)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("read the backlog: %w", err)
		}
		if len(backlog) == 0 {
			return false, nil
		}
		wait := backlogSettles
		for _, w := range backlog {
			wait = min(wait, time.Since(w.Received))
		}
		if wait = backlogSettles - max(wait, 0); wait > 0 && time.Since(since) < backlogPatience {
			if retry.Sleep(ctx, wait); ctx.Err() == nil {
				continue
			}
		}
		if ctx.Err() != nil {
			return false, nil // the agent knows what to say of that
		}
		m := &j.data.Turn.Message
		text := m.Text
		for _, passed := range m.Passed {
			text += " " + passed.Text
		}
		backlog[0].Text, backlog[0].Files, backlog[0].Taint = text, len(m.Attachments), m.Taint
		if j.data.Ordered { // it is merged with nothing
			backlog = backlog[:1]
		}
		j.merge = []int64{}
		for _, w := range backlog[1:] {
			j.merge = append(j.merge, w.Turn)
		}
		err = j.Commit(ctx, offerOf(backlog, time.Now()))
		j.merge = nil
		if errors.Is(err, core.ErrConflict) && time.Since(since) < backlogPatience {
			continue // somebody cancelled one of them
		}
		return true, err
	}
}

// offerOf asks whether to go on with a backlog.
func offerOf(backlog []Waiting, now time.Time) agent.Step {
	var b strings.Builder
	if len(backlog) == 1 {
		w := backlog[0]
		fmt.Fprintf(&b, "You wrote this %s ago, and I see it only now:\n\n- %s\n\nShall I still do it?", words.Span(now.Sub(w.Asked)), shown(&w))
	} else {
		fmt.Fprintf(&b, "You wrote these %d messages, and I see them only now:\n\n", len(backlog))
		for _, w := range backlog[:min(len(backlog), offerShows)] {
			fmt.Fprintf(&b, "- %s ago: %s\n", words.Span(now.Sub(w.Asked)), shown(&w))
		}
		if more := len(backlog) - offerShows; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
		b.WriteString("\nShall I still do them?")
	}
	var taint tools.Taint
	for _, w := range backlog {
		taint = taint.Join(w.Taint)
	}
	return agent.Step{
		Say: []agent.Say{{Position: -1, Notice: true, Taint: taint, Text: b.String(), Choices: []string{choiceGoOn, choiceLeave}}},
		End: &agent.End{State: "done", Outcome: "stale"},
	}
}

// shown is the message in a line.
func shown(w *Waiting) string {
	text := render.Escape(words.OneLine(w.Text, offerWords))
	switch {
	case w.Files == 0:
		return "“" + text + "”"
	case strings.TrimSpace(text) == "":
		return words.Count(w.Files, "file")
	}
	return "“" + text + "”, with " + words.Count(w.Files, "file")
}
