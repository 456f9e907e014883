package router_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

// forgetful commits what it is asked to tell, and once says that it did not.
type forgetful struct {
	router.Store
	once sync.Once
}

func (f *forgetful) Notify(ctx context.Context, key []byte, conv channels.Conversation, reply outbox.Reply) (told bool, err error) {
	told, err = f.Store.Notify(ctx, key, conv, reply)
	f.once.Do(func() { err = errors.New("the answer was lost") })
	return told, err
}

// A message to somebody elsewhere goes out once, in its sender's name, where they wrote
// last; to whoever else reads it later it is what somebody else was answered.
func TestMessageReachesSomebodyElsewhere(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		work := channelstest.NewPlatform()
		r.Channel.Groups = "open"
		r.Readers = []router.Attached{{Channel: channelstest.Scripted("work", work, r.Script), Config: r.Channel}}
		r.Store = func(l router.Store) router.Store { return &forgetful{Store: l} }
		var mu sync.Mutex
		recent := map[string][]agent.Line{} // by the message's text
		would := map[string]string{}        // what a question would say of a recipient
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			state, err := p.Resume(p.Ctx)
			if err != nil {
				return err
			}
			text, from := p.Turn.Message.Text, tools.Session{ID: p.Turn.Session.Key, Person: p.Turn.Person.Name}
			mu.Lock()
			recent[text] = state.Recent
			mu.Unlock()
			to, asked := strings.CutPrefix(text, "tell ")
			if !asked {
				return p.Answer("re: " + text)
			}
			call := tools.Call{Session: from}
			means, _ := r.Router.Messages.Recipient(p.Ctx, call, to)
			mu.Lock()
			would[to] = means
			mu.Unlock()
			if to == "Team" {
				call.Taint = "web"
			}
			res := r.Router.Messages.SendMessage(p.Ctx, call, to, "Meet at *nine*.")
			return p.Answer(strings.TrimSpace(res.Code + " " + res.Output))
		})
		r.Start()
		// says answers with what is shown in conv next, after n parts.
		says := func(platform *channelstest.Platform, conv, user, text string, n int) string {
			t.Helper()
			m := scripted.Message{Conversation: conv, User: user, Text: text, Mentioned: true}
			if conv == "team" {
				m.Kind, m.Title = "group", "Team"
			}
			platform.Write(m)
			testkit.Await(t, text, time.Minute, func() bool { return len(platform.SentIn(conv)) > n })
			return platform.SentIn(conv)[n].Text
		}
		const told = "ada asked me to tell you:\n\nMeet at nine."
		says(r.Platform, "there", "bob", "first", 0)
		says(work, "cb", "bob", "hi", 0)
		says(work, "team", "bob", "hello", 0)
		got := []string{
			says(r.Platform, "here", "ada", "tell BOB", 0),
			says(r.Platform, "here", "ada", "tell Team", 1),
			says(work, "cb", "bob", "what is it?", 2),
			says(work, "cb", "bob", "tell bob", 3),
			says(work, "cb", "bob", "tell team", 4),
			says(work, "ca", "ada", "hi", 0),
			says(r.Platform, "here", "ada", "tell work:ca", 2),
			says(work, "ca", "ada", "and?", 2),
			says(work, "team", "ada", "who says so?", 2),
		}
		r.Same("they read", got, []string{
			"sent to bob on work", "sent to Team on work", "re: what is it?", "this_conversation bob is the conversation that we speak in",
			`no_recipient I can write to nobody called "team"; I can write to ada, bob`,
			"re: hi", "sent to ada on work", "re: and?", "re: who says so?",
		})
		r.Same("bob reads", routertest.Texts(work.SentIn("cb"))[:3], []string{"re: hi", told, "re: what is it?"})
		r.Same("the team reads", routertest.Texts(work.SentIn("team"))[:2], []string{"re: hello", told})
		r.Same("ada reads", routertest.Texts(work.SentIn("ca"))[:2], []string{"re: hi", told})
		r.Same("bob reads nothing where he was before", routertest.Texts(r.Platform.SentIn("there")), []string{"re: first"})

		mu.Lock()
		defer mu.Unlock()
		r.Same("who would be asked is told", []string{would["BOB"], would["Team"], would["team"]}, []string{
			"It would go to bob, in the chat work:cb.", `It would go to the group "Team", in the chat work:team.`, "",
		})
		for text, taint := range map[string]tools.Taint{"what is it?": tools.Clean, "and?": tools.Clean, "who says so?": "web"} {
			if !slices.ContainsFunc(recent[text], func(l agent.Line) bool {
				return l.Bot && l.To == "ada" && l.Taint == taint && l.Text == "**ada** asked me to tell you:\n\nMeet at *nine*."
			}) {
				t.Errorf("before %q stands %+v", text, recent[text])
			}
		}
	})
}
