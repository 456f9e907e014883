package platforms_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/intake"
)

// The places of a bot: direct chats, groups, topics, and what becomes of them.
func TestTelegramServesEachKindOfPlace(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	ada, bob := r.Bot.AddUser("Ada"), r.Bot.AddUser("Bob")
	group, forum := r.Bot.AddGroup("Engines", ada, bob), r.Bot.AddForum("Forum", ada)
	moving, closed := r.Bot.AddGroup("Moving", ada), r.Bot.AddGroup("Closed", ada)
	late := r.Bot.AddGroup("Late", ada)
	name := "@" + r.Bot.Bot().User.Username
	r.Admit("user", ada, bob)
	r.Channel("telegram", r.Bot, r.Bot.Token(), fmt.Sprintf("allow_conversations = [\"%d\", \"%d\", \"%d\", \"%d\"]", group.ID, forum.ID, moving.ID, late.ID))

	r.RanBefore()
	// What waits before the start comes in one batch.
	r.Bot.Say(r.Chief.ID, "first")
	r.Bot.Inject(`{"update_id":UPDATE_ID,"message":{"message_id":"poison","chat":[7]}}`)
	r.Bot.Inject(`{"update_id":UPDATE_ID,"message":{"message_id":7000,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"N"},"text":"a\u0000b"}}`)
	r.Bot.Say(r.Chief.ID, "last")
	r.Up()
	t.Run("a poisoned update in a batch", func(t *testing.T) {
		r := r.In(t)
		r.Expect(r.Chief.ID, "heard: first", "heard: last")
		kept := programtest.List[[]intake.Rejected](r.Rig, "channel", "rejected", "--json")
		// The text with NUL in it can be read, and is a stranger's.
		if len(kept) != 1 || kept[0].Channel != "telegram" || kept[0].Reason == "" || !strings.Contains(kept[0].Raw, "poison") {
			t.Errorf("kept as rejected: %+v, want the first update as it came", kept)
		}
	})
	t.Run("a group", func(t *testing.T) {
		r := r.In(t)
		say := func(text string) { r.Bot.SayIn(group.ID, ada.ID, text) }
		say("nobody is meant")
		say(name + " one")
		r.Expect(group.ID, "heard: one")
		say("/status@somebody_else_bot")
		say("/whoami" + name)
		r.Bot.SayIn(closed.ID, ada.ID, name+" not here")
		r.Settle()
		answers := r.Answers(group.ID)
		if len(answers) != 2 || answers[0] != "heard: one" || !strings.Contains(answers[1], "Ada") {
			t.Fatalf("the group shows %q", answers)
		}
		r.Bot.Post(telegramtest.Post{Chat: group.ID, From: bob.ID, Text: "two", ReplyTo: r.Bot.FromBot(group.ID)[0].ID})
		r.Bot.Post(telegramtest.Post{Chat: group.ID, From: bob.ID, Text: "to Ada", ReplyTo: r.Bot.Messages(group.ID)[0].ID})
		r.Expect(group.ID, append(answers, "heard: two")...)
		r.Expect(closed.ID)
	})
	t.Run("a reminder in a group", func(t *testing.T) {
		r := r.In(t)
		asked := r.Bot.SayIn(late.ID, ada.ID, "/remind@"+strings.TrimPrefix(name, "@")+" in 2 seconds look at the oven")
		r.Await("the reminder comes", 20*time.Second, func() bool {
			said := r.Bot.FromBot(late.ID)
			return len(said) > 1 && said[len(said)-1].ReplyTo != nil && said[len(said)-1].ReplyTo.ID == asked.ID &&
				strings.HasPrefix(said[len(said)-1].Text, "Reminder for Ada: look at the oven")
		})
	})
	t.Run("topics", func(t *testing.T) {
		r := r.In(t)
		topic := r.Bot.AddTopic(forum.ID, "Ideas")
		release := r.Slow.Hold(t, programtest.WhilePlanning, "slow")
		r.Bot.Post(telegramtest.Post{Chat: forum.ID, From: ada.ID, Thread: topic, Text: name + " slow"})
		r.Await("the topic's turn runs", 10*time.Second, r.Slow.Thinks(programtest.WhilePlanning, "slow"))
		r.Bot.SayIn(forum.ID, ada.ID, name+" quick") // it does not wait for the topic
		r.Await("the other place is answered", 10*time.Second, func() bool { return len(r.Answers(forum.ID)) == 1 })
		release()
		r.Expect(forum.ID, "heard: quick", "heard: slow")
		shown := r.Bot.FromBot(forum.ID)
		if len(shown) == 2 && (shown[0].IsTopicMessage || shown[1].ThreadID != topic || !shown[1].IsTopicMessage) {
			t.Errorf("in other places: %+v", shown)
		}
	})
	t.Run("a group becomes a supergroup while an answer waits", func(t *testing.T) {
		r := r.In(t)
		release := r.Slow.Hold(t, programtest.WhilePlanning, "move me")
		r.Bot.SayIn(moving.ID, ada.ID, name+" move me")
		r.Await("the turn runs", 10*time.Second, r.Slow.Thinks(programtest.WhilePlanning, "move me"))
		now := r.Bot.Migrate(moving.ID)
		r.Taken()
		release()
		r.Expect(now.ID, "heard: move me")
		r.Bot.SayIn(now.ID, ada.ID, name+" still allowed")
		r.Expect(now.ID, "heard: move me", "heard: still allowed")
		r.Expect(moving.ID)
	})
	t.Run("the bot is blocked", func(t *testing.T) {
		r := r.In(t)
		before := r.Answers(r.Chief.ID)
		release := r.Slow.Hold(t, programtest.WhilePlanning, "goodbye")
		r.Bot.Say(bob.ID, "goodbye")
		r.Bot.Say(bob.ID, "and more")
		r.Await("the turn runs", 10*time.Second, r.Slow.Thinks(programtest.WhilePlanning, "goodbye"))
		r.Bot.Block(bob.ID, true)
		r.Taken()
		release()
		r.Await("the admin is told", 10*time.Second, func() bool { return len(r.Answers(r.Chief.ID)) > len(before) })
		r.Settle()
		told := r.Answers(r.Chief.ID)[len(before):]
		if len(told) != 1 || !strings.Contains(told[0], "I cannot write to") {
			t.Errorf("the admin reads %q", told)
		}
		if n := r.Count("SELECT count(*) FROM deliveries WHERE state = 'dropped'"); n == 0 {
			t.Error("nothing was dropped")
		}
		r.Bot.Block(bob.ID, false)
		r.Bot.Say(bob.ID, "I am back")
		r.Expect(bob.ID, "heard: I am back")
	})
	var now telegramtest.Chat
	t.Run("only a refused send says that a group moved", func(t *testing.T) {
		r := r.In(t)
		release := r.Slow.Hold(t, programtest.WhilePlanning, "late")
		r.Bot.SayIn(late.ID, ada.ID, name+" late")
		r.Await("the turn runs", 10*time.Second, r.Slow.Thinks(programtest.WhilePlanning, "late"))
		r.Taken()
		r.Bot.Deaf(true)
		now = r.Bot.Migrate(late.ID)
		release()
		r.Await("the answer is there", 10*time.Second, func() bool { return len(r.Answers(now.ID)) == 1 })
		r.Bot.Deaf(false)
	})
	menus(r, ada)
	r.Bot.SayIn(now.ID, ada.ID, name+" moved")
	r.Expect(now.ID, "heard: late", "heard: moved")
}

