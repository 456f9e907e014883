package commands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/outbox"
	"switchboard/router/people"
)

// labels are the buttons under a part.
func labels(part channelstest.Sent) (list []string) {
	for _, b := range part.Buttons {
		list = append(list, b.Label)
	}
	return list
}

// newest waits until conv shows a part that has these words; the newest of them counts.
func (r *rig) newest(conv, words string) (part channelstest.Sent) {
	r.T.Helper()
	r.Until(words, func() bool {
		for _, s := range slices.Backward(r.Platform.SentIn(conv)) {
			if strings.Contains(s.Text, words) {
				part = s
				return true
			}
		}
		return false
	})
	return part
}

// refused has the answer to the message of that number refused, the first of which is 0, and waits
// until bob knows.
func (r *rig) refused(n int) {
	r.T.Helper()
	r.Platform.Next(channelstest.Fault{Refused: "no such thing"})
	r.Platform.Say("c2", "bob", fmt.Sprint("hello ", n))
	r.Until("its answer is dead", func() bool {
		return len(r.Deliveries("dead")) == n+1 && len(r.Platform.SentIn("c2")) == n+1
	})
}

// Lists have ten rows at most, a button to go on, and buttons that act.
func TestDeliveriesAreListedAndMendedByButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{outbox.Command(r.DB.Router())}
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		for i := range 12 {
			r.refused(i)
		}
		dead := r.Deliveries("dead") // the newest first
		r.Platform.Say("c1", "ada", "/deliveries")
		list := r.newest("c1", "re: hello 11")
		if rows := strings.Count(list.Text, "re: hello"); rows != 10 || len(list.Buttons) != 21 || len(channels.Rows(list.Buttons, 99, 9)) != 11 {
			t.Errorf("%d rows, buttons %q", rows, labels(list))
		}
		r.Toasts(r.Platform.Press("c1", "ada", "More"), "")
		if list = r.newest("c1", fmt.Sprintf("- %d dead", dead[11].ID)); !slices.Equal(labels(list), []string{
			fmt.Sprint("Retry ", dead[10].ID), fmt.Sprint("Drop ", dead[10].ID), fmt.Sprint("Retry ", dead[11].ID), fmt.Sprint("Drop ", dead[11].ID),
		}) {
			t.Errorf("buttons %q under %q", labels(list), list.Text)
		}
		r.Toasts(r.Platform.Press("c1", "ada", fmt.Sprint("Retry ", dead[11].ID)), "")
		r.newest("c1", fmt.Sprintf("Delivery %d was dead and is pending now.", dead[11].ID))
		r.newest("c2", "re: hello 0")
		r.Toasts(r.Platform.Press("c1", "ada", fmt.Sprint("Drop ", dead[11].ID)), "") // in the same row
		r.newest("c1", "it was sent, and cannot be taken back")
		r.Toasts(r.Platform.Press("c1", "ada", fmt.Sprint("Drop ", dead[0].ID)), "") // of the list before
		r.newest("c1", fmt.Sprintf("Delivery %d was dead and is dropped now.", dead[0].ID))
		if by := r.audited("delivery.retry"); len(by) != 1 || by[0].Why != "by button" || by[0].Person != "ada" {
			t.Errorf("audited %+v", by)
		}
		if by := r.audited("delivery.drop"); len(by) != 2 || !strings.HasPrefix(by[1].Why, "by button: delivery") && !strings.HasPrefix(by[0].Why, "by button: delivery") {
			t.Errorf("audited %+v", by)
		}
	})
}

// Where there are no buttons, what does the same to several things is one line.
func TestDeliveriesAreMendedByTypingWhereThereAreNoButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{outbox.Command(r.DB.Router())}
		r.Start()
		for i := range 2 {
			r.refused(i)
		}
		r.Platform.Say("c1", "ada", "/deliveries")
		text := r.newest("c1", "re: hello 1").Text
		const want = "\nTo retry one: /deliveries retry NUMBER\nTo drop one: /deliveries drop NUMBER"
		if !strings.HasSuffix(text, want) {
			t.Errorf("%q does not end %q", text, want)
		}
	})
}

