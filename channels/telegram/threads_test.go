package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/telegram/telegramtest"
)

// Each update says by itself whether it is meant for the bot: what names it or replies to it, in a group as in a topic,
// also where all of it comes in one batch to another process. What follows a mention in a topic is not.
func TestMentionsAndRepliesOfOneBatchAreMeant(t *testing.T) {
	t.Parallel()
	for _, forum := range []bool{false, true} {
		t.Run(fmt.Sprintf("topic %t", forum), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			where := telegramtest.Post{From: r.ada.ID}
			if forum {
				where.Chat = r.AddForum("Engines", r.ada).ID
				where.Thread = r.AddTopic(where.Chat, "Analytical")
			} else {
				where.Chat = r.AddSupergroup("Engines", r.ada).ID
			}
			say := func(text string, replyTo int64) int64 {
				p := where
				p.Text, p.ReplyTo = text, replyTo
				return r.Post(p)[0].ID
			}
			named := "@" + r.Bot().User.Username
			r.run(t)
			say(named+" one", 0)
			// The first event says that the bot joined.
			out := outbound(r.Took(t, 2)[1].Conversation, "an answer")
			if _, err := r.c.Send(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			answer := r.FromBot(where.Chat)[0].ID
			r.settled(t)
			if err := r.Halt(t); err != nil {
				t.Fatal(err)
			}
			question := say(named+" two, meant", 0)
			say("three", question)
			say("four, meant", answer)
			say("five", 0)
			r.c = client(r.URL(), r.Token())
			t.Cleanup(r.c.Wire.Close)
			r.run(t)
			events := r.Took(t, 6)[2:]
			for _, e := range events {
				if want := strings.HasSuffix(e.Message.Text, "meant"); e.Message.Mentioned != want {
					t.Errorf("%q is meant for it: %t", e.Message.Text, !want)
				}
				if topic := e.Conversation.Kind == channels.Thread; topic != forum || e.Conversation.ID != out.Conversation.ID {
					t.Errorf("%q comes from %+v", e.Message.Text, e.Conversation)
				}
			}
			if got := r.texts()[2:]; !slices.Equal(got, []string{"two, meant", "three", "four, meant", "five"}) {
				t.Errorf("%q came", got)
			}
		})
	}
}
