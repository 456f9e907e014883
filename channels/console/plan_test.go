package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
)

func TestTerminalShowsWhatIsAhead(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	defer close(step) // lets the turn go if the test fails
	s := sit(t, newEngine(t, func(_ string, u *turn) {
		if u.id == 0 {
			return
		}
		u.raw("plan", `{"attempt":0,"goal":"look","count":3,"tasks":[{"type":"exec","detail":"ls -l"},{"type":"tool","tool":"time","detail":"ask"},{"type":"msg","detail":"tell"}]}`)
		<-step
		u.raw("task", `{"attempt":0,"position":0,"type":"exec","state":"running"}`)
		<-step
		u.raw("task", `{"attempt":0,"position":0,"type":"exec","state":"done"}`)
		u.raw("task", `{"attempt":0,"position":1,"type":"tool","state":"running"}`)
		<-step
		u.raw("task", `{"attempt":0,"position":1,"type":"tool","state":"failed","code":"no_way"}`)
		u.raw("task", `{"attempt":0,"position":2,"type":"msg","state":"running"}`)
		u.grow("It did")
		<-step
		u.raw("task", `{"attempt":0,"position":2,"type":"msg","state":"done"}`)
		u.ends("It did not work.")
	}), nil)
	s.press("go\r")
	const asked = "> go"
	s.standing(asked, "goal: look", "then 1. run a command: ls -l", "then 2. ask", "then 3. write the answer", ">")
	step <- struct{}{}
	s.standing(asked, "goal: look", "now 1. run a command: ls -l", "then 2. ask", "then 3. write the answer", ">")
	s.press("/status\r") // it does not come between the goal and its steps
	const more = "> /status"
	s.standing(asked, more, "goal: look", "now 1. run a command: ls -l", "then 2. ask", "then 3. write the answer", ">")
	step <- struct{}{}
	s.standing(asked, more, "goal: look", "ok 1. run a command: ls -l", "now 2. ask", "then 3. write the answer", ">")
	step <- struct{}{}
	s.standing(asked, more, "goal: look", "ok 1. run a command: ls -l", "failed 2. ask: no way", "now 3. write the answer", "It did", ">")
	step <- struct{}{}
	s.standing(asked, more, "goal: look", "ok 1. run a command: ls -l", "failed 2. ask: no way", "ok 3. write the answer", "It did not work.", ">")
	s.leave()
}

// A plan that begins by speaking is shown from its first step, and stays below what it
// says; when it is cancelled the list says how far it came, and "Cancelled." stands once.
func TestPlanThatSpeaksFirstStaysBelowItsWords(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	defer close(step) // lets the turn go if the test fails
	s := sit(t, newEngine(t, func(_ string, u *turn) {
		u.raw("plan", `{"attempt":0,"goal":"look","count":4,"tasks":[{"type":"msg","detail":"say that you begin"},{"type":"exec","detail":"ls"},{"type":"exec","detail":"wc"},{"type":"msg","detail":"tell"}]}`)
		u.raw("task", `{"position":0,"type":"msg","state":"done"}`)
		u.say("I begin.", false, false)
		u.raw("task", `{"position":1,"type":"exec","state":"running"}`)
		<-step
		u.raw("task", `{"position":1,"type":"exec","state":"cancelled","outcome":"cancelled","code":"cancelled"}`)
		u.say("Cancelled. Done: nothing.", false, true)
		u.raw("turn", `{"state":"cancelled","outcome":"cancelled"}`)
	}), nil)
	s.press("go\r")
	s.standing("> go", "I begin.", "goal: look", "ok 1. send a message", "now 2. run a command: ls", "then 3. run a command: wc", "then 4. write the answer", ">")
	step <- struct{}{}
	s.standing("> go", "I begin.", "goal: look", "ok 1. send a message", "failed 2. run a command: ls: stopped midway", "not done 3. run a command: wc", "not done 4. write the answer", "Cancelled. Done: nothing.", ">")
	time.Sleep(50 * time.Millisecond) // the turn's end comes behind
	s.standing("> go", "I begin.", "goal: look", "ok 1. send a message", "failed 2. run a command: ls: stopped midway", "not done 3. run a command: wc", "not done 4. write the answer", "Cancelled. Done: nothing.", ">")
	s.leave()
}

