package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
)

// A bot is one of several that an engine serves.
type bot struct {
	programtest.Place
	name string
	host interface {
		Break(platformtest.Fault)
		Mend()
	}
	limited platformtest.Rejection
	said    int
}

// table is the place's settings for a bot of that name, with people of its own.
func (b *bot) table(kind string) string {
	return strings.NewReplacer(
		"[channels."+kind+"]", "[channels."+b.name+"]", `["`+kind+":", `["`+b.name+":", `name = "u`, `name = "`+b.name+"_",
	).Replace(b.Settings())
}

// says has a person write, and returns a condition: the answer is shown.
func (b *bot) says() func() bool {
	b.said++
	text := fmt.Sprintf("%s %d", b.name, b.said)
	b.Say(0, text)
	return func() bool { // it may be marked as repeated
		return slices.ContainsFunc(b.Shown(0), func(shown string) bool { return strings.HasSuffix(shown, "heard: "+text) })
	}
}

// TestPlatformThatFailsDelaysNoOther is one engine with two bots each on Slack and Discord and
// one on Telegram. Whichever platform is down, limited or silent, the others answer. Bots that
// are switched off are never heard of.
func TestPlatformThatFailsDelaysNoOther(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, nil, "[agent]\nplanner = \"fake/model\"\n[router]\nrate_person = \"off\"\n")
	r.Model.Handle(programtest.NewSlowModel().Think)
	telegram, slack1, slack2 := programtest.NewTelegramPlace(t, false), programtest.NewSlackPlace(t, false), programtest.NewSlackPlace(t, false)
	discord1, discord2 := programtest.NewDiscordPlace(t, false), programtest.NewDiscordPlace(t, false)
	bots := []*bot{
		{Place: telegram, name: "telegram-1", host: telegram.Server, limited: telegramtest.TooMany(2)},
		{Place: slack1, name: "slack-1", host: slack1.Server, limited: slacktest.TooMany(2 * time.Second)},
		{Place: discord1, name: "discord-1", host: discord1.Server, limited: discordtest.TooMany(2*time.Second, true)},
		{Place: slack2, name: "slack-2", host: slack2.Server},
		{Place: discord2, name: "discord-2", host: discord2.Server},
	}
	for _, b := range bots {
		kind, _, _ := strings.Cut(b.name, "-")
		r.Append(b.table(kind))
	}
	off := []interface {
		Calls(...string) []platformtest.Call
	}{telegramtest.New(t), slacktest.New(t), discordtest.New(t)}
	for i, s := range off {
		name := fmt.Sprintf("off%d", i)
		b := &bot{name: name}
		switch s := s.(type) {
		case *telegramtest.Server:
			b.Place = &programtest.TelegramPlace{Server: s}
			r.Append(channelOf(b.table("telegram")))
		case *slacktest.Server:
			b.Place = &programtest.SlackPlace{Server: s}
			r.Append(channelOf(b.table("slack")))
		case *discordtest.Server:
			b.Place = &programtest.DiscordPlace{Server: s}
			r.Append(channelOf(b.table("discord")))
		}
	}
	r.Up()
	answer := func(when string, bots []*bot) {
		t.Helper()
		shown := map[string]func() bool{}
		for _, b := range bots {
			shown[b.name] = b.says()
		}
		for name, cond := range shown {
			r.Await(name+" answers "+when, 20*time.Second, cond)
		}
	}
	answer("at first", bots)
	for i, victim := range bots[:3] {
		others := slices.Concat(bots[:i], bots[i+1:])
		for when, fault := range map[string]platformtest.Fault{
			"is down": {Times: -1, Cut: true}, "is limited": {Times: -1, Rejected: victim.limited},
		} {
			victim.host.Mend() // a place's sends take a while by a fault
			victim.host.Break(fault)
			waits := victim.says()
			answer("while "+victim.name+" "+when, others)
			if waits() {
				t.Errorf("%s answers while it %s", victim.name, when)
			}
			victim.host.Mend()
			r.Await(victim.name+" answers when it is back", 40*time.Second, waits)
		}
	}
	for i, victim := range bots[:3] { // they stay silent
		victim.host.Break(platformtest.Fault{Times: -1, Silent: true})
		victim.says()
		answer("while "+victim.name+" is silent", bots[i+1:])
	}
	for i, s := range off {
		if n := len(s.Calls()); n > 0 {
			t.Errorf("a bot that is switched off made %d calls to platform %d", n, i)
		}
	}
	for _, s := range programtest.List[[]channels.Status](r, "channel", "list", "--json") {
		if strings.HasPrefix(s.Name, "off") && s.State != channels.StateDisabled {
			t.Errorf("%s is %s", s.Name, s.State)
		}
	}
}

// channelOf is the table of a channel that is switched off, without its people.
func channelOf(tables string) string {
	table, _, _ := strings.Cut(tables, "[[people]]")
	return table + "enabled = false\n"
}
