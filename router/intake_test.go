package router

import (
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
)

func TestCommandsAreParsedIntoNameAndArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, name, args string
		ok               bool
	}{
		{"/help", "help", "", true},
		{"  /Help  ", "help", "", true},
		{"/cancel@some_bot now please", "cancel", "now please", true},
		{"/reset\nall", "reset", "all", true},
		{"/etc/hosts says what?", "", "", false},
		{"/ help", "", "", false},
		{"/", "", "", false},
		{"//help", "", "", false},
		{"help", "", "", false},
		{"/2x", "", "", false},
	} {
		name, args, ok := command(channels.Message{Text: c.text})
		if name != c.name || args != c.args || ok != c.ok {
			t.Errorf("command(%q) = %q, %q, %v; want %q, %q, %v", c.text, name, args, ok, c.name, c.args, c.ok)
		}
	}
	for _, m := range []channels.Message{
		{Text: "/reset", Forwarded: true},
		{Text: "/summarize this", Attachments: []channels.Attachment{{ID: "f"}}},
	} {
		if name, _, ok := command(m); ok {
			t.Errorf("%+v is the command %s", m, name)
		}
	}
}

func TestIdentityDecidesWhoIsServed(t *testing.T) {
	t.Parallel()
	r := &Router{Deps: Deps{Channels: NewChannels(), Roster: rosterOf(t,
		core.Person{Name: "ada", Role: core.RoleAdmin, Identities: []string{"scripted:1"}},
		core.Person{Name: "bob", Role: core.RoleUser, Identities: []string{"here:2"}},
		core.Person{Name: "scripted:4", Role: core.RoleUser, Identities: []string{"scripted:4"}, Source: "open", Seen: time.Now()},
		core.Person{Name: "scripted:5", Role: core.RoleUser, Identities: []string{"scripted:5"}, Source: "open", Seen: time.Now().Add(-25 * time.Hour)},
	)}}
	group := channels.Conversation{Channel: "here", ID: "g", Kind: channels.Group, Place: "g"}
	within := channels.Conversation{Channel: "here", ID: "c", Kind: channels.Group, Place: "c", Within: "g"}
	direct := channels.Conversation{Channel: "here", ID: "d", Kind: channels.Direct}
	allow := ChannelConfig{DM: "allowlist", Groups: "allowlist", AllowConversations: []string{"g"}, RequireMention: true}
	with := func(change func(*ChannelConfig)) ChannelConfig { c := allow; change(&c); return c }
	for _, c := range []struct {
		name      string
		config    ChannelConfig
		conv      channels.Conversation
		sender    channels.Sender
		mentioned bool
		want      string
		fresh     bool
		rule      string
	}{
		{"known by kind", allow, direct, channels.Sender{ID: "1"}, false, "ada", false, audit.RulePeople},
		{"known by channel", allow, direct, channels.Sender{ID: "2"}, false, "bob", false, audit.RulePeople},
		{"unknown", allow, direct, channels.Sender{ID: "3"}, false, "", false, audit.RuleUnknown},
		{"without an ID", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{}, false, "", false, audit.RuleUnnamed},
		{"empty policy lets nobody else in", with(func(c *ChannelConfig) { c.DM = "" }), direct, channels.Sender{ID: "3"}, false, "", false, audit.RuleUnknown},
		{"pairing lets nobody else in by itself", with(func(c *ChannelConfig) { c.DM = "pairing" }), direct, channels.Sender{ID: "3"}, false, "", false, audit.RuleUnknown},
		{"open", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "3"}, false, "scripted:3", true, audit.RuleOpen},
		{"open, known", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "1"}, false, "ada", false, audit.RulePeople},
		{"disabled, known", with(func(c *ChannelConfig) { c.DM = "disabled" }), direct, channels.Sender{ID: "1"}, false, "", false, audit.RuleDMDisabled},
		{"a bot", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "1", Bot: true}, false, "", false, audit.RuleBot},
		{"vouched for", allow, direct, channels.Sender{ID: "bob", Person: "bob"}, false, "bob", false, audit.RuleMachine},
		{"vouched for, but nobody", allow, direct, channels.Sender{ID: "eve", Person: "eve"}, false, "", false, audit.RuleNoPerson},
		{"group, mentioned", allow, group, channels.Sender{ID: "1"}, true, "ada", false, audit.RulePeopleHere},
		{"group, not mentioned", allow, group, channels.Sender{ID: "1"}, false, "(overheard) ada", false, audit.RulePeopleHere},
		{"group open, not mentioned", with(func(c *ChannelConfig) { c.Groups = "open" }), group, channels.Sender{ID: "3"}, false, "(overheard) scripted:3", true, audit.RuleOpen},
		{"group, stranger, not mentioned", allow, group, channels.Sender{ID: "3"}, false, "", false, audit.RuleUnknown},
		{"group, no mention needed", with(func(c *ChannelConfig) { c.RequireMention = false }), group, channels.Sender{ID: "1"}, false, "ada", false, audit.RulePeopleHere},
		{"group, stranger", allow, group, channels.Sender{ID: "3"}, true, "", false, audit.RuleUnknown},
		{"group not on the list", with(func(c *ChannelConfig) { c.AllowConversations = nil }), group, channels.Sender{ID: "1"}, true, "", false, audit.RuleNotAllowed},
		{"group within one on the list", allow, within, channels.Sender{ID: "1"}, true, "ada", false, audit.RulePeopleHere},
		{"group within one that has no ID", with(func(c *ChannelConfig) { c.AllowConversations = []string{""} }), group, channels.Sender{ID: "1"}, true, "", false, audit.RuleNotAllowed},
		{"groups disabled", with(func(c *ChannelConfig) { c.Groups = "disabled" }), group, channels.Sender{ID: "1"}, true, "", false, audit.RuleGroupsDisabled},
		{"open DMs open no group", with(func(c *ChannelConfig) { c.DM = "open" }), group, channels.Sender{ID: "3"}, true, "", false, audit.RuleUnknown},
		{"let in before, closed now", allow, direct, channels.Sender{ID: "4"}, false, "", false, audit.RuleNoLonger},
		{"let in before, closed group", allow, group, channels.Sender{ID: "4"}, true, "", false, audit.RuleNoLonger},
		{"let in by open groups", with(func(c *ChannelConfig) { c.Groups = "open" }), direct, channels.Sender{ID: "4"}, false, "", false, audit.RuleNoLonger},
		{"let in by open DMs", with(func(c *ChannelConfig) { c.DM = "open" }), group, channels.Sender{ID: "4"}, true, "", false, audit.RuleNoLonger},
		{"let in before, open still", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "4"}, false, "scripted:4", false, audit.RuleOpen},
		{"let in before, not seen for a day", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "5"}, false, "scripted:5", true, audit.RuleOpen},
		{"groups open", with(func(c *ChannelConfig) { c.Groups, c.AllowConversations = "open", nil }), group, channels.Sender{ID: "3"}, true, "scripted:3", true, audit.RuleOpen},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &channel{Connection: &delivery.Connection{Composer: &outbox.Composer{Name: "here", Channel: func() channels.Channel { return nil }}, Kind: "scripted"}, config: c.config}
			event := channels.Event{
				Kind: channels.EventMessage, Conversation: c.conv, Sender: c.sender, Message: channels.Message{Text: "hello", Mentioned: c.mentioned},
			}
			person, fresh, rule := newClassifier(r, nil).whoIs(l, event)
			got := ""
			if person != nil {
				got = person.Name
			}
			if got != "" && !l.isForUs(event) {
				got = "(overheard) " + got
			}
			event.Message.Elsewhere = true
			if l.isForUs(event) {
				t.Error("a command for another bot is meant for us")
			}
			if got != c.want || fresh != c.fresh || rule != c.rule {
				t.Errorf("whoIs = %q, %v, %s; want %q, %v, %s", got, fresh, rule, c.want, c.fresh, c.rule)
			}
		})
	}
}

func TestRatesAreParsedAndBadOnesRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		rate  float64
		burst int
		ok    bool
	}{
		{"20/m", 20.0 / 60, 20, true},
		{"30/s", 30, 30, true},
		{"off", 0, 0, true},
		{"", 0, 0, false},
		{"20", 0, 0, false},
		{"0/s", 0, 0, false},
		{"-1/s", 0, 0, false},
		{"1/day", 0, 0, false},
	} {
		rate, burst, err := delivery.ParseRate(c.in)
		if rate != c.rate || burst != c.burst || (err == nil) != c.ok {
			t.Errorf("ParseRate(%q) = %v, %v, %v", c.in, rate, burst, err)
		}
	}
}
