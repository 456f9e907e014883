package people_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/internal/testkit"
	"switchboard/router"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

// The operator learns once how a stranger is called; nobody else learns anything.
func TestStrangersAreLoggedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, storetest.SQLite(t))
	log := &testkit.Log{}
	r.Log = log
	r.Start()
	for range 3 {
		r.Platform.Say("c9", "mallory", "let me in")
	}
	r.Platform.Write(scripted.Message{Conversation: "g9", Kind: "group", User: "mallory", Text: "hey bot", Mentioned: true})
	r.Platform.Write(scripted.Message{Conversation: "g9", Kind: "group", User: "trent", Text: "talk among people"})
	r.Platform.Write(scripted.Message{Conversation: "g9", Kind: "group", User: "ada", Text: "hey bot", Mentioned: true})
	r.Until("all is taken", func() bool { return r.Platform.Pending() == 0 })
	r.End()
	if n := log.Count("a stranger wrote", "scripted:mallory", "kind=direct"); n != 1 {
		t.Errorf("the direct chat is logged %d times", n)
	}
	if n := log.Count("a stranger wrote", "scripted:mallory", "conversation=g9"); n != 1 {
		t.Errorf("the group is logged %d times", n)
	}
	if n := log.Count("a stranger wrote", "kind=direct", "setting=\"the identity is not in [[people]]\""); n != 1 {
		t.Error("what would let the stranger in is not said")
	}
	if n := log.Count("a stranger wrote", "kind=direct", "add_to_people=\"identities = ['scripted:mallory']\""); n != 1 {
		t.Error("the line to copy is not there")
	}
	if n := log.Count("add_to_channel=\"allow_conversations = ['g9']\""); n != 2 {
		t.Errorf("the line that lets the group in is there %d times", n)
	}
	if n := log.Count("a stranger wrote", "kind=group", "not in [[people]], and this conversation is not in allow_conversations of [channels.play]"); n != 1 {
		t.Error("what would let the stranger in is not said of the group")
	}
	if n := log.Count("scripted:ada"); n != 1 || log.Count("somebody known", "person=ada", "setting=\"this conversation is not in allow_conversations of [channels.play]\"") != 1 {
		t.Errorf("somebody known in a group that is not allowed is logged %d times", n)
	}
	if n := log.Count("a stranger wrote", "trent"); n != 0 {
		t.Error("who did not mean the bot is logged")
	}
	if sent := r.Platform.Sent(); len(sent) != 0 {
		t.Errorf("a stranger reads %+v", sent)
	}
}

// A message that nobody answers is no reason to look for something to send: a flood of
// strangers would be a flood of looks.
func TestStrangersCauseNoLook(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		looks := looking{of: new(atomic.Int32)}
		r.Store = func(l router.Store) router.Store { looks.Store = l; return looks }
		r.Start()
		for i := range 50 {
			r.Platform.Say(fmt.Sprint("cs", i), fmt.Sprint("s", i), "buy this")
		}
		r.Platform.Say("c1", "ada", "hello")
		r.Await(1)
		r.Until("all is taken in", func() bool { return r.Platform.Pending() == 0 })
		r.SettledAs("sent", 1)
		if n := looks.of.Load(); n != 0 {
			t.Errorf("%d looks for something to send to strangers", n)
		}
	})
}

// A looking ledger counts the looks at conversations of strangers.
type looking struct {
	router.Store
	of *atomic.Int32
}

func (l looking) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (*outbox.Delivery, time.Time, error) {
	if strings.HasPrefix(string(conv.ID), "cs") {
		l.of.Add(1)
	}
	return l.Store.Begin(ctx, hold, conv)
}
