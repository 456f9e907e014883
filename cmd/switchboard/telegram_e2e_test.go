package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/router/view"
)

// The places of a bot: direct chats, groups, topics, and what becomes of them.
func TestTelegramServesEachKindOfPlace(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	ada, bob := r.bot.AddUser("Ada"), r.bot.AddUser("Bob")
	group, forum := r.bot.AddGroup("Engines", ada, bob), r.bot.AddForum("Forum", ada)
	moving, closed := r.bot.AddGroup("Moving", ada), r.bot.AddGroup("Closed", ada)
	late := r.bot.AddGroup("Late", ada)
	name := "@" + r.bot.Bot().User.Username
	r.admit("user", ada, bob)
	r.channel("telegram", r.bot, r.bot.Token(), fmt.Sprintf("allow_conversations = [\"%d\", \"%d\", \"%d\", \"%d\"]", group.ID, forum.ID, moving.ID, late.ID))

	r.ranBefore()
	// What waits before the start comes in one batch.
	r.bot.Say(r.chief.ID, "first")
	r.bot.Inject(`{"update_id":UPDATE_ID,"message":{"message_id":"poison","chat":[7]}}`)
	r.bot.Inject(`{"update_id":UPDATE_ID,"message":{"message_id":7000,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"N"},"text":"a\u0000b"}}`)
	r.bot.Say(r.chief.ID, "last")
	r.up()
	t.Run("a poisoned update in a batch", func(t *testing.T) {
		r := r.in(t)
		r.expect(r.chief.ID, "heard: first", "heard: last")
		kept := list[[]view.Rejected](r.rig, "channel", "rejected", "--json")
		// The text with NUL in it can be read, and is a stranger's.
		if len(kept) != 1 || kept[0].Channel != "telegram" || kept[0].Reason == "" || !strings.Contains(kept[0].Raw, "poison") {
			t.Errorf("kept as rejected: %+v, want the first update as it came", kept)
		}
	})
	t.Run("a group", func(t *testing.T) {
		r := r.in(t)
		say := func(text string) { r.bot.SayIn(group.ID, ada.ID, text) }
		say("nobody is meant")
		say(name + " one")
		r.expect(group.ID, "heard: one")
		say("/status@somebody_else_bot")
		say("/whoami" + name)
		r.bot.SayIn(closed.ID, ada.ID, name+" not here")
		r.settle()
		answers := r.answers(group.ID)
		if len(answers) != 2 || answers[0] != "heard: one" || !strings.Contains(answers[1], "Ada") {
			t.Fatalf("the group shows %q", answers)
		}
		r.bot.Post(telegramtest.Post{Chat: group.ID, From: bob.ID, Text: "two", ReplyTo: r.bot.FromBot(group.ID)[0].ID})
		r.bot.Post(telegramtest.Post{Chat: group.ID, From: bob.ID, Text: "to Ada", ReplyTo: r.bot.Messages(group.ID)[0].ID})
		r.expect(group.ID, append(answers, "heard: two")...)
		r.expect(closed.ID)
	})
	t.Run("a reminder in a group", func(t *testing.T) {
		r := r.in(t)
		asked := r.bot.SayIn(late.ID, ada.ID, "/remind@"+strings.TrimPrefix(name, "@")+" in 2 seconds look at the oven")
		r.await("the reminder comes", 20*time.Second, func() bool {
			said := r.bot.FromBot(late.ID)
			return len(said) > 1 && said[len(said)-1].ReplyTo != nil && said[len(said)-1].ReplyTo.ID == asked.ID &&
				strings.HasPrefix(said[len(said)-1].Text, "Reminder for Ada: look at the oven")
		})
	})
	t.Run("topics", func(t *testing.T) {
		r := r.in(t)
		topic := r.bot.AddTopic(forum.ID, "Ideas")
		release := r.mind.hold(t, whilePlanning, "slow")
		r.bot.Post(telegramtest.Post{Chat: forum.ID, From: ada.ID, Thread: topic, Text: name + " slow"})
		r.await("the topic's turn runs", 10*time.Second, r.mind.thinks(whilePlanning, "slow"))
		r.bot.SayIn(forum.ID, ada.ID, name+" quick") // it does not wait for the topic
		r.await("the other place is answered", 10*time.Second, func() bool { return len(r.answers(forum.ID)) == 1 })
		release()
		r.expect(forum.ID, "heard: quick", "heard: slow")
		shown := r.bot.FromBot(forum.ID)
		if len(shown) == 2 && (shown[0].IsTopicMessage || shown[1].ThreadID != topic || !shown[1].IsTopicMessage) {
			t.Errorf("in other places: %+v", shown)
		}
	})
	t.Run("a group becomes a supergroup while an answer waits", func(t *testing.T) {
		r := r.in(t)
		release := r.mind.hold(t, whilePlanning, "move me")
		r.bot.SayIn(moving.ID, ada.ID, name+" move me")
		r.await("the turn runs", 10*time.Second, r.mind.thinks(whilePlanning, "move me"))
		now := r.bot.Migrate(moving.ID)
		r.taken()
		release()
		r.expect(now.ID, "heard: move me")
		r.bot.SayIn(now.ID, ada.ID, name+" still allowed")
		r.expect(now.ID, "heard: move me", "heard: still allowed")
		r.expect(moving.ID)
	})
	t.Run("the bot is blocked", func(t *testing.T) {
		r := r.in(t)
		before := r.answers(r.chief.ID)
		release := r.mind.hold(t, whilePlanning, "goodbye")
		r.bot.Say(bob.ID, "goodbye")
		r.bot.Say(bob.ID, "and more")
		r.await("the turn runs", 10*time.Second, r.mind.thinks(whilePlanning, "goodbye"))
		r.bot.Block(bob.ID, true)
		r.taken()
		release()
		r.await("the admin is told", 10*time.Second, func() bool { return len(r.answers(r.chief.ID)) > len(before) })
		r.settle()
		told := r.answers(r.chief.ID)[len(before):]
		if len(told) != 1 || !strings.Contains(told[0], "I cannot write to") {
			t.Errorf("the admin reads %q", told)
		}
		if n := r.count("SELECT count(*) FROM deliveries WHERE state = 'dropped'"); n == 0 {
			t.Error("nothing was dropped")
		}
		r.bot.Block(bob.ID, false)
		r.bot.Say(bob.ID, "I am back")
		r.expect(bob.ID, "heard: I am back")
	})
	var now telegramtest.Chat
	t.Run("only a refused send says that a group moved", func(t *testing.T) {
		r := r.in(t)
		release := r.mind.hold(t, whilePlanning, "late")
		r.bot.SayIn(late.ID, ada.ID, name+" late")
		r.await("the turn runs", 10*time.Second, r.mind.thinks(whilePlanning, "late"))
		r.taken()
		r.bot.Deaf(true)
		now = r.bot.Migrate(late.ID)
		release()
		r.await("the answer is there", 10*time.Second, func() bool { return len(r.answers(now.ID)) == 1 })
		r.bot.Deaf(false)
	})
	r.menus(ada)
	r.bot.SayIn(now.ID, ada.ID, name+" moved")
	r.expect(now.ID, "heard: late", "heard: moved")
}

