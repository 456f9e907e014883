package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/internal/secrets"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/outbox"
	"switchboard/router/people"
	"switchboard/router/settings"
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
	r.t.Helper()
	r.until(words, func() bool {
		for _, s := range slices.Backward(r.platform.SentIn(conv)) {
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
	r.t.Helper()
	r.platform.Next(channelstest.Fault{Refused: "no such thing"})
	r.platform.Say("c2", "bob", fmt.Sprint("hello ", n))
	r.until("its answer is dead", func() bool {
		return len(r.deliveries("dead")) == n+1 && len(r.platform.SentIn("c2")) == n+1
	})
}

// Lists have ten rows at most, a button to go on, and buttons that act.
func TestDeliveriesAreListedAndMendedByButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.commands = []commands.Command{outbox.Command(r.db.Router())}
		r.script.Rich, r.script.Buttons = true, true
		r.start()
		for i := range 12 {
			r.refused(i)
		}
		dead := r.deliveries("dead") // the newest first
		r.platform.Say("c1", "ada", "/deliveries")
		list := r.newest("c1", "re: hello 11")
		if rows := strings.Count(list.Text, "re: hello"); rows != 10 || len(list.Buttons) != 21 || len(channels.Rows(list.Buttons, 99, 9)) != 11 {
			t.Errorf("%d rows, buttons %q", rows, labels(list))
		}
		r.toasts(r.platform.Press("c1", "ada", "More"), "")
		if list = r.newest("c1", fmt.Sprintf("- %d dead", dead[11].ID)); !slices.Equal(labels(list), []string{
			fmt.Sprint("Retry ", dead[10].ID), fmt.Sprint("Drop ", dead[10].ID), fmt.Sprint("Retry ", dead[11].ID), fmt.Sprint("Drop ", dead[11].ID),
		}) {
			t.Errorf("buttons %q under %q", labels(list), list.Text)
		}
		r.toasts(r.platform.Press("c1", "ada", fmt.Sprint("Retry ", dead[11].ID)), "")
		r.newest("c1", fmt.Sprintf("Delivery %d was dead and is pending now.", dead[11].ID))
		r.newest("c2", "re: hello 0")
		r.toasts(r.platform.Press("c1", "ada", fmt.Sprint("Drop ", dead[11].ID)), "") // in the same row
		r.newest("c1", "it was sent, and cannot be taken back")
		r.toasts(r.platform.Press("c1", "ada", fmt.Sprint("Drop ", dead[0].ID)), "") // of the list before
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
		r.commands = []commands.Command{outbox.Command(r.db.Router())}
		r.start()
		for i := range 2 {
			r.refused(i)
		}
		r.platform.Say("c1", "ada", "/deliveries")
		text := r.newest("c1", "re: hello 1").Text
		const want = "\nTo retry one: /deliveries retry NUMBER\nTo drop one: /deliveries drop NUMBER"
		if !strings.HasSuffix(text, want) {
			t.Errorf("%q does not end %q", text, want)
		}
	})
}

func TestAuditLogGoesOnByAButton(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.commands = []commands.Command{audit.Command(r.db.Router())}
		r.script.Rich, r.script.Buttons = true, true
		r.start()
		for i := range 12 {
			if err := r.db.Router().ProposeClaim(t.Context(), outbox.HashCode(fmt.Sprint(i)), time.Now().Add(time.Hour), people.LocalActor("eve")); err != nil {
				t.Fatal(err)
			}
		}
		r.platform.Say("c1", "ada", "/audit person eve")
		if list := r.newest("c1", "made a claim code"); strings.Count(list.Text, "made a claim code") != 10 || !slices.Equal(labels(list), []string{"Earlier"}) {
			t.Errorf("%q %q", list.Text, labels(list))
		}
		r.toasts(r.platform.Press("c1", "ada", "Earlier"), "")
		if sent := r.await(2); strings.Count(sent[1].Text, "made a claim code") != 2 || len(sent[1].Buttons) != 0 {
			t.Errorf("%q %q", sent[1].Text, labels(sent[1]))
		}
	})
}

