//go:build linux

package programtest

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

// A Place is the platform of a crash test: users write in their direct chats and
// see what the bot answers. Its sends take a while, to be killed in.
type Place interface {
	// Settings are the tables of the channel and of its people.
	Settings() string
	// Say has a user write in their direct chat.
	Say(user int, text string)
	// Pending says that something was written and is not confirmed.
	Pending() bool
	// Sending says that a send is under way.
	Sending() bool
	// Shown are the messages of the bot in the user's chat, in the order shown: the text, and
	// each file as " <name>".
	Shown(user int) []string
	// Exact says that the platform can be asked what became of a call: nothing is shown twice, and
	// nothing stays that was shown on the way to an answer.
	Exact() bool
	// Made counts the calls that show something, by what they are.
	Made() map[string]int
}

// Users are so many that nobody of them writes more than a person may.
const Users = 20

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

// Sending says that a call is under way.
func (l *losing) Sending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until)
}

// Made counts the calls that show something, by what they are.
func (l *losing) Made() map[string]int {
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

// ScriptedPlace is the rig's own platform.
type ScriptedPlace struct {
	platform *channelstest.Platform
	now      atomic.Int32
	Disorder bool // it tells events in another order than they were written
}

// NewScriptedPlace makes the sends of a rig's platform take a while.
func NewScriptedPlace(platform *channelstest.Platform) *ScriptedPlace {
	p := &ScriptedPlace{platform: platform}
	platform.OnSend(func(scripted.Post) channelstest.Fault {
		p.now.Add(1)
		defer p.now.Add(-1)
		time.Sleep(sendTime)
		return channelstest.Fault{}
	})
	return p
}

// Settings are the tables of the people; the channel is the rig's.
func (p *ScriptedPlace) Settings() string {
	var b strings.Builder
	for u := range Users {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"scripted:u%d\"]\n", u, u)
	}
	return b.String()
}

// Say has a user write in their direct chat.
func (p *ScriptedPlace) Say(user int, text string) {
	p.platform.Say(fmt.Sprintf("cu%d", user), fmt.Sprintf("u%d", user), text)
}

// Pending says that something was written and is not confirmed.
func (p *ScriptedPlace) Pending() bool { return p.platform.Pending() > 0 }

// Sending says that a send is under way.
func (p *ScriptedPlace) Sending() bool { return p.now.Load() > 0 }

// Exact is false: a send is not looked up.
func (p *ScriptedPlace) Exact() bool { return false }

// Made counts nothing here.
func (p *ScriptedPlace) Made() map[string]int { return nil }

// Shown are the messages of the bot in the user's chat.
func (p *ScriptedPlace) Shown(user int) (texts []string) {
	for _, s := range p.platform.SentIn(fmt.Sprintf("cu%d", user)) {
		texts = append(texts, s.Text)
	}
	return texts
}

// TelegramPlace speaks the Bot API.
type TelegramPlace struct {
	Server *telegramtest.Server
	Users  [Users]telegramtest.User
	*losing
}

// NewTelegramPlace is a place with people, which loses answers or none.
func NewTelegramPlace(t platformtest.TB, lost bool) *TelegramPlace {
	p := &TelegramPlace{Server: telegramtest.New(t), losing: newLosing(lost)}
	for u := range p.Users {
		p.Users[u] = p.Server.AddUser(fmt.Sprintf("User%d", u))
	}
	p.faults(p.Server.Break, "sendMessage", "sendDocument", "editMessageText")
	return p
}

// Settings are the tables of the channel and of its people.
func (p *TelegramPlace) Settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[channels.telegram]\nkind = \"telegram\"\ntoken = %q\napi_url = %q\ntools_deny = []\n",
		p.Server.Token(), p.Server.URL())
	for u, user := range p.Users {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"telegram:%d\"]\n", u, user.ID)
	}
	return b.String()
}

// Say has a user write in their direct chat.
func (p *TelegramPlace) Say(user int, text string) { p.Server.Say(p.Users[user].ID, text) }

// Pending says that something was written and is not confirmed.
func (p *TelegramPlace) Pending() bool { return len(p.Server.Pending()) > 0 }

// Exact is false: nobody can ask what became of a call.
func (p *TelegramPlace) Exact() bool { return false }

// Shown are the messages of the bot in the user's chat.
func (p *TelegramPlace) Shown(user int) (texts []string) {
	for _, m := range p.Server.FromBot(p.Users[user].ID) {
		texts = append(texts, m.Text)
		if m.Document != nil {
			texts[len(texts)-1] = named(m.Caption, m.Document.FileName)
		}
	}
	return texts
}

