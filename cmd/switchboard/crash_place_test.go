package main_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
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
	// shown are the messages of the bot in the user's chat, in the order shown: the text, and
	// each file as " <name>".
	shown(user int) []string
	// exact says that the platform can be asked what became of a call: nothing is shown twice, and
	// nothing stays that was shown on the way to an answer.
	exact() bool
	// made counts the calls that show something, by what they are.
	made() map[string]int
}

// A losing place loses every tenth answer to a call that took effect, of each kind for itself, and
// takes a while for each.
type losing struct {
	mu    sync.Mutex // calls are counted beside the platform's lock
	every int
	calls map[string]int
	until time.Time // when the latest call is over
}

func newLosing(lost bool) *losing {
	l := &losing{calls: map[string]int{}}
	if lost {
		l.every = 10
	}
	return l
}

// meet counts a call and says whether its answer is lost.
func (l *losing) meet(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(sendTime)
	l.calls[kind]++
	return l.every > 0 && l.calls[kind]%l.every == 0
}

func (l *losing) sending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until)
}

func (l *losing) made() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.calls)
}

// faults are those of calls of these methods.
func (l *losing) faults(add func(platformtest.Fault), methods ...string) {
	for _, method := range methods {
		lose := func(c platformtest.Call) bool {
			if len(c.Files) > 0 {
				return l.meet(method + " with files")
			}
			return l.meet(method)
		}
		add(platformtest.Fault{Method: method, Times: -1, Delay: sendTime, Lost: true, When: lose})
		add(platformtest.Fault{Method: method, Times: -1, Delay: sendTime})
	}
}

// named are names of files as shown has them.
func named(text string, names ...string) string {
	for _, name := range names {
		text += " <" + name + ">"
	}
	return strings.TrimSpace(text)
}

// sendTime is how long a send takes, so that a kill that waits for one still meets it.
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
func (p *scriptedPlace) pending() bool        { return p.platform.Pending() > 0 }
func (p *scriptedPlace) sending() bool        { return p.now.Load() > 0 }
func (p *scriptedPlace) exact() bool          { return false }
func (p *scriptedPlace) made() map[string]int { return nil }

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
	*losing
}

func newTelegramPlace(t platformtest.TB, lost bool) *telegramPlace {
	p := &telegramPlace{server: telegramtest.New(t), losing: newLosing(lost)}
	for u := range p.users {
		p.users[u] = p.server.AddUser(fmt.Sprintf("User%d", u))
	}
	p.faults(p.server.Break, "sendMessage", "sendDocument", "editMessageText")
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
func (p *telegramPlace) exact() bool               { return false }

func (p *telegramPlace) shown(user int) (texts []string) {
	for _, m := range p.server.FromBot(p.users[user].ID) {
		texts = append(texts, m.Text)
		if m.Document != nil {
			texts[len(texts)-1] = named(m.Caption, m.Document.FileName)
		}
	}
	return texts
}

// discordPlace speaks Discord's REST API and gateway.
type discordPlace struct {
	server *discordtest.Server
	users  [crashUsers]string // direct chats
	people [crashUsers]discordtest.User
	met    atomic.Bool
	*losing
}

func newDiscordPlace(t platformtest.TB, lost bool) *discordPlace {
	p := &discordPlace{server: discordtest.New(t), losing: newLosing(lost)}
	for u := range p.users {
		p.people[u] = p.server.AddUser(fmt.Sprintf("User%d", u))
		p.users[u] = p.server.Direct(p.people[u].ID).ID
	}
	p.server.Heartbeat(100 * time.Millisecond)
	p.faults(p.server.Break, discordtest.CreateMessage, discordtest.EditMessage)
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
func (p *discordPlace) exact() bool   { return true }

func (p *discordPlace) shown(user int) (texts []string) {
	for _, m := range p.server.FromBot(p.users[user]) {
		var names []string
		for _, a := range m.Attachments {
			names = append(names, a.Filename)
		}
		texts = append(texts, named(p.server.Seen(m), names...))
	}
	return texts
}

// slackPlace speaks Slack's Web API and Socket Mode.
type slackPlace struct {
	server *slacktest.Server
	users  [crashUsers]slacktest.User
	*losing
}

func newSlackPlace(t platformtest.TB, lost bool) *slackPlace {
	p := &slackPlace{server: slacktest.New(t), losing: newLosing(lost)}
	for u := range p.users {
		p.users[u] = p.server.AddUser(fmt.Sprintf("User%d", u))
	}
	p.faults(p.server.Break, "chat.postMessage", "files.completeUploadExternal", "chat.update")
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
func (p *slackPlace) exact() bool               { return true }

func (p *slackPlace) shown(user int) (texts []string) {
	for _, m := range p.server.FromBot(p.server.Direct(p.users[user].ID)) {
		var names []string
		for _, f := range m.Files {
			names = append(names, f.Name)
		}
		texts = append(texts, named(m.Seen, names...))
	}
	return texts
}
