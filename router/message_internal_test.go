package router

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
)

// Who is written to is one known person, or for an admin one group, and nobody by chance.
func TestWhomAMessageIsFor(t *testing.T) {
	t.Parallel()
	chat := func(key string, kind channels.ConversationKind, title, person string) core.Chat {
		channel, id, _ := strings.Cut(key, ":")
		return core.Chat{Conversation: channels.Conversation{Channel: channel, ID: channels.ConversationID(id), Kind: kind, Title: title}, Person: person}
	}
	person := func(name, source string, identities ...string) core.Person {
		return core.Person{Name: name, Role: core.RoleUser, Source: source, Identities: identities}
	}
	line := func(name string, config ChannelConfig) *channel {
		return &channel{Connection: &delivery.Connection{Composer: &outbox.Composer{Name: name, Channel: func() channels.Channel { return nil }}, Kind: "pigeon"}, config: config}
	}
	by := func(c core.Chat, identity string) core.Chat {
		c.Identity = identity
		return c
	}
	r := &Messenger{
		Roster: rosterOf(t,
			person("ann", core.FromSettings, "tg:1", "work:T1/2"), person("Bob", core.FromLocal, "pigeon:b"), person("BOB", core.FromLocal, "pigeon:bb"),
			person("cyd", core.FromSettings, "pigeon:c"), person("dan", core.FromSettings, "pigeon:d"), person("tg:7", core.FromOpen, "tg:7"),
			person("work:8", core.FromOpen, "work:8"), person("Eli", core.FromSettings, "pigeon:5"), person("fay", core.FromSettings, "work:6", "pigeon:9"),
		), Channels: &Channels{},
	}
	r.Channels.list.Store(&map[string]*channel{
		"tg":   line("tg", ChannelConfig{DM: "open", Groups: "allowlist"}),
		"work": line("work", ChannelConfig{DM: "allowlist", Groups: "allowlist"}),
		"shut": line("shut", ChannelConfig{DM: "disabled", Groups: "disabled"}),
	})
	chats := []core.Chat{
		by(chat("tg:old", channels.Direct, "", "ann"), "pigeon:3"), // when an account was hers that is not any more
		chat("tg:older", channels.Direct, "", "ann"),
		by(chat("tg:a", channels.Direct, "Boss", "ann"), "pigeon:1"),
		by(chat("work:a", channels.Direct, "", "ann"), "pigeon:2"),
		chat("tg:b", channels.Direct, "ann", "Bob"),
		chat("tg:bb", channels.Direct, "", "BOB"),
		chat("shut:c", channels.Direct, "", "cyd"),
		chat("away:d", channels.Direct, "", "dan"),
		chat("tg:7", channels.Direct, "", "tg:7"),
		chat("work:8", channels.Direct, "", "work:8"),
		chat("tg:x", channels.Direct, "", "removed"),
		by(chat("work:e", channels.Direct, "", "Eli"), "pigeon:5"),
		by(chat("tg:f", channels.Direct, "", "fay"), "pigeon:6"), // her ID on another channel
		chat("tg:g", channels.Group, "Family", ""),
		chat("tg:g/1", channels.Thread, "Family", ""),
		chat("tg:h", channels.Group, "Team", ""),
		chat("work:h", channels.Group, "team", ""),
		chat("tg:dan", channels.Group, "Dan", ""),
		chat("work:n", channels.Group, "", ""),
		chat("shut:g", channels.Group, "Shut", ""),
		chat("away:g", channels.Group, "Away", ""),
	}
	const (
		people = "BOB, Bob, Eli, ann, tg:7"
		groups = `, "Family" (tg:g), "Team" (tg:h), "team" (work:h), "Dan" (tg:dan), work:n`
	)
	for _, c := range []struct{ to, admin, user string }{
		{"ann", "tg:a", "tg:a"}, // where she wrote last
		{"ANN", "tg:a", "tg:a"},
		{"work:a", "work:a", "work:a"},
		{"Bob", "tg:b", "tg:b"},
		{"bob", "several_recipients: 2 are called \"bob\": Bob, BOB", "several_recipients: 2 are called \"bob\": Bob, BOB"},
		{"tg:7", "tg:7", "tg:7"},
		{"eli", "work:e", "work:e"},
		{"Family", "tg:g", "no_recipient: " + people},
		{"family", "tg:g", "no_recipient: " + people},
		{"tg:g", "tg:g", "no_recipient: " + people},
		{"tg:g/1", "tg:g/1", "no_recipient: " + people},
		{"team", `label several_recipients: 2 are called "team": "Team" (tg:h), "team" (work:h)`, "no_recipient: " + people},
		{"cyd", "no_chat: cyd has no direct chat", "no_chat: cyd has no direct chat"},
		{"shut:c", "label no_recipient: " + people + groups, "no_recipient: " + people},
		{"fay", "no_chat: fay has no direct chat", "no_chat: fay has no direct chat"},
		{"tg:old", "label no_recipient: ", "no_recipient: "},
		{"dan", "no_chat: dan has no direct chat", "no_chat: dan has no direct chat"}, // and no group of that title
		{"work:8", "no_chat: work:8 has no direct chat", "no_chat: work:8 has no direct chat"},
		{"removed", "label no_recipient: " + people + groups, "no_recipient: " + people},
		{"tg:x", "label no_recipient: ", "no_recipient: "},
		{"Boss", "label no_recipient: ", "no_recipient: "}, // what somebody calls a direct chat
		{"Shut", "label no_recipient: ", "no_recipient: "},
		{"away:g", "label no_recipient: ", "no_recipient: "},
		{"an", "label no_recipient: ", "no_recipient: "},
		{"", "label no_recipient: ", "no_recipient: "},
	} {
		for admin, want := range map[bool]string{true: c.admin, false: c.user} {
			found, why := r.find(r.recipients(chats, admin), c.to)
			got := ""
			if why == nil {
				got = found.key()
			} else {
				got = strings.TrimSpace(string(why.Taint) + " " + why.Code + ": " + strings.TrimPrefix(why.Output, fmt.Sprintf("I can write to nobody called %q; I can write to ", c.to)))
			}
			if got != want && (why == nil || !strings.HasPrefix(got, want)) || why != nil && (why.End != tools.EndRefused || why.Hint == "") {
				t.Errorf("%q, admin %v: %s, want %s", c.to, admin, got, want)
			}
		}
	}

	for to, want := range map[string]string{"Anna": "did you mean ann? ", "an": "did you mean ann? ", "bbo": "did you mean bob? ", "eve": "", "": ""} {
		if got := didYouMean([]recipient{{name: ""}, {name: "ann"}, {name: "bob"}}, to); got != want {
			t.Errorf("%q: %q", to, got)
		}
	}

	var many []core.Chat
	for i := range 23 {
		many = append(many, chat(fmt.Sprint("tg:", i), channels.Group, "", ""))
	}
	if _, why := r.find(r.recipients(many, true), "x"); why == nil || !strings.HasSuffix(why.Output, "tg:19 and 3 more") || why.Taint != tools.Clean {
		t.Errorf("of many: %+v", why)
	}
	if _, why := r.find(nil, "x"); why == nil || !strings.HasSuffix(why.Output, "I can write to nobody") {
		t.Errorf("of none: %+v", why)
	}
}
