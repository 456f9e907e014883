package discord

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
	"switchboard/channels/discord/discordtest"
)

// meant are the texts of events, with "" for one that nobody names the bot in, or of another thread.
func meant(events []channels.Event, thread string) (texts []string) {
	for _, e := range events {
		text := e.Message.Text
		if !e.Message.Mentioned || e.Conversation.Kind != channels.Thread || string(e.Conversation.ID) != thread {
			text = ""
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return texts
}

// A person who opens a thread at their question need not name the bot in it, whether it was there or not.
func TestThreadThatAPersonBeginsAtAMentionIsTheBots(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]struct{ away, forgotten, faults bool }{
		"live": {}, "away": {away: true}, "away for long": {away: true, forgotten: true}, "faults": {faults: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.c.cfg.ReplyIn = InThread
			r.run(t)
			r.Say(r.ada.ID, "one")
			r.Took(t, 1)
			if away.away {
				r.halt(t)
				r.c = client(t, r.APIURL(), r.Token())
				r.c.cfg.ReplyIn = InThread
			}
			if away.faults {
				r.Break(discordtest.Fault{Method: discordtest.GetMessage, Times: 1, Status: 502, Body: "<html>"})
			}
			asked := r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
			r.OpenThread(r.general, asked.ID, r.ada.ID, "time")
			r.SayIn(asked.ID, r.ada.ID, "in Rome")
			r.SayIn(asked.ID, r.ada.ID, "and in Oslo")
			if away.forgotten {
				r.Forget()
			}
			if away.away {
				r.run(t)
			}
			events := r.Took(t, 4)[1:]
			if got := meant(events, asked.ID); !slices.Equal(got, []string{"and in Oslo", "in Rome", "what time is it?"}) {
				t.Errorf("meant for it: %q of %+v", got, events)
			}
			if n := len(r.Calls(discordtest.GetMessage)); n > 2 || n > 1 && !away.faults {
				t.Errorf("the message that the thread begins at is read %d times", n)
			}
		})
	}
}

// What people write in threads of their own is not meant for the bot, and one whose first message cannot be read keeps
// nobody waiting for long, nor for ever.
func TestThreadsOfPeopleAreTheirs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.cfg.ReplyIn = InThread
	r.c.pace.history = 3 * time.Second
	r.run(t)
	plain := r.SayIn(r.general, r.ada.ID, "lunch?")
	r.OpenThread(r.general, plain.ID, r.ada.ID, "lunch")
	r.SayIn(plain.ID, r.ada.ID, "at one")
	other := r.AddThread(r.general, "by itself").ID
	r.SayIn(other, r.ada.ID, "hello")
	for _, e := range r.Took(t, 3) {
		if e.Message.Mentioned {
			t.Errorf("%q is meant for it", e.Message.Text)
		}
	}
	r.Break(discordtest.Fault{Method: discordtest.GetMessage, Times: -1, Status: 502, Body: "<html>"})
	asked := r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
	r.OpenThread(r.general, asked.ID, r.ada.ID, "time")
	r.SayIn(asked.ID, r.ada.ID, "in Rome")
	r.Say(r.ada.ID, "direct")
	events := r.Took(t, 5)
	if got := []string{events[3].Message.Text, events[4].Message.Text}; !slices.Equal(got, []string{"what time is it?", "direct"}) {
		t.Errorf("while it cannot be read: %q", got)
	}
	if e := r.Took(t, 6)[5]; e.Message.Text != "in Rome" || e.Message.Mentioned {
		t.Errorf("after a while: %+v", e)
	}
	r.Mend()
	r.SayIn(asked.ID, r.ada.ID, "and in Oslo")
	if e := r.Took(t, 7)[6]; e.Message.Text != "and in Oslo" {
		t.Errorf("%q comes", e.Message.Text)
	}
	r.until(t, func() bool { p, _ := r.c.known.Get(numberOf([]byte(`{"id":"` + asked.ID + `"}`))); return p.named })
	r.SayIn(asked.ID, r.ada.ID, "and in Paris")
	if e := r.Took(t, 8)[7]; !e.Message.Mentioned {
		t.Error("a fault keeps the thread from the bot")
	}
}

