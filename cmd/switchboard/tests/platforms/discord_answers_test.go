package platforms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/channels/discord/discordtest"
	"switchboard/cmd/switchboard/programtest"
)

// Over the whole program: an answer that grew notifies whom it answers, in a direct chat and after a mention, and the
// command of a stranger, or in a channel that is not allowed, is acknowledged with nothing told.
func TestDiscordAnswersNotifyAndCommandsAreAcknowledged(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "") // its mind alone is used
	s := discordtest.New(t)
	ada, eve := s.AddUser("Ada"), s.AddUser("Eve")
	guild := s.AddGuild("Friends", ada, eve)
	general, other := s.AddChannel(guild, "general").ID, s.AddChannel(guild, "other").ID
	r.Append(fmt.Sprintf("[channels.discord]\nkind = \"discord\"\ntoken = %q\napi_url = %q\ndm = \"allowlist\"\ngroups = \"allowlist\"\nallow_conversations = [%q]\ntools_deny = []\n", s.Token(), s.APIURL(), general))
	r.Append(fmt.Sprintf("[[people]]\nname = \"ada\"\nrole = \"admin\"\nidentities = [\"discord:%s\"]\n", ada.ID))
	r.Up()
	r.Await("the bot is there", time.Minute, s.Connected)
	places := map[string]string{"work on dishes": s.Direct(ada.ID).ID, "work on laundry": general}
	for text, place := range places {
		release := r.Slow.Hold(t, programtest.WhileReviewing, text)
		words := text
		if place == general {
			words = "<@" + s.Bot().ID + "> " + text
		}
		s.SayIn(place, ada.ID, words)
		r.Await("what is done is shown", time.Minute, func() bool { return len(s.FromBot(place)) > 0 })
		first := s.FromBot(place)[0]
		release()
		var answer discordtest.Message
		r.Await("it is answered, and somebody is notified", time.Minute, func() bool { // it may be shown before, as it grows
			last := s.FromBot(place)
			answer = last[len(last)-1]
			return strings.Contains(answer.Content, "did: ") && s.Rang(answer.ID)
		})
		if answer.Content == first.Content {
			t.Errorf("%q became %q", first.Content, answer.Content)
		}
	}
	for name, given := range map[string]string{
		"a stranger": s.Give(s.Direct(eve.ID).ID, eve.ID, "status", ""), "a stranger in a channel": s.Give(general, eve.ID, "status", ""),
		"elsewhere": s.Give(other, ada.ID, "status", ""),
	} {
		r.Await(name+" is acknowledged", time.Minute, func() bool { return len(s.Answers(given)) == 1 })
		if a := s.Answers(given)[0]; a.Type != 4 || a.Data.Flags&64 == 0 || a.Data.Content != "There is no answer here." {
			t.Errorf("%s is answered %+v", name, a)
		}
	}
	if n := len(s.FromBot(other)) + len(s.FromBot(s.Direct(eve.ID).ID)); n != 0 {
		t.Errorf("%d messages were sent to who is not served", n)
	}
}

// Over the whole program: who opens a thread at their question themselves, while the bot is away, is answered there,
// also to what does not name it, and in order.
func TestDiscordThreadBegunWhileAwayIsAnsweredWhole(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]bool{"resumed": false, "begun again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := programtest.NewTelegram(t, "") // its mind alone is used
			s := discordtest.New(t)
			ada := s.AddUser("Ada")
			general := s.AddChannel(s.AddGuild("Friends", ada), "general").ID
			r.Append(fmt.Sprintf("[channels.discord]\nkind = \"discord\"\ntoken = %q\napi_url = %q\ngroups = \"open\"\nreply_in = \"thread\"\n", s.Token(), s.APIURL()))
			r.Append(fmt.Sprintf("[[people]]\nname = \"ada\"\nrole = \"admin\"\nidentities = [\"discord:%s\"]\n", ada.ID))
			r.Up()
			r.Await("the bot is there", time.Minute, s.Connected)
			s.Say(ada.ID, "hello")
			r.Await("it is answered", time.Minute, func() bool { return len(s.FromBot(s.Direct(ada.ID).ID)) > 0 })
			r.Kill()
			asked := s.SayIn(general, ada.ID, "<@"+s.Bot().ID+"> one")
			s.OpenThread(general, asked.ID, ada.ID, "numbers")
			s.SayIn(asked.ID, ada.ID, "two")
			s.SayIn(asked.ID, ada.ID, "three")
			if forget {
				s.Forget()
			}
			r.Up()
			said := ""
			r.Await("all of it is answered", time.Minute, func() bool {
				said = ""
				for _, m := range s.FromBot(asked.ID) {
					said += m.Content + "\n"
				}
				return strings.Contains(said, "one") && strings.Contains(said, "two") && strings.Contains(said, "three")
			})
			if one, two := strings.Index(said, "one"), strings.Index(said, "two"); one > two || two > strings.Index(said, "three") {
				t.Errorf("answered %q", said)
			}
		})
	}
}
