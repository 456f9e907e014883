package commands_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/router"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/routertest"
)

// A menu answers "/menu" with buttons that set the mode, ask for the secret of admins and
// try again.
func menu(slow func()) []commands.Command {
	about := commands.Text{EN: "for tests"}
	return []commands.Command{
		{Name: "menu", About: about, Run: func(context.Context, *commands.Call) (commands.Answer, error) {
			return commands.Answer{Text: "What now?", Buttons: []commands.Button{
				{Label: "Ask", Command: "mode ask"},
				{Label: "Act", Command: "mode act", Beside: true},
				{Label: "Private", Command: "private 12"},
				{Label: "Retry", Command: "retry"},
				{Label: "Slow", Command: "slow"},
			}}, nil
		}},
		{Name: "slow", About: about, Run: func(context.Context, *commands.Call) (commands.Answer, error) {
			return commands.Answer{Text: "I begin.", Background: func(context.Context) commands.Answer {
				slow()
				return commands.Says("It is done.")
			}}, nil
		}},
		{Name: "private", Admin: true, About: about, Run: func(_ context.Context, c *commands.Call) (commands.Answer, error) {
			return commands.Says("For admins: %s.", c.Args), nil
		}},
	}
}

// offered is a rig in which ada was shown the menu in c1.
func offered(r *rig) {
	r.T.Helper()
	r.Commands, r.Script.Rich, r.Script.Buttons = menu(func() {}), true, true
	r.Start()
	r.Platform.Say("c1", "ada", "/menu")
	r.Await(1)
	r.Until("it is known to be sent", func() bool { return len(r.Deliveries("sent")) == 1 })
}

// says waits until the platform shows a part with these words.
func (r *rig) says(words string) {
	r.T.Helper()
	r.Until(words, func() bool { return strings.Contains(strings.Join(routertest.Texts(r.Platform.Sent()), "\n"), words) })
}

// audited are the rows of the audit log of one kind of change.
func (r *rig) audited(kind string) (list []audit.Record) {
	r.T.Helper()
	rows, err := r.DB.Router().Audit(r.T.Context(), audit.Filter{}, 0, 1000)
	if err != nil {
		r.T.Fatal(err)
	}
	for _, row := range rows {
		if row.Action == kind {
			list = append(list, row)
		}
	}
	return list
}

func TestButtonGivesItsCommandOnceToWhoAskedForIt(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		offered(r)
		if rows := channels.Rows(r.Platform.Sent()[0].Buttons, 9, 9); len(rows) != 4 || len(rows[0]) != 2 {
			t.Errorf("shown as %+v", rows)
		}
		r.Toasts(r.Platform.Press("c1", "bob", "Ask"), "This is not for you.")
		r.Toasts(r.Platform.Press("c1", "ada", "Ask"), "")
		r.says("Mode: ask")
		r.Toasts(r.Platform.Press("c1", "ada", "Ask"), "This button was used already.")
		r.Toasts(r.Platform.Press("c1", "ada", "Private"), "") // the others stay
		r.says("For admins: 12.")
		list := r.audited("session.mode")
		if len(list) != 1 || list[0].Person != "ada" || list[0].Why != "by button" || list[0].Outcome != "done" {
			t.Errorf("audited %+v", list)
		}
		if n := len(r.Platform.Changes(scripted.OpUnbutton)); n != 0 {
			t.Error("buttons that can be used are gone")
		}
		r.Toasts(r.Platform.Press("c1", "ada", "Retry"), "")
		r.says("There is nothing of yours that I could try again")
		r.Toasts(r.Platform.Press("c1", "ada", "Slow"), "")
		r.says("It is done.")
		r.Toasts(r.Platform.Press("c1", "ada", "Act"), "")
		r.Until("used up, they are gone", func() bool { return len(r.Platform.Changes(scripted.OpUnbutton)) > 0 })
		r.HasTurns(0)
	})
}

