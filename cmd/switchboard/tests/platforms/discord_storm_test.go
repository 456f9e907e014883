package platforms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/discord/discordtest"
	"switchboard/cmd/switchboard/programtest"
)

// Two bots on Discord, whose sessions the platform ends each time: few are begun, `channel list` does not call them
// connected, an admin is told elsewhere of the one that stops, and the other is back once the platform is.
func TestDiscordStormsBeginFewSessions(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	storms := map[string]*discordtest.Server{}
	for name, storm := range map[string]discordtest.Storm{"shaken": {Code: 4000}, "refused": {Code: 4013}, "brief": {Code: 4000, After: time.Second}} {
		s := discordtest.New(t)
		s.Storm(&storm)
		r.Append(fmt.Sprintf("[channels.%s]\nkind = \"discord\"\ntoken = %q\napi_url = %q\ndm = \"open\"\ntools_deny = []\n", name, s.Token(), s.APIURL()))
		storms[name] = s
	}
	shaken, brief := storms["shaken"], storms["brief"]
	ada := shaken.AddUser("Ada")
	r.Up()
	r.Bot.Say(r.Chief.ID, "hello")
	r.Await("an admin is told", time.Minute, func() bool {
		return slices.ContainsFunc(r.Answers(r.Chief.ID), func(text string) bool {
			return strings.Contains(text, "The channel refused is not connected, and is not tried again") && strings.Contains(text, "intents")
		})
	})
	statuses := r.Statuses()
	for name, s := range storms {
		asked, status := s.Asked(), statuses[name]
		t.Logf("%s: %d sessions, %d resumed; %s: %s", name, len(asked), s.Resumes(), status.State, status.Reason)
		if len(asked) > 5 {
			t.Errorf("%d sessions were begun within a minute", len(asked))
		}
		for i := 1; i < len(asked); i++ {
			if gap := asked[i].Sub(asked[i-1]); gap < 5*time.Second {
				t.Errorf("%s: two sessions were begun within %s", name, gap)
			}
		}
		if status.State == channels.StateConnected || status.Reason == "" {
			t.Errorf("%s is %s: %s", name, status.State, status.Reason)
		}
	}
	shaken.Storm(nil)
	brief.Storm(nil)
	r.Await("it is back", 2*time.Minute, func() bool { return shaken.Connected() && brief.Connected() })
	shaken.Say(ada.ID, "are you there?")
	r.Await("what is said then is answered", time.Minute, func() bool {
		return slices.ContainsFunc(shaken.FromBot(shaken.Direct(ada.ID).ID), func(m discordtest.Message) bool { return m.Content == "heard: are you there?" })
	})
	if n := len(storms["refused"].Asked()); n != 1 {
		t.Errorf("%d sessions were begun where the platform refuses the bot", n)
	}
}
