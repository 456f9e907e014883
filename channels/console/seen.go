package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"switchboard/channels"
)

// seen is how far a conversation has been shown to its person, kept in a file that
// only its owner can read. It is used by one goroutine. Of two processes that write
// at once one may be forgotten; then something is shown twice.
type seen struct {
	path   string // empty: kept in memory
	conv   string
	n      int64 // the number of the last event shown
	saved  int64
	behind bool // the file knew a number that no event has: it is of another database
}

// openSeen reads the file at path, where last is the number of the conversation's
// newest event. A file that cannot be read is as good as empty.
func openSeen(path, conv string, last int64) *seen {
	s := &seen{path: path, conv: conv}
	if path == "" {
		s.n, s.saved = last, last
		return s
	}
	s.saved = readSeen(path)[conv]
	s.n = min(s.saved, last)
	s.behind = s.saved > last
	return s
}

func readSeen(path string) map[string]int64 {
	var numbers map[string]int64
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &numbers) != nil || numbers == nil {
		return map[string]int64{}
	}
	maps.DeleteFunc(numbers, func(_ string, n int64) bool { return n < 0 })
	return numbers
}

// advance notes that all events up to number n were shown.
func (s *seen) advance(n int64) { s.n = max(s.n, n) }

// save writes the file, if there is something new.
func (s *seen) save() error {
	if s.path == "" || s.n == s.saved {
		return nil
	}
	if err := s.write(); err != nil {
		return fmt.Errorf("remember what was shown: %w", err)
	}
	s.saved = s.n
	return nil
}

func (s *seen) write() error {
	numbers := readSeen(s.path)
	if known := numbers[s.conv]; known > s.n && !s.behind {
		return nil // another terminal is further
	}
	numbers[s.conv] = s.n
	s.behind = false
	raw, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, filepath.Base(s.path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // which it has no more when all is well
	_, err = file.Write(append(raw, '\n'))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), s.path)
}

const (
	// missedMost is how many missed messages are shown.
	missedMost = 20
	// lookBack is how many events before the missed ones are read for the questions
	// they answer and for turns that still run.
	lookBack = 500
)

// missed gathers what was said while the person was away.
type missed struct {
	after     int64            // what is new comes behind this number
	questions map[int64]string // of the turns met, by turn
	said      []answered       // the newest messages
	left      int              // how many older ones were left out
	proposed  int64            // the turn of which the next message asks for a decision
	undecided map[int64]string // what such messages say, by turn
}

// answered is a message with the question it answers, which may be empty.
type answered struct {
	turn           int64
	question, text string
	notice         bool
}

// asked is a question as it stands there again.
func asked(question string) string { return prompt + oneLine(question, 4*detailWidth) }

func newMissed(after int64) *missed {
	return &missed{after: after, questions: map[int64]string{}, undecided: map[int64]string{}}
}

// add takes the conversation's events in their order.
func (m *missed) add(e channels.SessionEvent) {
	switch {
	case e.Message == nil:
		if state := readData(e).State; e.Kind == "approval" && state == "proposed" {
			m.proposed = e.TurnID
		} else if e.Kind == "approval" || e.Kind == "turn" && over(state) {
			delete(m.undecided, e.TurnID)
		}
		return
	case m.proposed != 0 && m.proposed == e.TurnID:
		m.undecided[e.TurnID], m.proposed = e.Message.Text, 0
	}
	switch {
	case e.Message.Direction != "out":
		m.questions[e.TurnID] = e.Message.Text
	case e.N > m.after:
		// A notice within a turn is progress, unless it is the turn's last word.
		m.said = slices.DeleteFunc(m.said, func(a answered) bool { return a.notice && a.turn != 0 && a.turn == e.TurnID })
		m.said = append(m.said, answered{e.TurnID, m.questions[e.TurnID], e.Message.Text, e.Message.Notice})
		if e.TurnID == 0 {
			delete(m.questions, 0) // a command's answer comes right behind it
		}
		if len(m.said) > missedMost {
			m.said = slices.Delete(m.said, 0, 1)
			m.left++
		}
	}
}

// lines words what was missed, with show for each answer; none if nothing was.
func (m *missed) lines(show func(markdown string) string) []string {
	if len(m.said) == 0 {
		return nil
	}
	lines := []string{"while you were away:"}
	if m.left > 0 {
		lines = append(lines, fmt.Sprintf("(%d older ones are left out)", m.left))
	}
	var before int64
	for _, a := range m.said {
		if a.question != "" && (a.turn == 0 || a.turn != before) {
			lines = append(lines, asked(a.question))
		}
		before = a.turn
		lines = append(lines, show(a.text))
	}
	return lines
}

// still shows what there is to say of turns of which nothing stands there yet, oldest first,
// below a heading; none if that is nothing.
func (m *missed) still(heading string, texts map[int64]string, show func(string) string) (lines []string) {
	for _, turn := range slices.Sorted(maps.Keys(texts)) {
		told := slices.ContainsFunc(m.said, func(a answered) bool { return a.turn == turn })
		if texts[turn] != "" && !told {
			lines = append(lines, show(texts[turn]))
		}
	}
	if len(lines) > 0 {
		lines = slices.Insert(lines, 0, heading)
	}
	return lines
}
