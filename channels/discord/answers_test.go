package discord

import (
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/discord/discordtest"
)

// Where the bot may not begin a thread, or not write in it, a mention is answered as a reply to it, and what is shown
// there is changed and found.
func TestMentionIsAnsweredByAReplyWhereNoThreadCanBegin(t *testing.T) {
	t.Parallel()
	for name, denied := range map[string]uint64{"may not begin": discordtest.CreateThreads, "may not write": discordtest.SendInThreads} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.c.cfg.ReplyIn = InThread
			r.run(t)
			r.Deny(r.general, denied)
			asked := r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
			e := r.Took(t, 1)[0]
			out := outbound(e.Conversation, "It is…")
			out.ReplyTo, out.FirstTry = e.Message.ID, time.Now()
			id, err := r.c.Draft(t.Context(), "", out)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range []string{"Half past nine.", "Half past ten."} {
				if i == 1 { // another process knows nothing of the thread
					r.c = client(t, r.APIURL(), r.Token())
				}
				out.Body.Text = text
				if err := r.c.Edit(t.Context(), e.Conversation, id, out.Body); err != nil {
					t.Error(err)
				}
				if found, ok, err := r.c.Find(t.Context(), out); err != nil || !ok || found != id {
					t.Errorf("it is found as %q: %t, %v", found, ok, err)
				}
			}
			if shown := r.FromBot(r.general); len(shown) != 1 || shown[0].Reference == nil || shown[0].Reference.MessageID != asked.ID || !strings.HasPrefix(shown[0].Content, "Half past") {
				t.Errorf("shown %+v", shown)
			}
			r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> and in an hour?")
			other := out
			other.Conversation = r.Took(t, 2)[1].Conversation
			if found, ok, err := r.c.Find(t.Context(), other); err != nil || ok {
				t.Errorf("the answer to another question is found as %q, %v", found, err)
			}
			out.Nonce, out.Body.Text = "n2", "More."
			r.send(t, out)
			if n := len(r.FromBot(r.general)); n != 2 {
				t.Errorf("%d messages are shown", n)
			}
		})
	}
}

// A thread that is another's own is never answered outside it.
func TestThreadsOfOthersAreNotAnsweredOutside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	thread := r.AddThread(r.general, "private").ID
	r.Deny(thread, discordtest.SendInThreads)
	where := channels.Conversation{Channel: "dc", ID: channels.ConversationID(thread), Kind: channels.Thread, Place: r.general}
	if _, err := r.c.Send(t.Context(), outbound(where, "a secret")); err == nil || len(r.FromBot(r.general)) != 0 {
		t.Errorf("%v; %d messages around it", err, len(r.FromBot(r.general)))
	}
}

// Who is answered is notified, also where the answer was shown while it grew.
func TestAnswersThatGrewNotify(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	asked := r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
	for _, where := range []channels.Conversation{r.direct(), conv(r.general, channels.Group)} {
		out := outbound(where, "It is…")
		out.Nonce = string(where.ID)
		if where.Kind == channels.Group {
			out.ReplyTo = channels.MessageID(asked.ID)
		}
		id, err := r.c.Draft(t.Context(), "", out)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.c.Edit(t.Context(), where, id, channels.Body{Text: "Half past nine."}); err != nil {
			t.Fatal(err)
		}
		if !r.Rang(string(id)) {
			t.Errorf("nobody is notified in %+v", where)
		}
	}
}

// A command that nobody takes is acknowledged, or its giver is shown that the bot failed; nothing is told.
func TestCommandsOfStrangersAreAcknowledged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.cfg.Guilds = []string{"1"}
	r.run(t)
	r.Sink.Silent(true)
	for _, place := range []string{r.direct().Place, r.general} { // from a stranger; in a guild that is not served
		given := r.Give(place, r.ada.ID, "help", "")
		r.until(t, func() bool { return len(r.Answers(given)) == 1 })
		if a := r.Answers(given)[0]; a.Type != 4 || a.Data.Flags&64 == 0 || a.Data.Content != textMute {
			t.Errorf("answered %+v", a)
		}
	}
}
