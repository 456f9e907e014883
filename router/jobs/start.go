package jobs

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/scheduler"
)

// A Starter is a scheduler.Starter: it makes of a run what is submitted.
type Starter struct {
	Router     Submitter
	Heartbeats *Heartbeats
	Now        func() time.Time
	// Named is what somebody whom an open channel let in called themselves in a message; nil: they are called by their name.
	Named func(ctx context.Context, conv channels.Conversation, asked channels.MessageID, person string) string
}

var _ scheduler.Starter = (*Starter)(nil)

// snoozes stand under a reminder.
var snoozes = []struct{ label, by string }{{"10 min", "10m"}, {"1 h", "1h"}, {"Tomorrow", "tomorrow"}}

// Start implements scheduler.Starter.
func (s *Starter) Start(ctx context.Context, due scheduler.DueRun) (scheduler.NotStarted, error) {
	job, run := &due.Job, &due.Run
	work := Submission{
		Key: run.Key(), Origin: "job", Person: job.Owner, Rule: audit.RuleJob, Taint: tools.Taint(job.Taint), Run: run.ID, Try: run.Try,
		To: channels.Conversation{Channel: job.Target.Channel, ID: channels.ConversationID(job.Target.Conversation)},
	}
	late, plain := "", job.Text
	if job.Taint != "" && job.Taint != string(tools.Label) && job.Payload == scheduler.PayloadNotify { // names that people gave themselves say nothing of its text
		plain += "\n\n(" + source(job) + ")"
	}
	if s.Now().Sub(run.Slot) > saidLate+job.Spec.Jitter {
		late = fmt.Sprintf("(was due on %s, %s)", local(run.Slot, job), job.Spec.Zone)
		plain += "\n\n" + late
	}
	said := verbatim(plain)
	switch job.Payload {
	case scheduler.PayloadNotify:
		work.Say, work.Text, work.Notification = true, "Reminder: "+said, "Reminder: "+plain
		owner := job.Owner
		if s.Named != nil && strings.Contains(owner, ":") { // as only those are called
			owner = s.Named(ctx, work.To, channels.MessageID(job.Rules.Asked), owner)
		}
		work.InGroup, work.ReplyTo = "Reminder for **"+render.Escape(owner)+"**: "+said, channels.MessageID(job.Rules.Asked)
		for i, z := range snoozes {
			work.Buttons = append(work.Buttons, core.Button{Label: z.label, Command: fmt.Sprintf("jobs %d snooze %s", job.ID, z.by), Beside: i > 0, Either: true})
		}
	case scheduler.PayloadSend:
		work.Say, work.Abroad, work.Text = true, job.Rules.Approved, said
	case scheduler.PayloadAgent:
		work.Text, work.Terms = job.Text, s.terms(job, run)
		work.Terms.Late = late
	case scheduler.PayloadHeartbeat:
		work.Terms = s.terms(job, run)
		if none, err := s.Heartbeats.Fill(ctx, &due, &work); err != nil || none.State != "" {
			return none, err
		}
	default: // maintenance is no work for the router
		return scheduler.NotStarted{State: scheduler.RunFailed, Reason: fmt.Sprintf("payload: nothing here does what a job of payload %s is for", job.Payload)}, nil
	}
	done, err := s.Router.Submit(ctx, work)
	if err != nil || done.Refused == "" {
		return scheduler.NotStarted{}, err
	}
	if word, _, _ := strings.Cut(done.Refused, ":"); word == RefusedBusy {
		return scheduler.NotStarted{State: scheduler.RunSkipped, Reason: done.Refused}, nil
	}
	return scheduler.NotStarted{State: scheduler.RunFailed, Reason: done.Refused, Pause: true}, nil
}

// indents are what would make code of a line.
var indents = regexp.MustCompile(`(?m)^[ \t]+`)

// verbatim is Markdown that says the characters of a text.
func verbatim(text string) string {
	return indents.ReplaceAllStringFunc(render.Escape(text), func(s string) string { return strings.Repeat("\u00a0", len(s)) })
}

// terms narrow the turn of a run.
func (s *Starter) terms(job *scheduler.Job, run *scheduler.Run) agent.Limits {
	return agent.Limits{
		NoWeb: job.Rules.NoWeb, NoTools: job.Rules.NoTools, NoQuestions: true, NoApprovals: true,
		Timeout: job.Rules.Timeout, Silent: job.Rules.Retried(run.Try), // the last try says that it failed
		Model: job.Rules.Model, Budget: job.Rules.Budget, Run: run.ID,
		Allowed: job.Rules.BudgetBy != "" && s.Heartbeats.allowed(job.Owner, job.Rules.BudgetBy),
	}
}

// saidLate is how late a run may begin that says nothing of it: no later than the start of nearly all. What was
// due while nothing ran is later, however short that was.
const saidLate = 2 * time.Second