// Who comes back while a turn runs sees what was asked and the whole of its plan.
func TestPlanIsWholeForWhoComesBack(t *testing.T) {
	t.Parallel()
	_, with := seenFile(t)
	turns := make(chan *turn, 1)
	e := newEngine(t, func(_ string, u *turn) { turns <- u })
	s := sit(t, e, with)
	s.press("how many?\r")
	u := <-turns
	u.raw("plan", `{"attempt":0,"goal":"count","count":2,"tasks":[{"type":"exec","detail":"wc"},{"type":"msg","detail":"tell"}]}`)
	u.raw("task", `{"position":0,"type":"exec","state":"running"}`)
	s.await("now 1.")
	s.leave()
	u.raw("task", `{"position":0,"type":"exec","state":"interrupted","outcome":"error","code":"interrupted"}`)
	s = sit(t, e, with)
	s.standing("still at work on:", "> how many?", "goal: count", "failed 1. run a command: wc: stopped midway", "then 2. write the answer", ">")
	u.raw("task", `{"position":1,"type":"msg","state":"done"}`)
	u.answer("Nobody knows.")
	s.standing("still at work on:", "> how many?", "goal: count", "failed 1. run a command: wc: stopped midway", "ok 2. write the answer", "Nobody knows.", ">")
	s.leave()
}

// A long plan is shown around the step it is at, and whole when it is over.
func TestLongPlanIsShownAroundItsStep(t *testing.T) {
	t.Parallel()
	p := newProgress(plain)
	tasks := strings.Repeat(`{"type":"exec","detail":"ls"},`, 11) + `{"type":"exec","detail":"ls"}`
	tell := func(kind, data string) []string {
		list, end := p.settled(channels.SessionEvent{TurnID: 1, Kind: kind, Data: json.RawMessage(data)})
		return append(list, end...)
	}
	tell("plan", `{"goal":"g","count":14,"tasks":[`+tasks+`]}`)
	for i := range 6 {
		tell("task", fmt.Sprintf(`{"position":%d,"type":"exec","state":"done"}`, i))
	}
	got := p.ahead()
	want := []string{"goal: g", "(2 before)", "ok 3. run a command: ls", "(4 more)"}
	if len(got) != 2+stepsMost+1 || !slices.Equal([]string{got[0], got[1], got[2], got[len(got)-1]}, want) {
		t.Errorf("%q", got)
	}
	if all := tell("turn", `{"state":"failed","outcome":"call_limit"}`); len(all) != 16 || all[14] != "not done 14. step" || all[15] != "It failed (call limit); /why says more." {
		t.Errorf("%q", all)
	}
	if left := p.ahead(); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// The end of a turn is told once: not where the turn, or the command that ended it, has
// said it.
func TestEndOfATurnIsShownOnce(t *testing.T) {
	t.Parallel()
	out := &channels.SessionMessage{Direction: "out", Notice: true}
	end := channels.SessionEvent{Kind: "turn", TurnID: 1, Data: json.RawMessage(`{"state":"cancelled","outcome":"cancelled"}`)}
	for name, c := range map[string]struct {
		before channels.SessionEvent
		told   bool
	}{
		"nobody said it":        {channels.SessionEvent{Kind: "turn", TurnID: 1, Data: json.RawMessage(`{"state":"running"}`)}, true},
		"another turn spoke":    {channels.SessionEvent{Kind: "message", TurnID: 2, Message: out}, true},
		"it was asked":          {channels.SessionEvent{Kind: "message", TurnID: 1, Message: &channels.SessionMessage{Direction: "in"}}, true},
		"the turn spoke":        {channels.SessionEvent{Kind: "message", TurnID: 1, Message: out}, false},
		"the command's answer":  {channels.SessionEvent{Kind: "message", Message: out}, false},
		"it went on afterwards": {channels.SessionEvent{Kind: "task", TurnID: 1, Data: json.RawMessage(`{"state":"running"}`)}, true},
	} {
		for reader, read := range map[string]func(*progress, channels.SessionEvent) []string{"lines": (*progress).lines, "settled": func(p *progress, e channels.SessionEvent) []string {
			_, end := p.settled(e)
			return end
		}} {
			p := newProgress(plain)
			c.before.N, end.N = 7, 8
			read(p, c.before)
			if got := read(p, end); (len(got) == 1 && got[0] == "Cancelled.") != c.told || len(got) > 1 {
				t.Errorf("%s, %s: %q", name, reader, got)
			}
		}
	}
}
