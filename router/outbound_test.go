package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/routertest"
)

func TestChoicesAreButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.Buttons, r.Script.MaxText = true, true, 100
		r.Agent = routertest.Asks(strings.Repeat("Which of these? ", 10), "tea", "coffee")
		r.Start()
		r.Platform.Say("c1", "ada", "ask")
		sent := r.Await(2)
		last := sent[len(sent)-1]
		if len(sent[0].Buttons) != 0 || len(last.Buttons) != 2 || last.Buttons[1].Label != "coffee" {
			t.Fatalf("sent %+v", sent)
		}
		if a, b := last.Buttons[0].Code, last.Buttons[1].Code; a == b || len(a) > 64 || len(a) < 20 {
			t.Errorf("codes %q and %q", a, b)
		}
		if strings.Contains(last.Text, "1. tea") {
			t.Errorf("numbered as well: %q", last.Text)
		}
		r.Platform.Press("c1", "ada", "coffee")
		r.Until("the choice is answered", func() bool {
			return slices.Contains(routertest.Texts(r.Platform.Sent()), "re: coffee")
		})
		r.Until("the buttons are gone", func() bool {
			return !slices.ContainsFunc(r.Platform.Sent(), func(s channelstest.Sent) bool { return len(s.Buttons) > 0 })
		})
	})
}

// Somebody presses a button before the database knows under which ID it is shown.
func TestPressBeforeTheSendIsNoted(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich, r.Script.Buttons = true, true
		r.Agent = routertest.Asks("Which of these?", "tea", "coffee")
		r.Store = func(l router.Store) router.Store {
			return lateSettle{l, func(d *outbox.Delivery) {
				if len(d.Body.Buttons) > 0 {
					r.Platform.Press("c1", "ada", "coffee")
					r.Until("the choice is taken", func() bool { return len(r.Turns()) == 2 })
				}
			}}
		}
		r.Start()
		r.Platform.Say("c1", "ada", "ask")
		r.Until("the choice is answered", func() bool {
			return slices.Contains(routertest.Texts(r.Platform.Sent()), "re: coffee")
		})
		r.Until("the buttons are gone", func() bool {
			return !slices.ContainsFunc(r.Platform.Sent(), func(s channelstest.Sent) bool { return len(s.Buttons) > 0 })
		})
	})
}

// lateSettle calls before what is done before a delivery is settled.
type lateSettle struct {
	router.Store
	before func(*outbox.Delivery)
}

func (l lateSettle) Settle(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, s outbox.Settlement) (bool, error) {
	l.before(d)
	return l.Store.Settle(ctx, hold, d, s)
}

func TestChoicesAreNumbersWhereThereAreNoButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Agent = routertest.Asks("Which?", "tea", "coffee")
		r.Start()
		r.Platform.Say("c1", "ada", "ask")
		if sent := r.Await(1); sent[0].Text != "Which?\n\n1. tea\n2. coffee" || len(sent[0].Buttons) != 0 {
			t.Fatalf("sent %+v", sent)
		}
		r.Platform.Say("c1", "ada", "2")
		r.Shows(2, "re: coffee")
	})
}

func TestFilesGoAlong(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Files = 2
		r.Files = routertest.Shelf{"1": "one", "2": "two", "3": "three"}
		r.Brain.Think = func(context.Context, agent.Turn) (string, error) {
			return "Here: [first](attachment:1), ![second](attachment:2), [third](attachment:3), [fourth](attachment:4) and [again](attachment:1).", nil
		}
		r.Start()
		r.Platform.Say("c1", "ada", "files")
		sent := r.Await(3)
		if want := "Here: first, second, third, fourth (file not available) and again."; sent[0].Text != want {
			t.Errorf("text %q, want %q", sent[0].Text, want)
		}
		var got []string
		for _, s := range sent[1:] {
			names := fmt.Sprint(len(s.Text))
			for _, f := range s.Files {
				names += " " + f.Name + "=" + string(f.Data)
			}
			got = append(got, names)
		}
		if want := []string{"0 1.txt=one 2.txt=two", "0 3.txt=three"}; !slices.Equal(got, want) {
			t.Errorf("files %q, want %q", got, want)
		}
	})
}

func TestFilesWhereNoneCanBeSentAreNamed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Files = routertest.Shelf{"1": "one"}
		r.Brain.Think = func(context.Context, agent.Turn) (string, error) { return "[it](attachment:1)", nil }
		r.Start()
		r.Platform.Say("c1", "ada", "files")
		r.Shows(1, "it (1.txt)")
	})
}

