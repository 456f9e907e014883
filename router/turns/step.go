package turns

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/internal/words"
)

// Words say what a step does; last: of its plan.
func (s *Task) Words(last bool) string {
	detail := words.OneLine(s.Detail, 150)
	switch {
	case s.Type == "msg" && last:
		return "Answer"
	case s.Type == "exec":
		return "Run a command: " + detail
	}
	return cmp.Or(strings.TrimSuffix(detail, "."), s.Tool, "Send a message")
}

// Stands says how a step is.
func (s *Task) Stands() string {
	switch s.State {
	case "pending":
		return "not begun"
	case "running":
		return "under way"
	case "interrupted":
		return "stopped midway"
	}
	return s.State
}

// ruleWords say why a step was allowed, by how the name of the rule begins.
var ruleWords = []struct{ rule, words string }{
	{"role.admin", ", allowed to admins"},
	{"role.", ", allowed to everybody I know"},
	{"grant.", ", allowed by a standing permission"},
	{"approval.", ""}, // who allowed it is said
	{"policy.exec.", ", allowed by the rules for commands"},
	{"", ", allowed"},
}

// ruleNamed is the name of a rule in a reason.
var ruleNamed = regexp.MustCompile(` \(rule [^)]*\)`)

// briefly says what became of a step, and why it was allowed or not, without names of rules.
func (s *Task) briefly() string {
	text := s.Stands()
	if _, code, coded := strings.Cut(s.Outcome, " "); coded && s.State == "failed" { // behind the kind of its end
		text += " (" + words.Code(code) + ")"
	}
	if s.State != "interrupted" && s.StartedAt != nil && s.FinishedAt != nil {
		if took := s.FinishedAt.Sub(*s.StartedAt).Round(time.Millisecond); took > 0 {
			text += " after " + took.String()
		}
	}
	if s.Rule != "" && !strings.HasPrefix(s.Outcome, "refused") {
		i := slices.IndexFunc(ruleWords, func(r struct{ rule, words string }) bool { return strings.HasPrefix(s.Rule, r.rule) })
		text += ruleWords[i].words
	}
	if s.Reason != "" {
		text += ": " + words.OneLine(ruleNamed.ReplaceAllString(s.Reason, ""), 300)
	}
	for i := range s.Approvals {
		text += "; I asked: " + s.Approvals[i].Answer()
	}
	if s.Taint != "" {
		text += "; it holds text from elsewhere (" + tools.Taint(s.Taint).Words() + ")"
	}
	return text
}