func TestGrantIsTakenBackByAButton(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.wish()
		r.start()
		for i := range 11 {
			r.platform.Say("c1", "ada", fmt.Sprint("ask make x", i))
			question := r.newest("c1", fmt.Sprintf("make x%d\n", i))
			r.platform.PressCode("c1", "ada", string(question.ID), question.Buttons[2].Code)
			r.until("it runs", func() bool { return len(r.platform.SentIn("c1")) == 2*i+2 })
		}
		r.platform.Say("c1", "ada", "/grants")
		if list := r.newest("c1", "10: ada, exec"); len(list.Buttons) != 11 {
			t.Errorf("buttons %q", labels(list))
		}
		r.toasts(r.platform.Press("c1", "ada", "More"), "")
		r.newest("c1", "- 11: ada, exec")
		r.toasts(r.platform.Press("c1", "ada", "Remove 11"), "")
		r.newest("c1", "Taken back")
		r.platform.Say("c1", "ada", "/grants after 10")
		r.newest("c1", "There are no more.")
		if by := r.audited("grant.revoke"); len(by) != 1 || by[0].Why != "by button" {
			t.Errorf("audited %+v", by)
		}
	})
}

func TestSessionIsSetByButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.usable = func(tools.Question) (list []string) {
			for i := range 12 {
				list = append(list, fmt.Sprintf("tool.%02d", i))
			}
			return list
		}
		for i := range 12 {
			r.models = append(r.models, fmt.Sprintf("model_%02d", i))
		}
		r.script.Rich, r.script.Buttons = true, true
		r.start()
		n := 0
		shows := func(what, words string, buttons []string) {
			t.Helper()
			n++
			r.mentions(n, words)
			if got := labels(r.await(n)[n-1]); !slices.Equal(got, buttons) {
				t.Errorf("%s: %q", what, got)
			}
		}
		says := func(text, words string, buttons ...string) {
			t.Helper()
			r.platform.Say("c2", "bob", text)
			shows(text, words, buttons)
		}
		presses := func(label, words string, buttons ...string) {
			t.Helper()
			r.toasts(r.platform.Press("c2", "bob", label), "")
			shows(label, words, buttons)
		}
		says("/mode", "Mode: act", "ask")
		presses("ask", "Mode: ask", "act")
		says("/model", "The model here is test.", append(slices.Clone(r.models[:10]), "More")...)
		presses("More", "The model here is test.", "model_10", "model_11")
		presses("model_11", "The model here is model_11 from your next message on.")
		says("/model after model_09", "The model here is model_11.", "model_10", "default")
		presses("default", "The model here is test from your next message on.")
		says("/tools", "\n- tool.09", "More")
		presses("More", "\n- tool.11")
		if found, err := count(r, "SELECT count(*) FROM sessions WHERE mode = 'ask' AND model = ''"); err != nil || found != 1 {
			t.Errorf("%d sessions are set: %v", found, err)
		}
	})
}

func TestSecretsAreListedByTen(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.secrets = &safe{mask: secrets.NewMasker()}
		r.script.Rich, r.script.Buttons = true, true
		r.start()
		for i := range 12 {
			c := &settings.SecretChange{Kind: settings.SetSecret, Name: fmt.Sprintf("name_%02d", i), Ciphertext: []byte("sealed")}
			if err := r.db.Router().Change(t.Context(), c, people.LocalActor("ada")); err != nil {
				t.Fatal(err)
			}
		}
		r.platform.Say("c1", "ada", "/secret list")
		r.mentions(1, "name_00", "name_09")
		r.toasts(r.platform.Press("c1", "ada", "More secrets"), "")
		r.mentions(2, "name_10", "name_11")
		if sent := r.platform.Sent(); strings.Contains(sent[0].Text, "name_10") || strings.Contains(sent[1].Text, "name_09") || len(sent[1].Buttons) > 0 {
			t.Errorf("%q", texts(sent))
		}
	})
}
