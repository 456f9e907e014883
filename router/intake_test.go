package router

import (
	"testing"
	"time"

	"switchboard/channels"
)

func TestCommand(t *testing.T) {
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

// promise: P4.no-entry-no-service
// promise: P12.explained
func TestWhoIs(t *testing.T) {
	t.Parallel()
	r := &Router{Deps: Deps{Roster: rosterOf(t,
		Person{Name: "ada", Role: RoleAdmin, Identities: []string{"scripted:1"}},
		Person{Name: "bob", Role: RoleUser, Identities: []string{"here:2"}},
		Person{Name: "scripted:4", Role: RoleUser, Identities: []string{"scripted:4"}, Source: "open", Seen: time.Now()},
		Person{Name: "scripted:5", Role: RoleUser, Identities: []string{"scripted:5"}, Source: "open", Seen: time.Now().Add(-25 * time.Hour)},
	)}}
	group := channels.Conversation{Channel: "here", ID: "g", Kind: channels.Group, Place: "g"}
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
		{"known by kind", allow, direct, channels.Sender{ID: "1"}, false, "ada", false, rulePeople},
		{"known by channel", allow, direct, channels.Sender{ID: "2"}, false, "bob", false, rulePeople},
		{"unknown", allow, direct, channels.Sender{ID: "3"}, false, "", false, ruleUnknown},
		{"without an ID", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{}, false, "", false, ruleUnnamed},
		{"empty policy lets nobody else in", with(func(c *ChannelConfig) { c.DM = "" }), direct, channels.Sender{ID: "3"}, false, "", false, ruleUnknown},
		{"pairing lets nobody else in yet", with(func(c *ChannelConfig) { c.DM = "pairing" }), direct, channels.Sender{ID: "3"}, false, "", false, ruleUnknown},
		{"open", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "3"}, false, "scripted:3", true, ruleOpen},
		{"open, known", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "1"}, false, "ada", false, rulePeople},
		{"disabled, known", with(func(c *ChannelConfig) { c.DM = "disabled" }), direct, channels.Sender{ID: "1"}, false, "", false, ruleDMDisabled},
		{"a bot", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "1", Bot: true}, false, "", false, ruleBot},
		{"vouched for", allow, direct, channels.Sender{ID: "bob", Person: "bob"}, false, "bob", false, ruleMachine},
		{"vouched for, but nobody", allow, direct, channels.Sender{ID: "eve", Person: "eve"}, false, "", false, ruleNoPerson},
		{"group, mentioned", allow, group, channels.Sender{ID: "1"}, true, "ada", false, rulePeopleHere},
		{"group, not mentioned", allow, group, channels.Sender{ID: "1"}, false, "(overheard) ada", false, rulePeopleHere},
		{"group open, not mentioned", with(func(c *ChannelConfig) { c.Groups = "open" }), group, channels.Sender{ID: "3"}, false, "(overheard) scripted:3", true, ruleOpen},
		{"group, stranger, not mentioned", allow, group, channels.Sender{ID: "3"}, false, "", false, ruleUnknown},
		{"group, no mention needed", with(func(c *ChannelConfig) { c.RequireMention = false }), group, channels.Sender{ID: "1"}, false, "ada", false, rulePeopleHere},
		{"group, stranger", allow, group, channels.Sender{ID: "3"}, true, "", false, ruleUnknown},
		{"group not on the list", with(func(c *ChannelConfig) { c.AllowConversations = nil }), group, channels.Sender{ID: "1"}, true, "", false, ruleNotAllowed},
		{"groups disabled", with(func(c *ChannelConfig) { c.Groups = "disabled" }), group, channels.Sender{ID: "1"}, true, "", false, ruleGroupsDisabled},
		{"open DMs open no group", with(func(c *ChannelConfig) { c.DM = "open" }), group, channels.Sender{ID: "3"}, true, "", false, ruleUnknown},
		{"let in before, closed now", allow, direct, channels.Sender{ID: "4"}, false, "", false, ruleNoLonger},
		{"let in before, closed group", allow, group, channels.Sender{ID: "4"}, true, "", false, ruleNoLonger},
		{"let in by open groups", with(func(c *ChannelConfig) { c.Groups = "open" }), direct, channels.Sender{ID: "4"}, false, "", false, ruleNoLonger},
		{"let in by open DMs", with(func(c *ChannelConfig) { c.DM = "open" }), group, channels.Sender{ID: "4"}, true, "", false, ruleNoLonger},
		{"let in before, open still", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "4"}, false, "scripted:4", false, ruleOpen},
		{"let in before, not seen for a day", with(func(c *ChannelConfig) { c.DM = "open" }), direct, channels.Sender{ID: "5"}, false, "scripted:5", true, ruleOpen},
		{"groups open", with(func(c *ChannelConfig) { c.Groups, c.AllowConversations = "open", nil }), group, channels.Sender{ID: "3"}, true, "scripted:3", true, ruleOpen},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &channel{line: &line{name: "here", kind: "scripted"}, config: c.config}
			event := channels.Event{
				Kind: channels.EventMessage, Conversation: c.conv, Sender: c.sender, Message: channels.Message{Text: "hello", Mentioned: c.mentioned},
			}
			person, fresh, rule := r.newSorting(nil).whoIs(l, event)
			got := ""
			if person != nil {
				got = person.Name
			}
			if got != "" && !l.meant(event) {
				got = "(overheard) " + got
			}
			event.Message.Elsewhere = true
			if l.meant(event) {
				t.Error("a command for another bot is meant for us")
			}
			if got != c.want || fresh != c.fresh || rule != c.rule {
				t.Errorf("whoIs = %q, %v, %s; want %q, %v, %s", got, fresh, rule, c.want, c.fresh, c.rule)
			}
		})
	}
}

func TestWorkersShare(t *testing.T) {
	t.Parallel()
	w := newWorkers(8)
	for i := range 2 {
		if !w.take("ada") {
			t.Fatalf("ada's worker %d was refused", i)
		}
	}
	if w.take("ada") {
		t.Error("ada holds more than a quarter")
	}
	for _, p := range []string{"b", "b", "c", "c", "d", "d"} {
		if !w.take(p) {
			t.Fatalf("%s got no worker", p)
		}
	}
	if w.take("e") {
		t.Error("a ninth of eight workers")
	}
	idle, full := w.free()
	if idle != 0 || len(full) != 4 {
		t.Errorf("free = %d, %v", idle, full)
	}
	w.give("b")
	if !w.take("e") {
		t.Error("a worker was given back and not found")
	}
}

func TestParseRate(t *testing.T) {
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
		rate, burst, err := ParseRate(c.in)
		if rate != c.rate || burst != c.burst || (err == nil) != c.ok {
			t.Errorf("ParseRate(%q) = %v, %v, %v", c.in, rate, burst, err)
		}
	}
}
