package approvals_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router/approvals"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/routertest"
)

func TestButtonsDecide(t *testing.T) {
	t.Parallel()
	for label, want := range map[string][2]string{ // what the agent learns, and what the question says then
		"Allow once":            {"accepted once by ada", "Allowed once by ada."},
		"Allow in this session": {"accepted session by ada", "Allowed in this session by ada."},
		"Always allow":          {"accepted always by ada", "Always allowed by ada."},
		"Deny":                  {"rejected  by ada", "Denied by ada."},
	} {
		t.Run(label, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				r.Request()
				r.Start()
				r.Platform.Say("c1", "ada", "ask rm -rf build")
				r.Mentions(1, "May I run this command?", "rm -rf build", "policy.ask", "commands ask", "10 minutes")
				toast := "Allowed. I'll do it now."
				if label == "Deny" {
					toast = "Denied."
				}
				again := r.Pressed("ada", label)
				r.Toasts(r.Platform.Press("c1", "ada", label), toast)
				r.Shows(2, want[0])
				r.decided("c1", 0, want[1])
				r.Toasts(again(), "That question is not open any more.")
				if len(r.Platform.Sent()) != 2 {
					t.Errorf("%q", routertest.Texts(r.Platform.Sent()))
				}
			})
		})
	}
}

// A decision outside of the chat counts as a button's does, by the same rules.
func TestDecisionOutsideOfAChat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		r.Platform.Say("c1", "ada", "ask rm -rf build")
		r.Await(1)
		decide := func(c *approvals.Decision, person string) error {
			return r.Router.Change(t.Context(), c, core.Actor{Person: person, Rule: "token:x"})
		}
		for _, c := range []struct {
			person, notOf string
			want          intake.Outcome
		}{{"bob", "", approvals.NotYours}, {"nobody", "", approvals.NotYours}, {"ada", "scripted:ada", approvals.OwnTurn}} {
			d := &approvals.Decision{ID: 1, Does: outbox.DoesOnce, NotOf: c.notOf}
			_, refused := errors.AsType[*core.StateError](decide(d, c.person))
			if !refused || d.Outcome != c.want || d.State != "" {
				t.Errorf("%s: %+v", c.person, d)
			}
		}
		if err := decide(&approvals.Decision{ID: 2, Does: outbox.DoesOnce}, "ada"); !errors.Is(err, core.ErrNotFound) {
			t.Error(err)
		}
		d := &approvals.Decision{ID: 1, Does: outbox.DoesAlways, NotOf: "scripted:bob"}
		if err := decide(d, "ada"); err != nil || d.State != outbox.ActionAccepted || d.Outcome != approvals.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		r.Shows(2, "accepted always by ada")
		r.decided("c1", 0, "Always allowed by ada.")
		if err := decide(&approvals.Decision{ID: 1, Does: outbox.DoesDeny}, "ada"); err == nil {
			t.Error("it is decided twice")
		}
	})
}

// decided waits until a question has no buttons, and holds that it says what was decided
// and no more how to decide.
func (r *rig) decided(conv string, at int, want string) {
	r.T.Helper()
	r.Until("the buttons are gone", func() bool { return len(r.Platform.SentIn(conv)[at].Buttons) == 0 })
	if text := r.Platform.SentIn(conv)[at].Text; !strings.Contains(text, want) || strings.Contains(text, "I wait") || !strings.Contains(text, "May I") && !strings.Contains(text, "Allow it?") {
		r.T.Errorf("the question reads %q", text)
	}
}

