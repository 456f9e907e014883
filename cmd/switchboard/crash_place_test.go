package main_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram/telegramtest"
)

// A place is the platform of a crash test: users write in their direct chats and
// see what the bot answers. Its sends take a while, to be killed in.
type place interface {
	// settings are the tables of the channel and of its people.
	settings() string
	say(user int, text string)
	// pending says that something was written and is not confirmed.
	pending() bool
	// sending says that a send is under way.
	sending() bool
	// shown are the texts of the bot in the user's chat, in the order shown.
	shown(user int) []string
}

// sendTime is how long a send takes: longer than a look at all processes, so that a
// kill that waits for a send still meets it.
const sendTime = 50 * time.Millisecond

// scriptedPlace is the rig's own platform.
type scriptedPlace struct {
	platform *channelstest.Platform
	now      atomic.Int32
	disorder bool // it tells events in another order than they were written
}

func newScriptedPlace(platform *channelstest.Platform) *scriptedPlace {
	p := &scriptedPlace{platform: platform}
	platform.OnSend(func(scripted.Post) channelstest.Fault {
		p.now.Add(1)
		defer p.now.Add(-1)
		time.Sleep(sendTime)
		return channelstest.Fault{}
	})
	return p
}

func (p *scriptedPlace) settings() string {
	var b strings.Builder
	for u := range crashUsers {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"scripted:u%d\"]\n", u, u)
	}
	return b.String()
}

func (p *scriptedPlace) say(user int, text string) {
	p.platform.Say(fmt.Sprintf("cu%d", user), fmt.Sprintf("u%d", user), text)
}
func (p *scriptedPlace) pending() bool { return p.platform.Pending() > 0 }
func (p *scriptedPlace) sending() bool { return p.now.Load() > 0 }

func (p *scriptedPlace) shown(user int) (texts []string) {
	for _, s := range p.platform.SentIn(fmt.Sprintf("cu%d", user)) {
		texts = append(texts, s.Text)
	}
	return texts
}

// telegramPlace speaks the Bot API.
type telegramPlace struct {
	server *telegramtest.Server
	users  [crashUsers]telegramtest.User
	until  atomic.Int64 // when the latest send is over, in Unix microseconds
}

func newTelegramPlace(t platformtest.TB) *telegramPlace {
	p := &telegramPlace{server: telegramtest.New(t)}
	for u := range p.users {
		p.users[u] = p.server.AddUser(fmt.Sprintf("User%d", u))
	}
	p.server.Break(telegramtest.Fault{
		Method: "sendMessage", Times: -1, Delay: sendTime,
		When: func(telegramtest.Call) bool {
			p.until.Store(time.Now().Add(sendTime).UnixMicro())
			return true
		},
	})
	return p
}

func (p *telegramPlace) settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[channels.telegram]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\ntools_deny = []\n",
		p.server.Token(), p.server.URL())
	for u, user := range p.users {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", u, user.ID)
	}
	return b.String()
}

func (p *telegramPlace) say(user int, text string) { p.server.Say(p.users[user].ID, text) }
func (p *telegramPlace) pending() bool             { return len(p.server.Pending()) > 0 }
func (p *telegramPlace) sending() bool             { return time.Now().UnixMicro() < p.until.Load() }

func (p *telegramPlace) shown(user int) (texts []string) {
	for _, m := range p.server.FromBot(p.users[user].ID) {
		texts = append(texts, m.Text)
	}
	return texts
}

// discordPlace speaks Discord's REST API and gateway.
type discordPlace struct {
	server *discordtest.Server
	users  [crashUsers]string // direct chats
	people [crashUsers]discordtest.User
	until  atomic.Int64 // when the latest send is over, in Unix microseconds
	met    atomic.Bool
}