// menus looks at the menus, and that a restart sets none again.
func (r *telegramRig) menus(ada telegramtest.User) {
	asked := func() int { return len(r.bot.Calls("getMyCommands")) }
	const sets = 15 // five languages for people, groups and the admin
	r.await("the menus are set", 10*time.Second, func() bool { return r.bot.Menus() >= sets && asked() >= sets })
	about := func(user int64) string {
		for _, c := range r.bot.Menu(user, user) {
			if c.Command == "cancel" {
				return c.Description
			}
		}
		return ""
	}
	r.bot.SetLanguage(ada.ID, "de")
	if got := about(ada.ID); got != "abbrechen, was ich für dich tue" {
		r.t.Errorf("somebody reads %q", got)
	}
	if got := about(r.chief.ID); got != "stop what I am doing here, for anybody" {
		r.t.Errorf("an admin reads %q", got)
	}
	set := len(r.bot.Calls("setMyCommands"))
	if set != sets {
		r.t.Errorf("set %d times, want %d", set, sets)
	}
	r.stop(20 * time.Second)
	before := asked()
	r.up()
	r.await("the menus are looked at", 10*time.Second, func() bool { return asked() >= before+sets })
	r.await("it is connected", 10*time.Second, func() bool { return r.statuses()["telegram"].State == channels.StateConnected })
	if n := len(r.bot.Calls("setMyCommands")); n != set {
		r.t.Errorf("after a restart %d menus are set again", n-set)
	}
}