func TestAdminsAreNotifiedOnceOfAClosedConversation(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich = true
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			return channelstest.Fault{Gone: p.Conversation == "bobs" || p.Conversation == "closed"}
		})
		r.Start()
		r.Platform.Say("adas", "ada", "hello")
		r.Await(1)
		for i := range 3 {
			r.Platform.Say("bobs", "bob", fmt.Sprint("anybody there ", i))
			r.Until("it is dropped", func() bool { return len(r.Deliveries("dropped")) == i+1 })
			r.Await(2 + i) // each message of bob's opens it again
		}
		time.Sleep(100 * time.Millisecond)
		sent := r.Platform.Sent()
		if len(sent) != 4 {
			t.Errorf("sent %q", routertest.Texts(sent))
		}
		for _, s := range sent[1:] {
			if s.Conversation != "adas" || !strings.Contains(s.Text, "cannot write to bobs on play") {
				t.Errorf("told %q in %s", s.Text, s.Conversation)
			}
		}

		// An admin's own chat is closed: nobody is told, and no alert about the alert.
		r.Platform.Say("closed", "ada", "me too")
		r.Until("it is dropped", func() bool { return len(r.Deliveries("dropped")) == 4 })
		r.End() // what is to be told is stored then
		for _, d := range r.Deliveries("") {
			if strings.Contains(d.Text, "cannot write to closed") {
				t.Errorf("told in %s: %q", d.Conversation, d.Text)
			}
		}
	})
}

func TestAdminsAreNotifiedOnceOfAFullDisk(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		files := r.Filed()
		files.Room = func(context.Context) error { return errors.New("the disk is nearly full") }
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			if turn.Message.Text != "hello" {
				r.Router.Connections.Notify(ctx, outbox.NoticeDisk, "disk", "Please make room.")
			}
			_, err := files.Publish(ctx, tools.Session{ID: turn.Session.Key}, "x", tools.Clean, strings.NewReader("x"))
			return fmt.Sprint(err), nil
		}
		r.Start()
		r.Platform.Say("adas", "ada", "hello")
		r.Mentions(1, "the disk is nearly full")
		for i := range 2 {
			r.Platform.Say("bobs", "bob", fmt.Sprint("anybody there ", i))
			r.Await(3 + i)
		}
		told := 0
		for _, d := range r.Deliveries("") {
			if strings.Contains(d.Text, "make room") {
				told++
				if d.Conversation != "adas" {
					t.Errorf("told in %s", d.Conversation)
				}
			}
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
}

// Several parts on their way to a closed conversation are one piece of news.
func TestPartsOfAClosedConversationAreDropped(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.MaxText = 60
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			return channelstest.Fault{Gone: p.Conversation == "bobs"}
		})
		r.Start()
		r.Platform.Say("adas", "ada", "hello")
		r.Await(1)
		r.Platform.Say("bobs", "bob", strings.Repeat("many words ", 30))
		r.Until("all is dropped", func() bool { return len(r.Deliveries("dropped")) >= 5 && len(r.Deliveries("pending")) == 0 })
		r.Until("ada is told", func() bool { return len(r.Platform.SentIn("adas")) > 1 })
		tries := 0
		for _, p := range r.Platform.Tries() {
			if p.Conversation == "bobs" {
				tries++
			}
		}
		if tries != 1 {
			t.Errorf("%d tries to send to a closed conversation", tries)
		}
	})
}

// A send that finds that the conversation moved is made again under its new ID.
func TestMovedConversationGetsWhatWasOnItsWay(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.AllowConversations = []string{"g", "g2"}
		r.Channel.RequireMention = false
		moved := make(chan struct{})
		r.Platform.OnSend(func(p scripted.Post) channelstest.Fault {
			if p.Conversation != "g" {
				return channelstest.Fault{}
			}
			select {
			case <-moved:
			default:
				close(moved)
			}
			return channelstest.Fault{Moved: true}
		})
		r.Start()
		r.Platform.Write(scripted.Message{Conversation: "g", Kind: "group", User: "ada", Text: "hello"})
		<-moved
		r.Platform.Move("g", "g2")
		if sent := r.Await(1); sent[0].Conversation != "g2" || sent[0].Text != "re: hello" {
			t.Errorf("sent %+v", sent)
		}
	})
}

// A turn that began before its conversation moved is answered where it is now.
func TestTurnOutlivesTheMoveOfItsConversation(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.AllowConversations = []string{"g", "g2"}
		r.Channel.RequireMention = false
		release := r.Brain.Held("hello")
		r.Start()
		r.Platform.Write(scripted.Message{Conversation: "g", Kind: "group", User: "ada", Text: "hello"})
		r.Until("it runs", func() bool { return r.Brain.Ran("hello") == 1 })
		r.Platform.Move("g", "g2")
		r.Until("the move is taken", func() bool { return r.Platform.Pending() == 0 })
		release()
		if sent := r.Await(1); sent[0].Conversation != "g2" {
			t.Errorf("sent %+v", sent)
		}
	})
}

