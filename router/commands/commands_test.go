package commands_test

import (
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// Commands are as fast as messages may be, but for what stops a turn, which always does;
// a flood of that is not answered one by one either.
func TestCommandsTooFastAreRefusedExceptStops(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.RatePerson = "3/h"
		release := r.Brain.Held("long")
		defer release()
		r.Start()
		r.Begins("c1", "bob", "long")
		for range 6 {
			r.Platform.Say("c1", "bob", "/help")
		}
		for _, stop := range []string{"stop", "/cancel"} {
			r.Platform.Say("c1", "bob", stop)
		}
		r.Until("it is cancelled", func() bool { return r.Turns()[0].State == "cancelled" })
		for range 9 {
			r.Platform.Say("c1", "bob", "/cancel")
		}
		r.Until("all is taken", func() bool { return r.Platform.Pending() == 0 })
		r.Until("all is sent", func() bool { return len(r.Deliveries("sent")) == len(r.Deliveries("")) })
		said := map[string]int{}
		for _, text := range routertest.Texts(r.Platform.Sent()) {
			said[text[:min(len(text), 12)]]++
		}
		if said["I plan what "] != 2 || said["That was too"] != 1 || said["Cancelled."] != 1 || said["There is not"] > 4 {
			t.Errorf("sent %v", said)
		}
	})
}

// One person's commands leave others in a group the room to be answered.
func TestCommandsWeighMoreInAGroup(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.RatePerson = "4/h"
		r.Channel.AllowConversations = []string{"g1"}
		r.Start()
		for range 6 {
			r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "bob", Text: "/help", Mentioned: true})
		}
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "hello", Mentioned: true})
		sent := routertest.Texts(r.Await(4))
		if len(sent) != 4 || !strings.HasPrefix(sent[1], "I plan") || !strings.HasPrefix(sent[2], "That was too fast") || sent[3] != "re: hello" {
			t.Errorf("sent %q", sent)
		}
	})
}

// What is not set up is told to admins, in a chat with them alone.
func TestStartTellsAdminsWhatIsMissing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Channel.AllowConversations = []string{"g1"}
		r.Start()
		r.Router.Missing = func() []string { return []string{"a model", "an admin"} }
		r.Platform.Say("c2", "bob", "/start")
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/start", Mentioned: true})
		r.Await(2)
		r.Platform.Say("c1", "ada", "/start")
		sent := routertest.Texts(r.Await(3))
		for i, text := range sent {
			if strings.Contains(text, "\n- a model\n- an admin") != (i == 2) {
				t.Errorf("answer %d is %q", i+1, text)
			}
		}
		r.Router.Missing = func() []string { return nil }
		r.Platform.Say("c1", "ada", "/start")
		if text := r.Await(4)[3].Text; strings.Contains(text, "missing") {
			t.Errorf("with nothing missing: %q", text)
		}
	})
}

// What somebody else wrote is not obeyed, and a file is not lost to a command.
func TestOnlyOwnWordsAreCommands(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.Brain.Held("long")
		defer release()
		r.Start()
		r.Begins("c1", "ada", "long")
		for _, text := range []string{"stop", "/cancel", "/reset"} {
			r.Platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: text, Forwarded: true})
		}
		r.Platform.Write(scripted.Message{
			Conversation: "c1", User: "ada", Text: "/whoami please read this",
			Attachments: []channels.Attachment{{ID: "f1", Kind: channels.Document, Name: "a.txt", Type: "text/plain", Size: 1}},
		})
		r.Until("all is taken", func() bool { return r.Platform.Pending() == 0 })
		release()
		r.Reads("re: long", "re:", "re:", "re:", "re: /whoami please read this")
	})
}

// Where others take part, a conversation is not one person's to have forgotten.
func TestResetInAGroupIsForAdminsOnly(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ear := &routertest.Listener{}
		r.Agent = ear
		r.Channel.Groups = "open"
		r.Start()
		say := func(user, text string) {
			r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: user, Text: text, Mentioned: true})
		}
		say("ada", "remember")
		r.Await(1)
		r.Settle()
		say("eve", "/reset")
		r.Mentions(2, "only an admin")
		say("bob", "next")
		r.Await(3)
		r.Settle()
		if got := ear.Heard(); !strings.Contains(got, "remember") {
			t.Errorf("the next turn reads %q", got)
		}
		say("ada", "/reset")
		r.Await(4)
		say("bob", "last")
		r.Await(5)
		if got := ear.Heard(); got != "" {
			t.Errorf("the last turn reads %q", got)
		}
		r.Platform.Say("c2", "bob", "/reset") // alone
		r.Mentions(6, "Forgotten")
	})
}