// A command that is a turn runs as one.
func TestButtonOfACommandThatIsATurn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Config.Workers = 4 // one for each person: none is lost
		offered(r)
		for i := range 3 {
			r.Platform.Say("c1", "ada", fmt.Sprint("hello ", i))
			r.says(fmt.Sprint("re: hello ", i))
			r.Platform.Say("c1", "ada", "/menu")
			r.Until("the menu", func() bool { sent := r.Platform.Sent(); return sent[len(sent)-1].Text == "What now?" })
			n := len(r.Platform.Sent())
			r.Toasts(r.Platform.Press("c1", "ada", "Retry"), "")
			r.Shows(n+1, fmt.Sprint("re: hello ", i))
			r.Toasts(r.Platform.Press("c1", "ada", "Ask"), "")
			r.Await(n + 2)
		}
		r.HasTurns(6)
	})
}

// What somebody may is looked up as they press.
func TestButtonAfterTheRoleWasTakenAway(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		offered(r)
		r.End()
		r.People[0].Role = core.RoleUser
		r.Start()
		r.Toasts(r.Platform.Press("c1", "ada", "Private"), "")
		r.says("I do not know /private")
	})
}

func TestButtonOfAListThatIsOld(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		offered(r)
		time.Sleep(24*time.Hour + time.Second)
		r.Toasts(r.Platform.Press("c1", "ada", "Ask"), "This button has expired. Please give the command again.")
		r.Until("the buttons are gone", func() bool { return len(r.Platform.Changes(scripted.OpUnbutton)) > 0 })
		if n := len(r.audited("session.mode")); n != 0 {
			t.Error("it was done all the same")
		}
	})
}

// Where there are no buttons, what to type is in the text.
func TestCommandsAreTextWhereThereAreNoButtons(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Commands = menu(func() {})
		r.Start()
		r.Platform.Say("c1", "ada", "/menu")
		r.Mentions(1, "What now?", "\nTo switch: /mode and one of ask, act\nPrivate: /private 12\nTo retry: /retry\nSlow: /slow")
	})
}

func TestButtonPressedAtTwoEnginesAtOnceGivesItsCommandOnce(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	var slow atomic.Int32
	a.Commands, a.Script.Rich, a.Script.Buttons = menu(func() { slow.Add(1) }), true, true
	b.Commands, b.Script = a.Commands, a.Script
	routertest.StartBoth(a.Rig, b.Rig)
	a.Platform.Say("c1", "ada", "/menu")
	a.Await(1)
	for round, label := range []string{"Ask", "Slow"} {
		_, code := a.Code(label)
		var pressing sync.WaitGroup
		var toasts [8]string
		for i := range toasts {
			pressing.Go(func() {
				receipts, err := []*rig{a, b}[i%2].Router.Accept(t.Context(), []channels.Event{routertest.Press(100*round+100+i, "ada", code)})
				if err != nil {
					t.Error(err)
					return
				}
				toasts[i] = receipts[0].Toast
			})
		}
		pressing.Wait()
		slices.Sort(toasts[:])
		if toasts[0] != "" || toasts[1] != "This button was used already." {
			t.Errorf("%s: %q", label, toasts)
		}
	}
	a.Await(4)
	time.Sleep(100 * time.Millisecond)
	if sent := a.Platform.Sent(); len(sent) != 4 || len(a.audited("session.mode")) != 1 || slow.Load() != 1 {
		t.Errorf("sent %q, done %d and %d times", routertest.Texts(sent), len(a.audited("session.mode")), slow.Load())
	}
}

// A frail ledger loses what it is to commit of presses, or its answer that it did.
type frail struct {
	router.Store
	mu   sync.Mutex
	fate *rand.Rand
}