// menus looks at the menus, and that a restart sets none again.
func menus(r *programtest.TelegramRig, ada telegramtest.User) {
	asked := func() int { return len(r.Bot.Calls("getMyCommands")) }
	const sets = 15 // five languages for people, groups and the admin
	r.Await("the menus are set", 10*time.Second, func() bool { return r.Bot.Menus() >= sets && asked() >= sets })
	about := func(user int64) string {
		for _, c := range r.Bot.Menu(user, user) {
			if c.Command == "cancel" {
				return c.Description
			}
		}
		return ""
	}
	r.Bot.SetLanguage(ada.ID, "de")
	if got := about(ada.ID); got != "abbrechen, was ich für dich tue" {
		r.T.Errorf("somebody reads %q", got)
	}
	if got := about(r.Chief.ID); got != "stop what I am doing here, whoever asked for it" {
		r.T.Errorf("an admin reads %q", got)
	}
	set := len(r.Bot.Calls("setMyCommands"))
	if set != sets {
		r.T.Errorf("set %d times, want %d", set, sets)
	}
	r.Stop(20 * time.Second)
	before := asked()
	r.Up()
	r.Await("the menus are looked at", 10*time.Second, func() bool { return asked() >= before+sets })
	r.Await("it is connected", 10*time.Second, func() bool { return r.Statuses()["telegram"].State == channels.StateConnected })
	if n := len(r.Bot.Calls("setMyCommands")); n != set {
		r.T.Errorf("after a restart %d menus are set again", n-set)
	}
}
