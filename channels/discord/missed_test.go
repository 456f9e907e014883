package discord

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
)

// A direct chat that nobody knows of was told in a session that is gone. What is noted of the next
// session says so: one that resumes it, or one after that, reads what was missed there, too.
func TestMissedMessageOfAnUnknownChatOutlivesSessions(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"resumed": false, "begun again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			bob := r.AddUser("Bob")
			restart := func(n int, gone bool) {
				t.Helper()
				r.Took(t, n)
				r.halt(t)
				if n == 1 {
					r.Say(bob.ID, "bob 1")
				}
				if gone {
					r.Forget()
				}
				r.c = client(t, r.APIURL(), r.Token())
				r.run(t)
			}
			r.run(t)
			r.Say(r.ada.ID, "one")
			restart(1, true)
			r.Say(r.ada.ID, "two")
			restart(2, gone)
			r.Say(bob.ID, "bob 2")
			r.Took(t, 4)
			if diff := cmp.Diff([]string{"one", "two", "bob 1", "bob 2"}, r.Sink.Texts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A process that resumes the session of another one, with history owed, was told of no channels, and history does not
// say in which guild it is: the platform is asked, and a channel is never taken for a direct chat.
func TestHistoryOfAnUnknownPlaceIsNoDirectChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t)
	r.SayIn(r.general, r.ada.ID, "one")
	r.Say(r.ada.ID, "direct one")
	r.Took(t, 2)
	r.halt(t)
	r.SayIn(r.general, r.ada.ID, "two")
	r.Say(r.ada.ID, "direct two")
	r.Forget()
	r.c = client(t, r.APIURL(), r.Token())
	bad := func(c platformtest.Call) bool { return c.Values["channel"] == r.general }
	r.Break(discordtest.Fault{Method: discordtest.GetMessages, Times: -1, Status: 502, Body: "<html>", When: bad})
	r.run(t)
	r.Took(t, 3) // what is noted with it says that history is owed
	r.halt(t)
	r.Mend()
	r.Break(discordtest.Fault{Method: discordtest.GetChannel, Times: 1, Status: 502, Body: "<html>"})
	r.c = client(t, r.APIURL(), r.Token())
	r.run(t)
	for _, e := range r.Took(t, 4) {
		direct := slices.Contains([]string{"direct one", "direct two"}, e.Message.Text)
		if c := e.Conversation; direct != (c.Kind == channels.Direct) || !direct && c.Within != r.guild {
			t.Errorf("%q came from %+v", e.Message.Text, c)
		}
	}
	if r.Resumes() != 1 || r.Identifies() != 2 {
		t.Errorf("%d resumed, %d begun", r.Resumes(), r.Identifies())
	}
}

// A direct chat whose history cannot be read is taken up after a while, and what was missed comes when it can be read,
// be it to another process.
func TestDirectChatWhoseHistoryFailsIsTakenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   discordtest.Fault
		restart bool
	}{
		"answers 502":                  {discordtest.Fault{Status: 502, Body: "<html>"}, false},
		"answers 502, and a restart":   {discordtest.Fault{Status: 502, Body: "<html>"}, true},
		"is limited for an hour":       {discordtest.Fault{Rejected: discordtest.TooMany(time.Hour, false)}, false},
		"never answers, and a restart": {discordtest.Fault{Silent: true}, true},
		"is cut off":                   {discordtest.Fault{Cut: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.run(t)
			r.Say(r.ada.ID, "one")
			r.Took(t, 1)
			r.halt(t)
			r.Say(r.ada.ID, "two")
			r.Forget()
			hurry := func() {
				r.c = client(t, r.APIURL(), r.Token())
				r.c.pace.history, r.c.pace.page = 300*time.Millisecond, 100*time.Millisecond
			}
			hurry()
			c.fault.Times = -1
			if c.fault.Method == "" {
				c.fault.Method = discordtest.GetMessages
			}
			r.Break(c.fault)
			r.run(t)
			began := time.Now()
			r.Say(r.ada.ID, "three")
			r.Took(t, 2)
			if waited := time.Since(began); waited < 300*time.Millisecond {
				t.Errorf("it waited %s for what comes before it", waited)
			}
			if c.restart {
				r.until(t, func() bool { return r.Unacknowledged() == 0 })
				r.halt(t)
				r.Forget()
				hurry()
			}
			r.Mend()
			if c.restart {
				r.run(t)
			}
			r.Took(t, 3)
			if diff := cmp.Diff([]string{"one", "three", "two"}, r.Sink.Texts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