// A process that resumes a session was told of no threads. What comes in the bot's own waits until the platform says so,
// for a while.
func TestOwnThreadThatCannotBeAskedAboutWaits(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]discordtest.Fault{
		"answers 502":   {Times: 2, Status: 502, Body: "<html>"},
		"never answers": {Times: 1, Silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.c.cfg.ReplyIn = InThread
			r.run(t)
			asked := r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
			e := r.Took(t, 1)[0]
			r.send(t, outbound(e.Conversation, "Half past nine."))
			r.Say(r.ada.ID, "thanks") // that the thread began is not told again
			r.Took(t, 2)
			r.halt(t)
			r.SayIn(asked.ID, r.ada.ID, "in Rome")
			r.c = client(t, r.APIURL(), r.Token())
			fault.Method = discordtest.GetChannel
			r.Break(fault)
			r.run(t)
			r.SayIn(asked.ID, r.ada.ID, "and in Oslo")
			r.Say(r.ada.ID, "direct")
			events := r.Took(t, 5)[1:]
			if events[1].Message.Text != "direct" {
				t.Errorf("%q comes first", events[1].Message.Text)
			}
			if got := meant(events[2:], asked.ID); !slices.Equal(got, []string{"and in Oslo", "in Rome"}) {
				t.Errorf("meant for it: %q", got)
			}
			if r.Resumes() != 1 || r.Identifies() != 1 {
				t.Errorf("%d resumed, %d begun", r.Resumes(), r.Identifies())
			}
		})
	}
}

// A reply to the bot's message is meant for it, also where it comes in one batch after the connection was lost.
func TestRepliesToTheBotAreMeantForIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
	e := r.Took(t, 1)[0]
	id := r.send(t, outbound(e.Conversation, "Half past nine."))
	r.halt(t)
	r.SayIn(r.general, r.ada.ID, "<@"+r.Bot().ID+"> and in Rome?")
	r.Post(discordtest.Post{Channel: r.general, From: r.ada.ID, Text: "sure?", ReplyTo: string(id)})
	r.SayIn(r.general, r.ada.ID, "lunch?")
	r.c = client(t, r.APIURL(), r.Token())
	r.run(t)
	for i, e := range r.Took(t, 4)[1:] {
		if e.Message.Mentioned != (i < 2) {
			t.Errorf("%q is meant for it: %t", e.Message.Text, e.Message.Mentioned)
		}
	}
}

// Without the permission to read the history nobody knows whom a thread of a person is for: what is written there comes
// at once, and it is found out when that is allowed.
func TestThreadsAreReadWhenThatIsAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newClockRig(t)
		r.c.cfg.ReplyIn = InThread
		general := r.AddChannel(r.AddGuild("Others", r.ada), "general").ID
		r.keep(t)
		time.Sleep(time.Minute)
		r.Deny(general, discordtest.ReadHistory)
		asked := r.SayIn(general, r.ada.ID, "<@"+r.Bot().ID+"> what time is it?")
		r.OpenThread(general, asked.ID, r.ada.ID, "time")
		for i, text := range []string{"in Rome", "in Oslo", "in Paris"} {
			r.SayIn(asked.ID, r.ada.ID, text)
			time.Sleep(time.Second)
			events := r.sink.Events()
			if e := events[len(events)-1]; len(events) != i+2 || e.Message.Text != text || e.Message.Mentioned != (i == 2) {
				t.Errorf("%d events, %q is meant for it: %t", len(events), e.Message.Text, e.Message.Mentioned)
			}
			if i == 1 {
				r.Deny(general, 0)
				time.Sleep(time.Minute)
			}
		}
		if n := len(r.Calls(discordtest.GetMessage)); n != 2 {
			t.Errorf("the message is read %d times", n)
		}
	})
}