// What a user wishes an admin decides, in the direct chat that they used last; the first
// decision counts.
func TestUsersWishIsDecidedByAdmins(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.People = append(r.People, core.Person{Name: "eve", Role: core.RoleAdmin, Identities: []string{"scripted:eve"}, Tools: []string{"*"}, Source: "config"})
		r.Start()
		r.Platform.Say("eve1", "eve", "hello")
		r.Platform.Say("ada1", "ada", "hello")
		r.Await(2)
		r.Platform.Say("bob1", "bob", "ask make x")
		r.Until("both are asked, and bob is told", func() bool { return len(r.Platform.Sent()) == 5 })
		told := r.Platform.SentIn("bob1")
		if len(told) != 1 || !strings.Contains(told[0].Text, "needs an admin's permission") || len(told[0].Buttons) != 0 {
			t.Fatalf("bob was told %+v", told)
		}
		asked := r.Platform.SentIn("ada1")[1]
		if !strings.Contains(asked.Text, "bob") || !strings.Contains(asked.Text, "make x") {
			t.Errorf("ada was asked %q", asked.Text)
		}
		code := r.TypedCode(asked)
		for conv, user := range map[string]string{"bob1": "bob", "eve1": "eve"} { // not theirs to decide, and asked elsewhere
			n := len(r.Platform.SentIn(conv))
			r.Platform.Say(conv, user, "/approve "+code)
			r.Until("the code is refused", func() bool { return len(r.Platform.SentIn(conv)) > n })
			if last := r.Platform.SentIn(conv)[n].Text; !strings.Contains(last, "no question with that code in this chat") {
				t.Errorf("%s was told %q", user, last)
			}
		}
		r.Platform.Say("ada1", "ada", "/deny "+strings.ToLower(code)+" we do not *do* that")
		r.Until("bob is told", func() bool { return len(r.Platform.SentIn("bob1")) == 3 })
		if got := r.Platform.SentIn("bob1")[2].Text; got != "rejected  by ada we do not do that" && got != "rejected  by ada we do not *do* that" {
			t.Errorf("bob was told %q", got)
		}
		r.decided("eve1", 1, "Denied by ada: we do not *do* that")
	})
}

// Who is no admin decides nothing, also where the question is shown to them.
func TestOnlyAdminsDecide(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Channel.Groups, r.Channel.RequireMention = "open", false
		r.Start()
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "ask rm x"})
		question := r.Await(1)[0]
		r.Toasts(r.Platform.Press("g1", "bob", "Allow once"), "Only admins may decide that.")
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "bob", Text: "/approve " + r.TypedCode(question)})
		r.Mentions(2, "Only admins may decide that.")
		r.Toasts(r.Platform.Press("g1", "ada", "Allow once"), "Allowed. I'll do it now.")
		r.Shows(3, "accepted once by ada")
	})
}

// Nobody could decide: then nobody is waited for.
func TestNobodyToAsk(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		r.Platform.Say("bob1", "bob", "ask make x")
		r.Shows(1, "nobody  by")
	})
}

func TestDeadlineCountsAsDenied(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Deadline = 5 * time.Second
		r.Start()
		r.Platform.Say("c1", "ada", "ask rm x")
		code := r.TypedCode(r.Await(1)[0])
		r.Shows(2, "expired  by")
		r.decided("c1", 0, "Nobody decided in time.")
		r.Platform.Say("c1", "ada", "/approve "+code)
		r.Mentions(3, "That question is not open any more")
	})
}

// What is over while no engine runs is denied as soon as one does.
func TestDeadlineHoldsOverARestart(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Deadline = 5 * time.Second
		r.Start()
		r.Platform.Say("c1", "ada", "ask rm x")
		r.Await(1)
		r.End()
		time.Sleep(r.Deadline)
		r.Start()
		r.Shows(2, "expired  by")
	})
}

func TestGrantCoversExactlyWhatWasShown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		say := func(n int, text string, want ...string) {
			t.Helper()
			r.Platform.Say("c1", "ada", text)
			r.Mentions(n, want...)
		}
		say(1, "/grants", "You have given no standing permissions.")
		say(2, "ask make x", "May I")
		r.Platform.Say("c1", "ada", "/approve "+r.TypedCode(r.Await(2)[1])+" always")
		r.Mentions(4, "accepted always by ada")
		say(5, "ask make x", "accepted always by ada")
		say(6, "ask make y", "May I")
		r.Platform.Say("c1", "ada", "/approve "+r.TypedCode(r.Await(6)[5])+" session")
		r.Mentions(8, "accepted session by ada")
		say(9, "ask make y", "accepted session by ada")
		say(10, "ask make x after a page", "Text from elsewhere led to it (a web page)")
		question := r.Await(10)[9]
		if len(question.Buttons) != 2 {
			t.Errorf("buttons %v", question.Buttons)
		}
		say(11, "/approve "+r.TypedCode(question)+" always", "allowed once only")
		say(12, "/approve "+r.TypedCode(question), "Allowed.")
		r.Mentions(13, "accepted once by ada")
		say(14, "/grants", "1: ada, exec `make x`, always", "2: ada, exec `make y`, in this chat")
		r.Platform.Say("c2", "ada", "ask make y")
		r.Mentions(15, "May I")
		r.Platform.Say("c1", "bob", "/grants remove 1") // another's
		r.Mentions(16, "None of your permissions has that number")
		say(17, "/grants remove 1", "Taken back")
		say(18, "ask make x", "May I")
		say(19, "/reset", "Forgotten")
		say(20, "/grants", "You have given no standing permissions.")
	})
}

