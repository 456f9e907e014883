package commands_test

import (
	"reflect"
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/routertest"
)

// A command that is none is answered with the one that was meant.
func TestUnknownCommandNamesTheNearest(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		for i, c := range []struct{ write, want string }{
			{"/staus", "I do not know /staus; did you mean /status?"},
			{"/nonsense", "I do not know /nonsense. /help lists"},
		} {
			r.Platform.Say("c1", "ada", c.write)
			if s := r.Await(i + 1)[i]; !strings.HasPrefix(s.Text, c.want) {
				t.Errorf("%s: %q", c.write, s.Text)
			}
		}
	})
}

// What /whoami lists was asked of the gate.
func TestWhoamiListsWhatMayBeUsed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.DefaultMode = "ask"
		var asked tools.Question
		r.Usable = func(q tools.Question) []string {
			asked = q
			if q.Person == "bob" {
				return nil
			}
			return []string{"exec", "http.get"}
		}
		r.Start()
		r.Platform.Say("c1", "ada", "/whoami")
		if s := r.Await(1)[0]; !strings.HasSuffix(s.Text, "Tools you may use here: exec, http.get.") {
			t.Errorf("%q", s.Text)
		}
		if want := (tools.Question{Person: "ada", Channel: "play", Direct: true, Mode: "ask"}); !reflect.DeepEqual(asked, want) {
			t.Errorf("asked %+v", asked)
		}
		r.Platform.Say("c2", "bob", "/whoami")
		if s := r.Await(2)[1]; !strings.HasSuffix(s.Text, "You may use no tools here.") {
			t.Errorf("%q", s.Text)
		}
	})
}

// Who changes a question that was answered is told, once, how to have it answered
// again.
func TestEditOfAnAnsweredQuestionIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		id := r.Platform.Say("c1", "ada", "one")
		r.Await(1)
		r.Until("it is over", func() bool { return r.Turns()[0].State == "done" })
		edit := func(text string, revision int64) {
			r.Platform.Happen(scripted.Message{
				Event: channels.EventEdited, ID: id, Conversation: "c1", User: "ada", Text: text, Revision: revision,
			})
		}
		edit("two", 1)
		r.Mentions(2, "answered that", "/retry")
		edit("three", 2)
		r.Until("it is accepted", func() bool { return r.Platform.Pending() == 0 })
		r.Platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: "/retry", ReplyTo: id})
		if got := routertest.Texts(r.Await(3)); got[2] != "re: three" {
			t.Errorf("%q", got)
		}
	})
}

// A platform whose commands begin otherwise reads of them as they are written there.
func TestNoticesNameCommandsAsThePlatformTakesThem(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Command = "/bot "
		r.Start()
		r.Platform.Say("c1", "ada", "/help")
		r.Mentions(1, "\n/bot status – what I am doing\n", "\n/bot help – what I can do")
		r.Platform.Say("c1", "ada", "/stats")
		r.Shows(2, "I do not know /stats; did you mean /bot status? /bot help lists the commands; anything else, write without the slash.")
		r.Platform.Say("c1", "ada", "/claim")
		r.Mentions(3, `"/bot claim" and the code`)
	})
}