func TestMenuIsSetForEachPlaceAndLanguage(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich = true
		r.Start()
		r.Until("the menu is set", func() bool { return len(r.Platform.Commands()) > 0 })
		seen := map[string]bool{}
		for _, set := range r.Platform.Commands() {
			key := fmt.Sprintf("%s/%s/%s", set.Kind, set.Sender, set.Language)
			if seen[key] || len(set.Commands) < 5 {
				t.Errorf("set %s: %+v", key, set.Commands)
			}
			seen[key] = true
			for _, c := range set.Commands {
				if c.Name == "" || c.About == "" || strings.HasPrefix(c.Name, "/") {
					t.Errorf("%s: %+v", key, c)
				}
			}
		}
		for _, key := range []string{"direct//", "direct//de", "group//", "group//fr", "direct/ada/", "direct/ada/it", "direct/ada/es"} {
			if !seen[key] {
				t.Errorf("no set %s", key)
			}
		}
		if seen["direct/bob/"] {
			t.Error("a user has an admin's menu")
		}
	})
}

// The menu of a person's own chat follows their role at once: it comes with the role, and goes with it
// or with the person.
func TestMenuFollowsRoles(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Rich = true
		r.Start()
		menus := func(when, who string, want bool) {
			t.Helper()
			r.Until(when, func() bool {
				sets := slices.DeleteFunc(r.Platform.Commands(), func(s channels.CommandSet) bool { return s.Sender != who })
				return len(sets) == len(commands.Languages) && !slices.ContainsFunc(sets, func(s channels.CommandSet) bool { return (len(s.Commands) > 0) != want })
			})
		}
		change := func(kind people.ChangeKind, role string) {
			t.Helper()
			p := core.Person{Name: "eve", Role: role, Identities: []string{"scripted:eve"}, Tools: []string{"*"}}
			if err := r.Router.Change(t.Context(), &people.Change{Kind: kind, Person: p}, people.LocalActor("owner")); err != nil {
				t.Fatal(err)
			}
		}
		menus("ada has one", "ada", true)
		change(people.ChangeAdd, core.RoleUser)
		change(people.ChangeRole, core.RoleAdmin)
		menus("eve, now an admin, has one", "eve", true)
		change(people.ChangeRole, core.RoleUser)
		menus("eve, no admin any more, has none", "eve", false)
		change(people.ChangeRole, core.RoleAdmin)
		menus("eve has one again", "eve", true)
		change(people.ChangeRemove, "")
		menus("eve, removed, has none", "eve", false)
		menus("ada keeps hers", "ada", true)
	})
}

func TestDeafPlatformIsFoundOnOneSocket(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Script.Silence = 40 * time.Second
		r.Platform.Beat(25 * time.Second)
		r.Start()
		r.Platform.Say("c1", "ada", "one")
		r.Await(1)
		time.Sleep(10*time.Minute + 10*time.Second) // between two beats, so that a poll is open
		if s := r.Router.Connections.Statuses()[0]; s.State != channels.StateConnected || s.LastEvent.IsZero() || r.Platform.MostPolls() != 1 {
			t.Fatalf("%+v", s)
		}
		r.Platform.Mute()
		r.Platform.Say("c1", "ada", "two")
		began := time.Now()
		for r.Router.Connections.Statuses()[0].State == channels.StateConnected {
			if time.Sleep(100 * time.Millisecond); time.Since(began) > time.Minute {
				t.Fatal("it is not found within a minute")
			}
		}
		if s := r.Router.Connections.Statuses()[0]; s.State != channels.StateDeaf || s.Reason == "" {
			t.Errorf("%+v", s)
		}
		r.Await(2)
		if s := r.Router.Connections.Statuses()[0]; s.State != channels.StateConnected || r.Platform.MostPolls() != 1 {
			t.Errorf("%+v, %d sockets", s, r.Platform.MostPolls())
		}
	})
}

// One engine holds the channel; the other says that it waits.
func TestChannelOfAnotherEngineWaits(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Store = func(l router.Store) router.Store { return taken{l} }
		r.Start()
		time.Sleep(5 * time.Second)
		if s := r.Router.Connections.Statuses()[0]; s.State != channels.StateWaiting || !strings.Contains(s.Reason, "another engine") || time.Since(s.Since) < 4*time.Second {
			t.Errorf("%+v", s)
		}
	})
}

// taken is a database whose channels are another engine's.
type taken struct{ router.Store }

func (taken) TakeChannel(context.Context, int64, string) (outbox.Lease, bool, error) {
	return outbox.Lease{}, false, nil
}
