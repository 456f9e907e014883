package sessions_test

import (
	"fmt"
	"testing"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/outbox"
	"switchboard/router/sessions"
	"switchboard/store/storetest"
)

func direct(conv string) channels.Conversation {
	return channels.Conversation{Channel: "tg", ID: channels.ConversationID(conv), Kind: channels.Direct, Place: conv}
}

// A branch begins with what stands in another session up to a message, with its files and what that goes by; a call that goes on is
// the same one until somebody heard its answer.
func TestChatsBranchAndAreKnownAgain(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		first := storetest.Entry("c", "1", "one")
		first.Event.Message.Attachments = []channels.Attachment{{ID: "f", Kind: channels.Photo, Name: "a.png"}}
		h.Accept(first)
		ref := h.Claim(1)[0].TurnRef
		h.Commit(ref, agent.Step{Say: []agent.Say{{Text: "two", Final: true, Taint: "web"}}, End: &agent.End{State: "done", Outcome: "answered"}},
			outbox.Reply{Text: "two", Taint: "web", Parts: []channels.Body{{Text: "two"}}})
		h.Accept(storetest.Entry("c", "2", "three"))
		h.Exec("UPDATE sessions SET language = 'de', summary = 'before that'")
		list, err := h.Router.Branches(h.Ctx, "tg:c")
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		was := list[0].Lines
		if got := texts(was); got != "[one >two three]" || was[1].Taint != "web" {
			t.Fatalf("the session has %s", got)
		}
		open := func(o sessions.Opening) *sessions.ChatCall {
			t.Helper()
			o.Person = "marco"
			call, err := h.Router.OpenChat(h.Ctx, &o)
			if err != nil {
				t.Fatal(err)
			}
			return call
		}
		branch := sessions.Opening{
			Key: []byte("k"), Conversation: direct("c.1"), Instructions: "be terse", From: "tg:c", Upto: was[1].ID, Of: "tg:c",
			Lines: []sessions.Line{{Text: "x"}, {Out: true, Text: "y", Taint: tools.Told}},
		}
		for _, want := range []string{"c.1", "c.1"} { // the second goes on
			if call := open(branch); call.Generation != 0 || string(call.Conversation) != want {
				t.Errorf("opened %+v", call)
			}
			branch.Conversation = direct("elsewhere")
		}
		if list, err = h.Router.Branches(h.Ctx, "tg:c"); err != nil || len(list) != 2 || texts(list[1].Lines) != "[one >two x >y]" || list[1].Lines[1].Taint != "web" || list[1].Lines[3].Taint != "told" {
			t.Errorf("branches %+v, %v", list, err)
		}
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE key = 'tg:c.1' AND language = 'de' AND summary = 'before that' AND instructions = 'be terse' AND next_event = 4")
		h.WantCount(2, "SELECT count(*) FROM attachments WHERE name = 'a.png'")
		// What a summary has of later messages a branch does not get; it is as private as what it branches from.
		h.Exec("UPDATE sessions SET private = 'on', summed_to = (SELECT max(id) FROM messages) WHERE key = 'tg:c'")
		open(sessions.Opening{Key: []byte("l"), Conversation: direct("c.2"), From: "tg:c", Upto: was[1].ID, Of: "tg:c"})
		h.WantCount(1, "SELECT count(*) FROM sessions WHERE key = 'tg:c.2' AND summary = '' AND private = 'on'")
		if err := h.Router.ChatHeard(h.Ctx, []byte("k"), 0); err != nil {
			t.Fatal(err)
		}
		branch.From, branch.Of, branch.Lines, branch.Conversation, branch.Instructions = "", "", nil, direct("c.1"), ""
		if call := open(branch); call.Generation != 1 {
			t.Errorf("after it was heard: %+v", call)
		}
		h.WantCount(0, "SELECT count(*) FROM sessions WHERE instructions <> ''")
		h.Accept(storetest.Entry("c.1", "3", "four"))
		ref = h.Claim(2, "tg:c")[0].TurnRef
		if data := h.Load(ref); len(data.State.Recent) < 2 {
			t.Errorf("the turn knows %+v", data.State.Recent)
		}
	})
}

func texts(lines []sessions.Line) string {
	var list []string
	for _, l := range lines {
		if l.Out {
			l.Text = ">" + l.Text
		}
		list = append(list, l.Text)
	}
	return fmt.Sprint(list)
}