// What others may is listed to an admin in a direct chat alone.
func TestGrantsOfOthersAreForADirectChat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Channel.Groups, r.Channel.RequireMention = "open", false
		r.Start()
		last := func(conv string, n int) string {
			t.Helper()
			r.Until("something is said in "+conv, func() bool { return len(r.Platform.SentIn(conv)) >= n })
			return r.Platform.SentIn(conv)[n-1].Text
		}
		r.Platform.Say("ada1", "ada", "hello")
		last("ada1", 1)
		r.Platform.Say("bob1", "bob", "ask make x")
		last("ada1", 2)
		r.Platform.Say("ada1", "ada", "/approve "+r.TypedCode(r.Platform.SentIn("ada1")[1])+" always")
		last("ada1", 3)
		r.Platform.Say("ada1", "ada", "/grants")
		if got := last("ada1", 4); !strings.Contains(got, "bob, exec") {
			t.Errorf("in a direct chat: %q", got)
		}
		r.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/grants"})
		if got := last("g1", 1); got != "You have given no standing permissions." {
			t.Errorf("in a group: %q", got)
		}
	})
}

// A turn that is cancelled while it waits takes its question with it.
func TestCancelledTurnTakesItsQuestionBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		r.Platform.Say("c1", "ada", "ask rm x")
		code := r.TypedCode(r.Await(1)[0])
		r.Platform.Say("c1", "ada", "/cancel")
		r.Shows(2, "Cancelled.")
		r.decided("c1", 0, "Nobody needs to decide that any more.")
		r.Platform.Say("c1", "ada", "/approve "+code)
		r.Mentions(3, "That question is not open any more")
	})
}

// Bad codes are answered with what to do.
func TestBadDecisionsAreExplained(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		for i, c := range [][2]string{
			{"/approve", `Write "/approve" and the code that stands in the question.`},
			{"/deny it", `Write "/deny" and the code that stands in the question.`},
			{"/approve AAAA-BBBB", "no question with that code in this chat"},
			{"/approve aaaa bbbb", "no question with that code in this chat"},
			{"/deny AAAA-BBBB\nnot now", "no question with that code in this chat"},
			{"/deny AAAA not now", `Write "/deny" and the code that stands in the question.`},
			{"/approve AAAA-BBBB forever", `you can write "session" or "always"`},
			{"/grants 1", "/grants remove NUMBER"},
			{"/grants remove x", "/grants remove NUMBER"},
		} {
			r.Platform.Say("c1", "ada", c[0])
			r.Mentions(i+1, c[1])
		}
	})
}

// Where an admin's account is theirs no more, nothing is asked in its chat.
func TestFormerAccountsAreNotAsked(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		r.Platform.Say("ada1", "ada", "hello")
		r.Shows(1, "re: hello")
		r.End()
		r.People[0].Identities = []string{"scripted:ada", "scripted:ada2"} // in two edits: one is the same each time
		r.Start()
		r.End()
		r.People[0].Identities = []string{"scripted:ada2"}
		r.Start()
		r.Platform.Say("bob1", "bob", "ask make x")
		r.Shows(2, "nobody  by")
	})
}

// An edit of a message whose turn waits changes nothing that is asked for, and says so.
func TestEditedMessageOfAQuestionIsLeftAside(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		id := r.Platform.Say("c1", "ada", "ask rm x")
		r.Await(1)
		r.Platform.Edit("c1", id, "ask rm y")
		r.Mentions(2, "your change has no effect", "/cancel")
		r.Toasts(r.Platform.Press("c1", "ada", "Allow once"), "Allowed. I'll do it now.")
		r.Shows(3, "accepted once by ada")
	})
}

// Whoever takes back the message of a turn that waits takes its question back.
func TestTakenBackMessageTakesItsQuestionBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		id := r.Platform.Say("c1", "ada", "ask rm x")
		r.Await(1)
		r.Platform.Delete("c1", id)
		r.decided("c1", 0, "Nobody needs to decide that any more.")
	})
}

// What is too long to be shown goes along as a file, in which nothing is hidden either.
func TestLongWishIsAFileThatHidesNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Script.Files, r.Files = 2, r.Filed()
		r.Start()
		long := strings.Repeat("echo build; ", 200)
		r.Platform.Say("c1", "ada", "ask "+long+"rm \u202ex"+strings.Repeat(" ", 40)+";\U0001d159\ufffc")
		sent := r.Await(2)
		if len(sent[1].Files) != 1 || string(sent[1].Files[0].Data) != long+"rm ⟨U+202E⟩x⟨40 spaces⟩;⟨U+1D159⟩⟨U+FFFC⟩" || len(sent[0].Buttons) != 4 {
			t.Errorf("asked %+v", sent)
		}
	})
}

