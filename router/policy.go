package router

import (
	"fmt"
	"path"

	"switchboard/agent/tools"
	"switchboard/router/ledger"
)

// Modes of sessions.
const (
	ModeAsk = "ask" // answers and looks things up; changes nothing
	ModeAct = "act"
)

// Policy is the one gate between the agent and its tools. It is asked when tools
// are offered, when a plan names one, and when one is about to run; each time it
// looks the person up anew. Whatever it does not know, it refuses.
type Policy struct {
	roster   *Roster
	channels map[string]ChannelConfig
}

// NewPolicy returns the gate over the people of roster and the settings of the
// channels, by name.
func NewPolicy(roster *Roster, channels map[string]ChannelConfig) *Policy {
	return &Policy{roster: roster, channels: channels}
}

// Decide implements agent.Gate. The rules are asked in the order written; the
// first that has an opinion decides.
func (p *Policy) Decide(q tools.Question) tools.Decision {
	person := p.roster.Named(q.Person)
	channel, known := p.channels[q.Channel]
	switch {
	case person == nil:
		return refuse("person.unknown", "%s is not somebody I know", q.Person)
	case !known:
		return refuse("channel.unknown", "%s is not a channel of mine", q.Channel)
	case person.Role != ledger.RoleAdmin && q.Tool == tools.ExecName:
		return refuse("role.exec", "only admins may run commands")
	case !matches(person.Tools, q.Tool):
		return refuse("person.tools", "%s may not use %s", q.Person, q.Tool)
	case matches(channel.ToolsDeny, q.Tool):
		return refuse("channel.tools_deny", "%s is switched off on %s", q.Tool, q.Channel)
	case !matches(channel.ToolsAllow, q.Tool):
		return refuse("channel.tools_allow", "%s is not switched on for %s", q.Tool, q.Channel)
	case q.Mode != ModeAct && q.Effect != tools.EffectRead:
		return refuse("session.mode", "this session only asks; %s would change something", q.Tool)
	case q.Taint != tools.Clean && q.Effect == tools.EffectOutside:
		return tools.Decision{
			Verdict: tools.Ask, Rule: "taint.outside",
			Reason: fmt.Sprintf("%s would act outside after reading text from elsewhere (%s); a person must approve it", q.Tool, q.Taint),
		}
	case q.Taint != tools.Clean && q.Sends != "" && !tools.Wrote(q.Words, q.Sends):
		return tools.Decision{
			Verdict: tools.Ask, Rule: "taint.url",
			Reason: fmt.Sprintf("after reading text from elsewhere (%s), %s takes only an address that stands in the person's own words of this turn, "+
				"because an address can carry away what was read; they can write it out in full", q.Taint, q.Tool),
		}
	}
	return tools.Decision{Verdict: tools.Allow, Rule: "role." + person.Role, Reason: fmt.Sprintf("%s is %s", q.Person, person.Role)}
}

func refuse(rule, reason string, args ...any) tools.Decision {
	return tools.Decision{Verdict: tools.Refuse, Rule: rule, Reason: fmt.Sprintf(reason, args...)}
}

// matches says whether one of the patterns names the tool; "*" stands for any
// run of characters. A pattern that is none matches nothing.
func matches(patterns []string, tool string) bool {
	for _, pattern := range patterns {
		if ok, err := path.Match(pattern, tool); err == nil && ok {
			return true
		}
	}
	return false
}
