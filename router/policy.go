package router

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	shell "switchboard/agent/tools/command"
	"switchboard/internal/secrets"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/decision"
	"switchboard/router/people"
	"switchboard/router/sessions"
)

// PolicyConfig is the table [policy]: what is asked for on top of role, person, channel,
// mode and taint.
type PolicyConfig struct {
	// AskNot are patterns of those tools of BuiltinAsk that need no approval. Default none.
	AskNot []string `toml:"ask_not"`
	// Ask are patterns of tools that need an approval each time, besides those of BuiltinAsk; it
	// goes before AskNot. Default none.
	Ask []string `toml:"ask"`
	// Service is the URL of an external decision service, which has to allow each use of a tool and each
	// memory that is written; empty: none. Default empty.
	Service string `toml:"service"`
	// ServiceToken goes to Service with each question; empty: none does. Default empty.
	ServiceToken secrets.Secret `toml:"service_token"`
	// Exec judges commands.
	Exec shell.Rules `toml:"exec"`
}

// BuiltinAsk are patterns of tools that need an approval each time, where it does more than to show something, unless AskNot names them.
var BuiltinAsk = []string{"message.send", "schedule.send", "admin.*"}

// asks says whether a tool needs an approval each time.
func (c *PolicyConfig) asks(tool string, looks bool) bool {
	return tools.Named(c.Ask, tool) || !looks && tools.Named(BuiltinAsk, tool) && !tools.Named(c.AskNot, tool)
}

// Open lists the tools of BuiltinAsk that run without an approval, by name.
func (c *PolicyConfig) Open() []string {
	return slices.DeleteFunc(tools.Names(), func(name string) bool { return !tools.Named(BuiltinAsk, name) || c.asks(name, false) })
}

// DefaultPolicyConfig is [policy] with nothing set.
func DefaultPolicyConfig() PolicyConfig {
	return PolicyConfig{Exec: shell.DefaultRules()}
}

// Policy is the one gate between the agent and its tools. It is asked when tools
// are offered, when a plan names one, and when one is about to run; each time it
// looks the person up again. Whatever it does not know, it refuses.
type Policy struct {
	roster *people.Roster
	rules  Rules
	config atomic.Pointer[PolicyConfig]

	// Service is what is asked besides; Apply sets it.
	Service decision.Service
}

// Rules are the settings of a channel, by name, as they are now; nil: there is no such channel.
type Rules func(channel string) *ChannelConfig

// NewPolicy returns the gate over the people of roster and the rules of channels.
func NewPolicy(roster *people.Roster, rules Rules, config PolicyConfig) *Policy {
	p := &Policy{roster: roster, rules: rules}
	p.Apply(config)
	return p
}

// Apply has what is asked from now on judged by config.
func (p *Policy) Apply(config PolicyConfig) {
	p.config.Store(&config)
	p.Service.Apply(config.Service, config.ServiceToken)
}

// Decide implements agent.Gate. What refuses goes before what asks, and that before what
// allows; among rules of a kind the first that has an opinion decides.
//
// Admins may run commands where their tools and the channel have exec. Others need "exec"
// by that name in their own tools: neither "*" nor a pattern gives it to them.
func (p *Policy) Decide(q tools.Question) tools.Decision {
	person := p.roster.Named(q.Person)
	switch {
	case person == nil && p.roster.Away(q.Person):
		return refuse(tools.PersonAway, q.Person+" is away: the settings do not name them any more")
	case person == nil:
		return refuse("person.unknown", q.Person+" is not somebody I know")
	}
	d := p.decide(q, person)
	d.Role = person.Role
	return d
}