func TestAuditLogGoesOnByAButton(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = []commands.Command{audit.Command(r.DB.Router())}
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		for i := range 12 {
			if err := r.DB.Router().ProposeClaim(t.Context(), outbox.HashCode(fmt.Sprint(i)), "", time.Now().Add(time.Hour), people.LocalActor("eve")); err != nil {
				t.Fatal(err)
			}
		}
		r.Platform.Say("c1", "ada", "/audit person eve")
		if list := r.newest("c1", "made a claim code"); strings.Count(list.Text, "made a claim code") != 10 || !slices.Equal(labels(list), []string{"Earlier"}) {
			t.Errorf("%q %q", list.Text, labels(list))
		}
		r.Toasts(r.Platform.Press("c1", "ada", "Earlier"), "")
		if sent := r.Await(2); strings.Count(sent[1].Text, "made a claim code") != 2 || len(sent[1].Buttons) != 0 {
			t.Errorf("%q %q", sent[1].Text, labels(sent[1]))
		}
	})
}

func TestGrantIsTakenBackByAButton(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		for i := range 11 {
			r.Platform.Say("c1", "ada", fmt.Sprint("ask make x", i))
			question := r.newest("c1", fmt.Sprintf("make x%d\n", i))
			r.Platform.PressCode("c1", "ada", string(question.ID), question.Buttons[2].Code)
			r.Until("it runs", func() bool { return len(r.Platform.SentIn("c1")) == 2*i+2 })
		}
		r.Platform.Say("c1", "ada", "/grants")
		if list := r.newest("c1", "10: ada, exec"); len(list.Buttons) != 11 {
			t.Errorf("buttons %q", labels(list))
		}
		r.Toasts(r.Platform.Press("c1", "ada", "More"), "")
		r.newest("c1", "- 11: ada, exec")
		r.Toasts(r.Platform.Press("c1", "ada", "Remove 11"), "")
		r.newest("c1", "Taken back")
		r.Platform.Say("c1", "ada", "/grants after 10")
		r.newest("c1", "There are no more.")
		if by := r.audited("grant.revoke"); len(by) != 1 || by[0].Why != "by button" {
			t.Errorf("audited %+v", by)
		}
	})
}

func TestSessionIsSetByButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Usable = func(tools.Question) (list []string) {
			for i := range 12 {
				list = append(list, fmt.Sprintf("tool.%02d", i))
			}
			return list
		}
		for i := range 12 {
			r.Models = append(r.Models, fmt.Sprintf("model_%02d", i))
		}
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		n := 0
		shows := func(what, words string, buttons []string) {
			t.Helper()
			n++
			r.Mentions(n, words)
			if got := labels(r.Await(n)[n-1]); !slices.Equal(got, buttons) {
				t.Errorf("%s: %q", what, got)
			}
		}
		says := func(text, words string, buttons ...string) {
			t.Helper()
			r.Platform.Say("c2", "bob", text)
			shows(text, words, buttons)
		}
		presses := func(label, words string, buttons ...string) {
			t.Helper()
			r.Toasts(r.Platform.Press("c2", "bob", label), "")
			shows(label, words, buttons)
		}
		says("/mode", "Mode: act", "ask")
		presses("ask", "Mode: ask", "act")
		says("/model", "The model here is test.", append(slices.Clone(r.Models[:10]), "More")...)
		presses("More", "The model here is test.", "model_10", "model_11")
		presses("model_11", "The model here is model_11 from your next message on.")
		says("/model after model_09", "The model here is model_11.", "model_10", "default")
		presses("default", "The model here is test from your next message on.")
		says("/tools", "\n- tool.09", "More")
		presses("More", "\n- tool.11")
		if found, err := r.Count("SELECT count(*) FROM sessions WHERE mode = 'ask' AND model = ''"); err != nil || found != 1 {
			t.Errorf("%d sessions are set: %v", found, err)
		}
	})
}