// DiscordPlace speaks Discord's REST API and gateway.
type DiscordPlace struct {
	Server *discordtest.Server
	Users  [Users]string // direct chats
	people [Users]discordtest.User
	met    atomic.Bool
	*losing
}

// NewDiscordPlace is a place with people, which loses answers or none.
func NewDiscordPlace(t platformtest.TB, lost bool) *DiscordPlace {
	p := &DiscordPlace{Server: discordtest.New(t), losing: newLosing(lost)}
	for u := range p.Users {
		p.people[u] = p.Server.AddUser(fmt.Sprintf("User%d", u))
		p.Users[u] = p.Server.Direct(p.people[u].ID).ID
	}
	p.Server.Heartbeat(100 * time.Millisecond)
	p.faults(p.Server.Break, discordtest.CreateMessage, discordtest.EditMessage)
	return p
}

// Settings are the tables of the channel and of its people.
func (p *DiscordPlace) Settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[channels.discord]\nkind = \"discord\"\ntoken = %q\napi_url = %q\ntools_deny = []\n", p.Server.Token(), p.Server.APIURL())
	for u, person := range p.people {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"discord:%s\"]\n", u, person.ID)
	}
	return b.String()
}

// Say waits until the bot has ever heard of anybody: who wrote before that is not told to it.
func (p *DiscordPlace) Say(user int, text string) {
	if p.met.CompareAndSwap(false, true) {
		_ = p.Server.Await(p.Server.Context(), p.Server.Connected)
		defer func() { _ = p.Server.Await(p.Server.Context(), func() bool { return !p.Pending() }) }()
	}
	p.Server.Say(p.people[user].ID, text)
}

// Pending says that something was written and is not confirmed.
func (p *DiscordPlace) Pending() bool { return p.Server.Unacknowledged() > 0 }

// Exact is true: a part is looked for, or sent again with its nonce.
func (p *DiscordPlace) Exact() bool { return true }

// Shown are the messages of the bot in the user's chat.
func (p *DiscordPlace) Shown(user int) (texts []string) {
	for _, m := range p.Server.FromBot(p.Users[user]) {
		var names []string
		for _, a := range m.Attachments {
			names = append(names, a.Filename)
		}
		texts = append(texts, named(p.Server.Seen(m), names...))
	}
	return texts
}

// SlackPlace speaks Slack's Web API and Socket Mode.
type SlackPlace struct {
	Server *slacktest.Server
	Users  [Users]slacktest.User
	*losing
}

// NewSlackPlace is a place with people, which loses answers or none.
func NewSlackPlace(t platformtest.TB, lost bool) *SlackPlace {
	p := &SlackPlace{Server: slacktest.New(t), losing: newLosing(lost)}
	for u := range p.Users {
		p.Users[u] = p.Server.AddUser(fmt.Sprintf("User%d", u))
	}
	p.faults(p.Server.Break, "chat.postMessage", "files.completeUploadExternal", "chat.update")
	return p
}

// Settings are the tables of the channel and of its people.
func (p *SlackPlace) Settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[channels.slack]\nkind = \"slack\"\nbot_token = %q\napp_token = %q\napi_url = %q\ntools_deny = []\n",
		p.Server.BotToken(), p.Server.AppToken(), p.Server.APIURL())
	for u, user := range p.Users {
		fmt.Fprintf(&b, "[[people]]\nname = \"u%d\"\nrole = \"admin\"\nidentities = [\"slack:%s\"]\n", u, user.ID)
	}
	return b.String()
}

// Say has a user write in their direct chat.
func (p *SlackPlace) Say(user int, text string) { p.Server.Say(p.Users[user].ID, text) }

// Pending says that something was written and is not confirmed.
func (p *SlackPlace) Pending() bool { return p.Server.Pending() > 0 }

// Exact is true: a part is looked up by its metadata.
func (p *SlackPlace) Exact() bool { return true }

// Shown are the messages of the bot in the user's chat.
func (p *SlackPlace) Shown(user int) (texts []string) {
	for _, m := range p.Server.FromBot(p.Server.Direct(p.Users[user].ID)) {
		var names []string
		for _, f := range m.Files {
			names = append(names, f.Name)
		}
		texts = append(texts, named(m.Seen, names...))
	}
	return texts
}
