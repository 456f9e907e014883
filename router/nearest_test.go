package router_test

import (
	"reflect"
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// A command that is none is answered with the one that was meant.
func TestUnknownCommandNamesTheNearest(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		for i, c := range []struct{ write, want string }{
			{"/staus", "I do not know /staus; did you mean /status?"},
			{"/nonsense", "I do not know /nonsense. /help lists"},
		} {
			r.platform.Say("c1", "ada", c.write)
			if s := r.await(i + 1)[i]; !strings.HasPrefix(s.Text, c.want) {
				t.Errorf("%s: %q", c.write, s.Text)
			}
		}
	})
}

// What /whoami lists was asked of the gate.
func TestWhoamiListsWhatMayBeUsed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.config.DefaultMode = "ask"
		var asked tools.Question
		r.usable = func(q tools.Question) []string {
			asked = q
			if q.Person == "bob" {
				return nil
			}
			return []string{"exec", "http.get"}
		}
		r.start()
		r.platform.Say("c1", "ada", "/whoami")
		if s := r.await(1)[0]; !strings.HasSuffix(s.Text, "Tools you may use here: exec, http.get.") {
			t.Errorf("%q", s.Text)
		}
		if want := (tools.Question{Person: "ada", Channel: "play", Direct: true, Mode: "ask"}); !reflect.DeepEqual(asked, want) {
			t.Errorf("asked %+v", asked)
		}
		r.platform.Say("c2", "bob", "/whoami")
		if s := r.await(2)[1]; !strings.HasSuffix(s.Text, "You may use no tools here.") {
			t.Errorf("%q", s.Text)
		}
	})
}

// Who changes a question that was answered is told, once, how to have it answered
// anew.
func TestEditOfAnAnsweredQuestionIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start()
		id := r.platform.Say("c1", "ada", "one")
		r.await(1)
		r.until("it is over", func() bool { return r.turns()[0].State == "done" })
		edit := func(text string, revision int64) {
			r.platform.Happen(scripted.Message{
				Event: channels.EventEdited, ID: id, Conversation: "c1", User: "ada", Text: text, Revision: revision,
			})
		}
		edit("two", 1)
		r.mentions(2, "answered that", "/retry")
		edit("three", 2)
		r.until("it is accepted", func() bool { return r.platform.Pending() == 0 })
		r.platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: "/retry", ReplyTo: id})
		if got := texts(r.await(3)); got[2] != "re: three" {
			t.Errorf("%q", got)
		}
	})
}

// A platform whose commands begin otherwise reads of them as they are written there.
func TestNoticesNameCommandsAsThePlatformTakesThem(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.script.Command = "/bot "
		r.start()
		r.platform.Say("c1", "ada", "/help")
		r.mentions(1, "\n/bot status – what I am doing\n", "\n/bot help – what I can do")
		r.platform.Say("c1", "ada", "/stats")
		r.shows(2, "I do not know /stats; did you mean /bot status? /bot help lists the commands; anything else, write without the slash.")
		r.platform.Say("c1", "ada", "/claim")
		r.mentions(3, `"/bot claim" and the code`)
	})
}
