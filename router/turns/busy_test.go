package turns_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/router"
	"switchboard/router/routertest"
)

// Two more places where a second message can meet a turn.
const (
	atQueue = "queue" // it has not begun
	atEnd   = "end"   // it is over
)

var boundaries = []string{atQueue, atPlan, atFirst, atReview, atSecond, atWorker, atEnd}

// meetings says what is answered to want-a and then want-b, by the mode and the
// boundary that want-b meets want-a's turn at; the rest are as the mode's "".
var meetings = map[string]map[string]string{
	"queue": {"": "re: want-a|re: want-b"},
	"steer": {
		"":       "re: want-a want-b",
		atWorker: "re: want-a|re: want-b", // no boundary follows
		atEnd:    "re: want-a|re: want-b",
	},
	"interrupt": {
		atQueue:  "re: want-a|re: want-b",
		atPlan:   "Stopped for your newer message.|re: want-b",
		atFirst:  "Stopped for your newer message. Done: nothing; stopped midway: `first`; not done: `second`.|re: want-b",
		atReview: "Stopped for your newer message. Done: `first`; not done: `second`.|re: want-b",
		atSecond: "Stopped for your newer message. Done: `first`; stopped midway: `second`.|re: want-b",
		atWorker: "Stopped for your newer message. Done: `first`, `second`.|re: want-b",
		atEnd:    "re: want-a|re: want-b",
	},
	"collect": {
		"":      "re: want-a|re: want-b",
		atQueue: "re: want-a want-b",
	},
}

// Also when the program dies with the acceptance of want-b.
func TestBusyModesHoldAtEachBoundary(t *testing.T) {
	t.Parallel()
	for mode := range meetings {
		for _, death := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/death=%v", mode, death), func(t *testing.T) {
				each(t, func(t *testing.T, r *rig) {
					s := newScene(t, r, mode)
					for _, boundary := range boundaries {
						s.meet(boundary, "want-a", death, func(conv, _ string) { r.Platform.Say(conv, "ada", "want-b") })
						if got, want := s.answers(boundary), cmp.Or(meetings[mode][boundary], meetings[mode][""]); got != want {
							t.Errorf("%s: answered %q, want %q", boundary, got, want)
						}
					}
				})
			})
		}
	}
}

// A scene is a rig with a mind, in which a turn is met at its boundaries. Each
// boundary has its own conversation.
type scene struct {
	*rig
	mind  *mind
	death *death
}

func newScene(t *testing.T, r *rig, busy string) *scene {
	t.Helper()
	s := &scene{rig: r, mind: newMind(t), death: &death{}}
	r.Agent = s.mind
	r.Store = func(l router.Store) router.Store { return mortal{l, s.death} }
	r.Config.Busy, r.Config.CollectWindow = busy, 100*time.Millisecond
	r.Config.Workers = 4 // one a person
	r.Start()
	return s
}

func (s *scene) conv(boundary string) string { return "c-" + boundary }

// meet has ada say first in the boundary's conversation, does then, which says
// want-b, when the boundary is reached, and waits until all turns are over. With
// death the program dies with the acceptance of want-b, and another is started.
func (s *scene) meet(boundary, first string, death bool, then func(conv, id string)) {
	s.T.Helper()
	conv, release := s.conv(boundary), func() {}
	before := s.mind.reached(boundary)
	var id string
	switch boundary {
	case atQueue:
		before = s.mind.reached(atPlan)
		release = s.mind.hold(atPlan)
		s.Platform.Say("c-other", "ada", "quick-other")
		s.Until("her worker is taken", func() bool { return s.mind.reached(atPlan) > before })
		id = s.Platform.Say(conv, "ada", first)
		s.Until("it is queued", func() bool { return s.state(conv, first) == "queued" })
	case atEnd:
		id = s.Platform.Say(conv, "ada", first)
		s.Until("it is answered", func() bool { return s.state(conv, first) == "done" })
	default:
		release = s.mind.hold(boundary)
		id = s.Platform.Say(conv, "ada", first)
		s.Until("it is there", func() bool { return s.mind.reached(boundary) > before })
	}
	if death {
		s.death.at("want-b")
	}
	then(conv, id)
	if death {
		s.Until("the program dies", s.death.over)
		s.mind.die()
		s.End()
		s.death.at("")
		s.Start()
	} else {
		s.Until("it is accepted", func() bool { return s.Platform.Pending() == 0 })
	}
	release()
	s.Settle()
}

func (s *scene) answers(boundary string) string {
	return strings.Join(routertest.Texts(s.Platform.SentIn(s.conv(boundary))), "|")
}

// state is that of the turn with this text in conv.
func (s *scene) state(conv, text string) string {
	for _, turn := range s.Turns() {
		if turn.Session == "play:"+conv && turn.Text == text {
			return turn.State
		}
	}
	return ""
}

// Collected messages run as one turn when the window after the newest is over, also
// when the engine was started meanwhile.
func TestCollectedMessagesRunWhenTheWindowIsOver(t *testing.T) {
	inTime(t, func(t *testing.T, r *rig) {
		r.Config.Busy, r.Config.CollectWindow = "collect", 4*time.Second
		r.Start()
		for _, restart := range []bool{false, true} {
			conv := fmt.Sprintf("c-%v", restart)
			said := time.Now()
			for i, text := range []string{"quick-a", "quick-b", "quick-c"} {
				said = time.Now()
				id := r.Platform.Say(conv, "ada", text)
				r.Until("it is accepted", func() bool { return r.Platform.Pending() == 0 })
				if i == 1 {
					r.Platform.Edit(conv, id, "quick-d")
					said = time.Now()
				}
				time.Sleep(2 * time.Second)
			}
			if restart {
				r.End()
				said = time.Now()
				r.Start()
			}
			r.Until("it is answered", func() bool { return len(r.Platform.SentIn(conv)) > 0 })
			took := time.Since(said)
			if got := strings.Join(routertest.Texts(r.Platform.SentIn(conv)), "|"); got != "re: quick-a\n\nquick-d\n\nquick-c" {
				t.Errorf("answered %q", got)
			}
			if took < 2*time.Second && !restart || took > 5*time.Second {
				t.Errorf("restart %v: answered %s after the newest", restart, took)
			}
		}
	})
}