// Confirm implements agent.Gate: it asks the decision service, if one is set.
func (p *Policy) Confirm(ctx context.Context, q tools.Question, d tools.Decision) tools.Decision {
	if !p.Service.Set() {
		return d
	}
	at := memory.Place{Person: q.Person, Channel: q.Channel, Group: q.Group, Direct: q.Direct}
	err := p.Service.Ask(ctx, decision.Question{
		Action: decision.ToolExecute, Person: q.Person, Role: d.Role, Channel: q.Channel, Scope: string(at.Own()),
		Taint: string(q.Taint), Tool: q.Tool, Effect: string(q.Effect),
	})
	switch {
	case err == nil:
		return d
	case errors.Is(err, decision.ErrRefused):
		return refuse(decision.Rule, "the service that decides what I may do does not allow it")
	}
	return refuse(decision.Rule, "the service that decides what I may do does not answer, so I do not do it; it can be tried again later")
}

func (p *Policy) decide(q tools.Question, person *core.Person) tools.Decision {
	channel := p.rules(q.Channel)
	config := p.config.Load()
	var judged shell.Judgement
	if q.Tool == tools.ExecName && q.Command != "" {
		judged = config.Exec.Judge(q.Command)
	}
	switch {
	case channel == nil:
		return refuse("channel.unknown", q.Channel+" is not a channel of mine")
	case q.Tool == "":
		return allow(q, person)
	case person.Role != core.RoleAdmin && q.Tool == tools.ExecName && !slices.Contains(person.Tools, tools.ExecName):
		return refuse("role.exec", "only admins, and people whose tools include exec, may run commands")
	case tools.Named(tools.AdminTools, q.Tool) && (person.Role != core.RoleAdmin || !q.Direct):
		return refuse(audit.RuleApprover, "only admins may do this, in a direct chat")
	case !tools.Named(person.Tools, q.Tool):
		return refuse("person.tools", "the tools that "+q.Person+" may use do not include it")
	case tools.Named(channel.ToolsDeny, q.Tool):
		return refuse("channel.tools_deny", "it is switched off on "+q.Channel)
	case !tools.Named(channel.ToolsAllow, q.Tool):
		return refuse("channel.tools_allow", "it is not switched on for "+q.Channel)
	case q.Mode != sessions.ModeAct && q.Effect != tools.EffectRead:
		return refuse("session.mode", "this chat is in mode ask: I only look things up. /mode act lets me change things")
	case judged.Outcome == shell.Refused:
		return refuse(judged.Rule, judged.Reason)
	case q.Taint != tools.Clean && q.Effect == tools.EffectOutside && !q.Looks && !q.Own:
		return ask("taint.outside", "I read text from elsewhere here ("+q.Taint.Words()+"), so I check first")
	case q.Taint != tools.Clean && q.Sends != "" && !tools.Wrote(q.Words, q.Sends):
		return ask("taint.url", "I read text from elsewhere here ("+q.Taint.Words()+"), and this address is not in what was just written to me. "+
			"An address can leak what I have read. If you write the whole address yourself, I use it without asking")
	case config.asks(q.Tool, q.Looks):
		return ask("policy.ask", "I may not do this without permission")
	case q.Taint != tools.Clean && slices.ContainsFunc(q.Keeps, func(text string) bool { return !tools.Said(q.Words, text) }):
		return ask(tools.RuleKeeps, "this would be kept for later, and it is not what you just wrote to me, word for word")
	case judged.Outcome == shell.Asked:
		return ask(judged.Rule, judged.Reason)
	case judged.Rule != "":
		return tools.Decision{Verdict: tools.Allow, Rule: judged.Rule, Reason: judged.Reason}
	}
	return allow(q, person)
}

// allow is asked for each tool of each prompt, and therefore formats nothing; nor does refuse.
func allow(q tools.Question, person *core.Person) tools.Decision {
	rule := "role." + core.RoleUser
	if person.Role != core.RoleUser {
		rule = "role." + person.Role
	}
	return tools.Decision{Verdict: tools.Allow, Rule: rule, Reason: q.Person + " is " + person.Role}
}

func ask(rule, reason string) tools.Decision {
	return tools.Decision{Verdict: tools.Ask, Rule: rule, Reason: reason}
}

func refuse(rule, reason string) tools.Decision {
	return tools.Decision{Verdict: tools.Refuse, Rule: rule, Reason: reason}
}
