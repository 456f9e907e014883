package agent

import (
	"regexp"
	"slices"
	"sync"
	"time"

	"switchboard/agent/tools"
)

// The rules by which the terms of a turn refuse what the gate would let it do.
const (
	ruleNoTools     = "terms.no_tools"
	ruleNoWeb       = "terms.no_web"
	ruleNoApprovals = "terms.no_approvals"
)

// narrowed is a decision of the gate under the turn's terms. What asks stays so, as it may be
// granted: see permitted.
func (r *run) narrowed(q tools.Question, d tools.Decision) tools.Decision {
	terms := &r.turn.Terms
	switch {
	case q.Tool == "" || d.Verdict == tools.Refuse:
	case terms.NoTools:
		return tools.Decision{Verdict: tools.Refuse, Rule: ruleNoTools, Reason: "this turn has no tools", Role: d.Role}
	case terms.NoWeb && r.reachesOut(q):
		return tools.Decision{Verdict: tools.Refuse, Rule: ruleNoWeb, Reason: q.Tool + " reaches other machines, which this turn may not", Role: d.Role}
	}
	return d
}

// reachesOut says that a tool, or a command that is not confined, can reach other machines.
func (r *run) reachesOut(q tools.Question) bool {
	if q.Tool == tools.ExecName {
		return q.Effect == tools.EffectOutside
	}
	tool, _ := r.toolbox.Get(q.Tool)
	return tool.Sends != ""
}

// nobodyAsked is the result of a task that a person would have to allow, in a turn in which
// nobody is asked.
func (r *run) nobodyAsked(ask Ask) *tools.Result {
	return &tools.Result{
		End: tools.EndRefused, Code: "not_permitted", Rule: ruleNoApprovals, Taint: r.taint,
		Hint: ask.Tool + " needs a permission (rule " + ask.Rule + "), and nobody is there to be asked; plan without it, and say in the answer what was not done",
	}
}

// terms tells the planner what narrows the turn.
func (r *run) terms(p *prompt) {
	terms := &r.turn.Terms
	if terms.Run != 0 {
		p.linef("- Nobody typed the new message just now: it is what a job asks for that the person had made before")
	}
	if terms.Late != "" {
		p.linef("- It begins late, which is said below the answer: %s", terms.Late)
	}
	if terms.NoQuestions {
		p.linef("- Nobody is there to answer: ask nothing, and offer no choices")
	}
	r.mayBeQuiet(p, "- ")
}

// mayBeQuiet says how to answer where there is nothing to say.
func (r *run) mayBeQuiet(p *prompt, lead string) {
	if r.turn.Terms.Quiet {
		p.linef("%sIf there is nothing that the person has to know, the whole answer is the one word %s, and nothing is sent", lead, QuietAnswer)
	}
}

// quiet says that an answer has nothing to say, and is not sent: however that is written, and
// whatever stands behind it.
func (r *run) quiet(text string) bool {
	return r.turn.Terms.Quiet && nothingToSay().MatchString(text)
}

var nothingToSay = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[^\pL\pN]*nothing[\s_-]*to[\s_-]*say([^\pL\pN]|$)`)
})

// Hopeless says that another try of a turn that failed with this outcome would only repeat it.
func Hopeless(outcome string) bool { return outcome == "over_limit" || outcome == "not_served" }

// unsaid says that nobody is told of an ending. What is hopeless, or would be done a second time, is not
// tried again, so that a silent turn says it.
func (r *run) unsaid(end *ending) bool {
	terms := &r.turn.Terms
	return end.state == "failed" && (terms.Quiet || terms.Silent && !r.acted() && !Hopeless(end.outcome))
}

// acted says that a command or a tool was begun which may have changed something, however it ended.
func (r *run) acted() bool {
	return slices.ContainsFunc(r.state.Plans, func(p PlanRow) bool {
		return slices.ContainsFunc(p.Tasks, func(t TaskRow) bool {
			return t.Type != TaskMsg && t.Result != nil && t.Result.End != tools.EndRefused && !r.harmless(t.Task)
		})
	})
}

// timeout is how long the turn may take in all.
func (r *run) timeout() time.Duration {
	if own := r.turn.Terms.Timeout; own > 0 {
		return min(own, r.cfg.TurnTimeout)
	}
	return r.cfg.TurnTimeout
}