// What is forgotten takes back what was asked in it, wherever that was asked, and says so.
func TestResetTakesQuestionsBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		r.Platform.Say("ada1", "ada", "hello")
		r.Await(1)
		r.Platform.Say("bob1", "bob", "ask make x")
		r.Await(3)
		code := r.TypedCode(r.Platform.SentIn("ada1")[1])
		r.Platform.Say("bob1", "bob", "/reset")
		r.Mentions(4, "Forgotten; what /memory lists stays. I drop what was waiting for a permission.")
		r.decided("ada1", 1, "Nobody needs to decide that any more.")
		r.Platform.Say("ada1", "ada", "/approve "+code)
		r.Mentions(5, "That question is not open any more")
		r.Platform.Say("bob1", "bob", "/reset")
		r.Mentions(6, "Forgotten; what /memory lists stays. If I am at work here, I go on; /cancel stops that.")
	})
}

// The files that a command names are shown, and it can be allowed once only.
func TestQuestionShowsNamedFiles(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Agent = routertest.Acting(func(p routertest.Play) error {
			return p.Commit(p.Ctx, agent.Step{End: &agent.End{State: "waiting", Outcome: "approval"}, Ask: &agent.Ask{
				Tool: tools.ExecName, Shown: "sh job.sh", Hash: []byte("hash"), Rule: "policy.ask", Reason: "commands ask", Loads: &tools.Loaded{
					More: 2,
					Files: []tools.NamedFile{
						{Path: "job.sh", Size: 20, Begins: "echo a" + strings.Repeat("\n", 6) + "rm x\u202e\n"},
						{Path: "long_1.py", Size: 2048, Begins: "import x\n"},
						{Path: "many.py", Size: 80, Begins: strings.Repeat("x\n", 40)},
						{Path: "to", Link: "lib/x\n"},
						{Path: "run", Size: 4096, Binary: true},
					},
				},
			}})
		})
		r.Start()
		r.Platform.Say("c1", "ada", "do it")
		question := r.Await(1)[0]
		for _, want := range []string{
			"sh job.sh", "job.sh:", "echo a\n⟨5 blank lines⟩\nrm x⟨U+202E⟩", "long_1.py (2 KB) begins:", "import x\n…", "many.py (80 bytes) begins:",
			"to is a link to lib/x.", "run is not a text file (4 KB), so it is not shown.", "The command also names 2 files that I do not show.", "allowed once only, and runs only if no file there has changed since I asked",
		} {
			if !strings.Contains(question.Text, want) {
				t.Errorf("%q is not in\n%s", want, question.Text)
			}
		}
		if strings.Count(question.Text, "x\n") > 33 || strings.Contains(question.Text, "`always`") || strings.Contains(question.Text, "session") {
			t.Errorf("%s", question.Text)
		}
		if len(question.Buttons) != 2 || question.Buttons[0].Label != "Allow once" || question.Buttons[1].Label != "Deny" {
			t.Errorf("buttons %v", question.Buttons)
		}
		r.Platform.Say("c1", "ada", "/approve "+r.TypedCode(question)+" always")
		r.Mentions(2, "That can be allowed once only, as the question says")
	})
}

// Blank lines and many line breaks do not push the end of a command out of sight.
func TestBlankLinesOfAWishAreFolded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Request()
		r.Start()
		for i, c := range [][2]string{
			{"ls" + strings.Repeat("\n", 51) + "rm x", "ls\n⟨50 blank lines⟩\nrm x"},
			{"ls" + strings.Repeat("\n \t", 51) + "rm x", "ls\n⟨50 blank lines⟩\n \trm x"},
			{"ls\n\nrm x", "ls\n\nrm x"},
			{"ls" + strings.Repeat("\n:", 50) + "\nrm x", "ls" + strings.Repeat("⟨line break⟩ :", 50) + "⟨line break⟩ rm x"},
		} {
			r.Platform.Say("c1", "ada", "ask "+c[0])
			r.Until("it is asked", func() bool { return len(r.Platform.Sent()) > i })
			if text := r.Platform.Sent()[i].Text; !strings.Contains(text, c[1]) {
				t.Errorf("%q is asked as\n%s", c[0], text)
			}
		}
	})
}