func (f *frail) Accept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	fate := 2
	for _, e := range entries {
		if e.Event.Kind == channels.EventAction {
			f.mu.Lock()
			fate = f.fate.IntN(4)
			f.mu.Unlock()
		}
	}
	away := fmt.Errorf("away: %w", core.ErrNotNow)
	if fate == 0 {
		return nil, away
	}
	list, err := f.Store.Accept(ctx, owner, entries)
	if fate == 1 && err == nil {
		err = away
	}
	return list, err
}

// Whatever dies meanwhile, a press gives its command once or was refused, and who pressed is
// answered.
func TestButtonsGiveTheirCommandsOnceWhateverDies(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		fate := rand.New(rand.NewPCG(seed, 1))
		r.Store = func(of router.Store) router.Store { return &frail{Store: of, fate: fate} }
		const zones = 8
		r.Commands = []commands.Command{{Name: "zones", About: commands.Text{EN: "for tests"}, Run: func(context.Context, *commands.Call) (a commands.Answer, err error) {
			a.Text = "Which?"
			for i := range zones {
				a.Buttons = append(a.Buttons, commands.Button{Label: fmt.Sprint("Zone ", i), Command: fmt.Sprint("timezone Etc/GMT+", i+1)})
			}
			return a, nil
		}}}
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		r.Platform.Say("c1", "ada", "/zones")
		r.Await(1)
		buttons := r.Platform.Sent()[0].Buttons
		presses := map[int]bool{}
		for range 30 {
			i := rand.IntN(zones)
			user := []string{"ada", "ada", "ada", "bob"}[rand.IntN(4)]
			presses[i] = presses[i] || user == "ada"
			r.Platform.PressCode("c1", user, "m1", buttons[i].Code)
			if rand.IntN(6) == 0 {
				r.End()
				r.Start()
			}
		}
		want := 0
		for _, by := range presses {
			if by {
				want++
			}
		}
		// The last of them is behind all presses.
		r.Platform.Say("c1", "bob", "and now")
		r.says("re: and now")
		r.Until("all is answered", func() bool { return len(r.Platform.Sent()) == want+2 })
		answers := map[string]int{}
		for _, text := range routertest.Texts(r.Platform.Sent()) {
			answers[strings.Split(text, ": it is")[0]]++
		}
		for i := range zones {
			said := answers[fmt.Sprintf("The time zone here is Etc/GMT+%d", i+1)]
			if presses[i] != (said == 1) || said > 1 {
				t.Errorf("zone %d was pressed %v and is answered %d times", i, presses[i], said)
			}
		}
		if n := len(r.audited("session.timezone")); n != want {
			t.Errorf("%d changes, want %d", n, want)
		}
	})
}

// A command that breaks off as its button is pressed leaves the button as it is.
func TestButtonWhoseCommandBreaksOff(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var tries atomic.Int32
		about := commands.Text{EN: "for tests"}
		r.Commands = []commands.Command{
			{Name: "list", About: about, Run: func(context.Context, *commands.Call) (commands.Answer, error) {
				return commands.Answer{Text: "What now?", Buttons: []commands.Button{{Label: "Go", Command: "go"}}}, nil
			}},
			{Name: "go", About: about, Run: func(context.Context, *commands.Call) (commands.Answer, error) {
				switch tries.Add(1) {
				case 1:
					return commands.Answer{}, fmt.Errorf("away: %w", core.ErrNotNow) // it is handed in again
				case 2:
					return commands.Answer{}, errors.New("a fault of its own")
				case 3:
					panic("another one")
				}
				return commands.Says("Gone."), nil
			}},
		}
		r.Script.Rich, r.Script.Buttons = true, true
		r.Start()
		r.Platform.Say("c1", "ada", "/list")
		r.Await(1)
		for i := range 2 {
			r.Toasts(r.Platform.Press("c1", "ada", "Go"), "")
			r.Shows(i+2, "I could not look that up just now; please press again.")
		}
		r.Toasts(r.Platform.Press("c1", "ada", "Go"), "")
		r.Shows(4, "Gone.")
	})
}