// newDiscordPlace makes one that loses every lost-th answer after the send took effect; 0: none.
func newDiscordPlace(t platformtest.TB, lost int64) *discordPlace {
	p := &discordPlace{server: discordtest.New(t)}
	for u := range p.users {
		p.people[u] = p.server.AddUser(fmt.Sprintf("User%d", u))
		p.users[u] = p.server.Direct(p.people[u].ID).ID
	}
	p.server.IdentifyEvery(0)
	p.server.Heartbeat(100 * time.Millisecond)
	sends := atomic.Int64{}
	p.server.Break(discordtest.Fault{
		Method: discordtest.CreateMessage, Times: -1, Delay: sendTime, Lost: true,
		When: func(discordtest.Call) bool {
			p.until.Store(time.Now().Add(sendTime).UnixMicro())
			return lost > 0 && sends.Add(1)%lost == 0
		},
	})
	p.server.Break(discordtest.Fault{Method: discordtest.CreateMessage, Times: -1, Delay: sendTime})
	return p
}

func (p *discordPlace) settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[channels.discord]\nkind = \"discord\"\ntoken = %q\napi_url = %q\ntools_deny = []\n", p.server.Token(), p.server.APIURL())
	for u, person := range p.people {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"discord:%s\"]\n", u, person.ID)
	}
	return b.String()
}

// say waits until the bot has ever heard of anybody: who wrote before that is not told to it.
func (p *discordPlace) say(user int, text string) {
	if p.met.CompareAndSwap(false, true) {
		_ = p.server.Await(p.server.Context(), p.server.Connected)
		defer func() { _ = p.server.Await(p.server.Context(), func() bool { return !p.pending() }) }()
	}
	p.server.Say(p.people[user].ID, text)
}
func (p *discordPlace) pending() bool { return p.server.Unacknowledged() > 0 }
func (p *discordPlace) sending() bool { return time.Now().UnixMicro() < p.until.Load() }

func (p *discordPlace) shown(user int) (texts []string) {
	for _, m := range p.server.FromBot(p.users[user]) {
		texts = append(texts, p.server.Seen(m))
	}
	return texts
}

// slackPlace speaks Slack's Web API and Socket Mode.
type slackPlace struct {
	server *slacktest.Server
	users  [crashUsers]slacktest.User
	until  atomic.Int64 // when the latest send is over, in Unix microseconds
}

// newSlackPlace makes one that loses every lost-th answer after the send took effect; 0: none.
func newSlackPlace(t platformtest.TB, lost int64) *slackPlace {
	p := &slackPlace{server: slacktest.New(t)}
	for u := range p.users {
		p.users[u] = p.server.AddUser(fmt.Sprintf("User%d", u))
	}
	var sends int64 // under the platform's lock
	p.server.Break(slacktest.Fault{
		Method: "chat.postMessage", Times: -1, Delay: sendTime, Lost: true,
		When: func(slacktest.Call) bool {
			sends++
			return lost > 0 && sends%lost == 0
		},
	})
	p.server.Break(slacktest.Fault{
		Method: "chat.postMessage", Times: -1, Delay: sendTime,
		When: func(slacktest.Call) bool {
			p.until.Store(time.Now().Add(sendTime).UnixMicro())
			return true
		},
	})
	return p
}

func (p *slackPlace) settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[channels.slack]\nkind = \"slack\"\nbot_token = %q\napp_token = %q\napi_url = %q\ntools_deny = []\n",
		p.server.BotToken(), p.server.AppToken(), p.server.APIURL())
	for u, user := range p.users {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"slack:%s\"]\n", u, user.ID)
	}
	return b.String()
}

func (p *slackPlace) say(user int, text string) { p.server.Say(p.users[user].ID, text) }
func (p *slackPlace) pending() bool             { return p.server.Pending() > 0 }
func (p *slackPlace) sending() bool             { return time.Now().UnixMicro() < p.until.Load() }

func (p *slackPlace) shown(user int) (texts []string) {
	for _, m := range p.server.FromBot(p.server.Direct(p.users[user].ID)) {
		texts = append(texts, m.Seen)
	}
	return texts
}
