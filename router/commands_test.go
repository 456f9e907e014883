package router_test

import (
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// Commands are as fast as messages may be, but for what stops a turn, which always does;
// a flood of that is not answered one by one either.
func TestCommandsTooFastAreRefusedExceptStops(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.RatePerson = "3/h"
		release := r.brain.held("long")
		defer release()
		r.start()
		r.begins("c1", "bob", "long")
		for range 6 {
			r.platform.Say("c1", "bob", "/help")
		}
		for _, stop := range []string{"stop", "/cancel"} {
			r.platform.Say("c1", "bob", stop)
		}
		r.until("it is cancelled", func() bool { return r.turns()[0].State == "cancelled" })
		for range 9 {
			r.platform.Say("c1", "bob", "/cancel")
		}
		r.until("all is taken", func() bool { return r.platform.Pending() == 0 })
		r.until("all is sent", func() bool { return len(r.deliveries("sent")) == len(r.deliveries("")) })
		said := map[string]int{}
		for _, text := range texts(r.platform.Sent()) {
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
		r.config.RatePerson = "4/h"
		r.channel.AllowConversations = []string{"g1"}
		r.start()
		for range 6 {
			r.platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "bob", Text: "/help", Mentioned: true})
		}
		r.platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "hello", Mentioned: true})
		sent := texts(r.await(4))
		if len(sent) != 4 || !strings.HasPrefix(sent[1], "I plan") || !strings.HasPrefix(sent[2], "That was too fast") || sent[3] != "re: hello" {
			t.Errorf("sent %q", sent)
		}
	})
}

// What is not set up is told to admins, in a chat with them alone.
func TestStartTellsAdminsWhatIsMissing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.channel.AllowConversations = []string{"g1"}
		r.start()
		r.router.Missing = func() []string { return []string{"a model", "an admin"} }
		r.platform.Say("c2", "bob", "/start")
		r.platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/start", Mentioned: true})
		r.await(2)
		r.platform.Say("c1", "ada", "/start")
		sent := texts(r.await(3))
		for i, text := range sent {
			if strings.Contains(text, "\n- a model\n- an admin") != (i == 2) {
				t.Errorf("answer %d is %q", i+1, text)
			}
		}
		r.router.Missing = func() []string { return nil }
		r.platform.Say("c1", "ada", "/start")
		if text := r.await(4)[3].Text; strings.Contains(text, "missing") {
			t.Errorf("with nothing missing: %q", text)
		}
	})
}

// What somebody else wrote is not obeyed, and a file is not lost to a command.
func TestOnlyOwnWordsAreCommands(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		release := r.brain.held("long")
		defer release()
		r.start()
		r.begins("c1", "ada", "long")
		for _, text := range []string{"stop", "/cancel", "/reset"} {
			r.platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: text, Forwarded: true})
		}
		r.platform.Write(scripted.Message{
			Conversation: "c1", User: "ada", Text: "/whoami please read this",
			Attachments: []channels.Attachment{{ID: "f1", Kind: channels.Document, Name: "a.txt", Type: "text/plain", Size: 1}},
		})
		r.until("all is taken", func() bool { return r.platform.Pending() == 0 })
		release()
		r.reads("re: long", "re:", "re:", "re:", "re: /whoami please read this")
	})
}

// Where others take part, a conversation is not one person's to have forgotten.
func TestResetInAGroupIsForAdminsOnly(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ear := &listener{}
		r.agent = ear
		r.channel.Groups = "open"
		r.start()
		say := func(user, text string) {
			r.platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: user, Text: text, Mentioned: true})
		}
		say("ada", "remember")
		r.await(1)
		r.settle()
		say("eve", "/reset")
		r.mentions(2, "only an admin")
		say("bob", "next")
		r.await(3)
		r.settle()
		if got := ear.heard(); !strings.Contains(got, "remember") {
			t.Errorf("the next turn reads %q", got)
		}
		say("ada", "/reset")
		r.await(4)
		say("bob", "last")
		r.await(5)
		if got := ear.heard(); got != "" {
			t.Errorf("the last turn reads %q", got)
		}
		r.platform.Say("c2", "bob", "/reset") // alone
		r.mentions(6, "Forgotten")
	})
}
