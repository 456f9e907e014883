package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
	"switchboard/router/turns"
)

// What an admin's tool changes is changed once a person allowed it, by the very change of the
// command, and the audit row names person and turn.
func TestAdminToolsGiveTheCommands(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		newBench(r)
		r.Script.Buttons = true
		r.Targets = func(outbox.NoticeKind) []string { return []string{"play:c9"} } // of what is given up
		r.Commands = []commands.Command{outbox.Command(r.DB.Router()), audit.Command(r.DB.Router())}
		r.Start()
		r.Platform.Next(channelstest.Fault{Refused: "no such thing"})
		r.Platform.Say("c2", "bob", `/tool look {"amount": 1}`)
		r.Until("its answer is dead", func() bool { return len(r.Deliveries("dead")) == 1 })
		id := r.Deliveries("dead")[0].ID
		looks := func(text, want string) { // and what does not exist is not asked about either
			t.Helper()
			n := len(r.Platform.SentIn("c1"))
			r.Platform.Say("c1", "ada", text)
			r.Until("it is answered", func() bool { return len(r.Platform.SentIn("c1")) > n })
			if got := r.Platform.SentIn("c1")[n].Text; !strings.Contains(got, want) || strings.Contains(got, "May I") {
				t.Errorf("%s: answered %q, without %q", text, got, want)
			}
		}
		says := func(text string, wants ...string) {
			t.Helper()
			n := len(r.Platform.SentIn("c1"))
			r.Platform.Say("c1", "ada", text)
			r.Until("it is asked for", func() bool { return len(r.Platform.SentIn("c1")) > n })
			if asked := r.Platform.SentIn("c1")[n].Text; !strings.Contains(asked, "May I run /") {
				t.Fatalf("%s: not asked for: %q", text, asked)
			}
			r.Platform.Press("c1", "ada", "Allow once")
			r.Until("it is answered", func() bool { return len(r.Platform.SentIn("c1")) > n+1 })
			for _, want := range wants {
				if got := r.Platform.SentIn("c1")[n+1].Text; !strings.Contains(got, want) {
					t.Errorf("%s: answered %q, without %q", text, got, want)
				}
			}
		}
		looks(`/tool admin.deliveries {"action": "list"}`, "(refused) on play: look is done")
		says(`/tool admin.deliveries {"action": "drop", "number": 999}`, "I did not run admin.deliveries", "There is no delivery 999.")
		looks(`/tool admin.deliveries {"action": "drop"}`, "needs more arguments")
		says(fmt.Sprintf(`/tool admin.deliveries {"action": "drop", "number": %d}`, id), fmt.Sprintf("Delivery %d was dead and is dropped now.", id))
		looks(`/tool admin.audit {"kind": "delivery"}`, fmt.Sprintf("ada gave up message part %d", id))
		looks(`/tool admin.people {"action": "list"}`, "no command /people")
		looks(`/tool admin.people {"action": "remove", "name": "nobody"}`, "There is no person nobody.")
		rows, err := r.DB.Router().Audit(t.Context(), audit.Filter{Kind: "delivery"}, 0, 10)
		i := slices.IndexFunc(r.Turns(), func(turn turns.Turn) bool { return strings.Contains(turn.Text, fmt.Sprintf(`"number": %d`, id)) })
		if err != nil || i < 0 || rows[0].Person != "ada" || rows[0].Turn != r.Turns()[i].ID || rows[0].Outcome != "dropped" {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}

// They are nobody's but admins', and nowhere but in direct chats.
func TestAdminToolsAreForAdminsInDirectChats(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		newBench(r)
		r.Channel.AllowConversations = []string{"g1"}
		r.Commands = []commands.Command{audit.Command(r.DB.Router())}
		r.Start()
		r.Platform.Say("c2", "bob", "/tool admin.audit")
		r.Mentions(1, "only admins may do this, in a direct chat")
		r.Platform.Say("c2", "bob", "/tools")
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", Mentioned: true, User: "ada", Text: "/tool admin.audit"})
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", Mentioned: true, User: "ada", Text: "/tools"})
		r.Await(4)
		for _, text := range routertest.Texts(r.Platform.Sent())[1:] {
			if strings.Contains(text, "admin.") && !strings.Contains(text, "only admins may do this") {
				t.Errorf("said %q", text)
			}
		}
		for name, session := range map[string]tools.Session{
			"a user":   {ID: "play:c2", Channel: "play", Person: "bob", Direct: true},
			"a group":  {ID: "play:g1", Channel: "play", Person: "ada"},
			"a nobody": {ID: "play:c1", Channel: "play", Person: "eve", Direct: true},
		} {
			res := r.Router.GiveCommand(t.Context(), tools.Call{Session: session}, "audit")
			if res.End != tools.EndRefused || res.Rule != audit.RuleApprover {
				t.Errorf("%s: %+v", name, res)
			}
		}
		res := r.Router.GiveCommand(t.Context(), tools.Call{Session: tools.Session{ID: "play:c1", Channel: "play", Person: "ada", Direct: true}}, "mode", "ask")
		if res.Code != "not_available" {
			t.Errorf("a command that is none of admins: %+v", res)
		}
	})
}
