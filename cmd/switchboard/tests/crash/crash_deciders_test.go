package crash_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
)

// A question is one as it is shown to an admin.
type question struct {
	channelstest.Sent
	user   string // the admin
	code   string
	job    int
	number int // of the questions in this chat for the same job
}

// own says that the admin asked for it.
func (q *question) own() bool { return q.user == fmt.Sprintf("u%d", q.job%wishers) }

// hands are those of the admins.
type hands struct {
	c       *approvalsCrash
	read    int // of what the platform shows
	codes   map[string]bool
	numbers map[string]int
	later   []later
	presses []press
	about   map[string]*question // by callback
}

type later struct {
	at time.Time
	do func()
}

// A press waits for the platform to show what became of it.
type press struct {
	callback string
	at       time.Time
	again    int // how often it may be repeated
	question *question
	label    string
}

var questionPattern = regexp.MustCompile(`(?s)echo (\d+) >> log\.txt.*approve ([A-Z2-7]{4}-[A-Z2-7]{4})`)

// decide answers questions until stop is closed. It counts what the presses were told.
func (c *approvalsCrash) decide(stop <-chan struct{}) (told map[string]map[int]int) {
	h := &hands{c: c, codes: map[string]bool{}, numbers: map[string]int{}, about: map[string]*question{}}
	for {
		select {
		case <-stop:
			return h.told()
		case <-time.After(3 * time.Millisecond):
		}
		if c.patient.Load() {
			continue
		}
		sent := c.rig.Platform.Sent()
		for _, s := range sent[h.read:] {
			m := questionPattern.FindStringSubmatch(s.Text)
			if m == nil || h.codes[m[2]] { // it may be shown again
				continue
			}
			h.codes[m[2]] = true
			q := &question{Sent: s, user: strings.TrimPrefix(string(s.Conversation), "c"), code: m[2]}
			q.job, _ = strconv.Atoi(m[1])
			about := q.user + " " + m[1]
			h.numbers[about]++
			q.number = h.numbers[about]
			h.answer(q)
		}
		h.read = len(sent)
		h.goOn()
	}
}

// answer does with a question what the fate of its job is.
func (h *hands) answer(q *question) {
	n, platform := q.job, h.c.rig.Platform
	admin, _ := strconv.Atoi(strings.TrimPrefix(q.user, "u"))
	does := "Allow once"
	switch {
	case fate(n) == "left": // a code and a button count for nothing elsewhere
		other := fmt.Sprintf("u%d", (admin+1)%deciders)
		platform.Say("c"+other, other, "/approve "+q.code)
		platform.PressCode("c"+other, other, string(q.ID), q.button(does))
		if asker := fmt.Sprintf("u%d", n%wishers); !q.own() {
			platform.Say("c"+asker, asker, "/approve "+q.code)
		}
		return
	case fate(n) == "both" && q.own():
		h.press(q, "Deny")
	case fate(n) == "both" && admin%2 > 0, fate(n) == "denied", deniedAnew(n) && q.number > 1:
		does = "Deny"
	}
	way := n / 5 % 4
	if !q.own() && admin != n%deciders && way != 2 && fate(n) != "both" {
		return // another admin does it
	}
	switch way {
	case 0:
		h.press(q, does)
	case 1:
		h.typed(q, does)
	case 2: // over and over
		h.press(q, does)
		h.typed(q, does)
		h.press(q, does)
	case 3: // after a newer message of who asked
		h.c.place.Say(n%wishers, "and meanwhile")
		h.later = append(h.later, later{time.Now().Add(60 * time.Millisecond), func() { h.press(q, does) }})
	}
}

// goOn does what is due, and repeats presses of which nothing is seen.
func (h *hands) goOn() {
	due := h.later
	h.later = nil
	for _, l := range due {
		if time.Now().Before(l.at) {
			h.later = append(h.later, l)
			continue
		}
		l.do()
	}
	shown := map[string]bool{}
	for _, toast := range h.c.rig.Platform.Toasts() {
		shown[toast.Callback] = true
	}
	open := h.presses
	h.presses = nil
	for _, p := range open {
		switch {
		case shown[p.callback]:
			if p.label == "Deny" && fate(p.question.job) == "denied" && p.question.number == 1 { // it is too late to think better of it
				p.question.number = 0
				h.press(p.question, "Allow once")
				h.typed(p.question, "Allow once")
			}
		case time.Since(p.at) > 500*time.Millisecond && p.again > 0:
			h.press(p.question, p.label)
			h.presses[len(h.presses)-1].again = p.again - 1
		case p.again > 0:
			h.presses = append(h.presses, p)
		}
	}
}

func (h *hands) press(q *question, label string) {
	callback := h.c.rig.Platform.PressCode(string(q.Conversation), q.user, string(q.ID), q.button(label))
	h.about[callback] = q
	h.presses = append(h.presses, press{callback: callback, at: time.Now(), again: 3, question: q, label: label})
	h.c.said.Add(1)
}

func (h *hands) typed(q *question, label string) {
	command := "/approve " + q.code
	if label == "Deny" {
		command = "/deny " + q.code + " not now"
	}
	h.c.rig.Platform.Say(string(q.Conversation), q.user, command)
	h.c.said.Add(1)
}

// told counts the questions of each job that a press was told to have decided.
func (h *hands) told() map[string]map[int]int {
	told, seen := map[string]map[int]int{"Allowed": {}, "Denied": {}}, map[string]bool{}
	for _, toast := range h.c.rig.Platform.Toasts() {
		what, _, _ := strings.Cut(toast.Text, ".")
		q := h.about[toast.Callback]
		if q == nil || told[what] == nil || seen[q.code] { // it may be told again after a kill
			continue
		}
		seen[q.code] = true
		told[what][q.job]++
	}
	return told
}

// button is the code of the question's button of that label.
func (q *question) button(label string) string {
	i := slices.IndexFunc(q.Buttons, func(b channels.Button) bool { return b.Label == label })
	if i < 0 {
		return "" // which nothing has
	}
	return q.Buttons[i].Code
}
