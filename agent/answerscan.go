package agent

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// An answerScan finds the ready answer in a plan that is still being written: the
// text of "answer" in the first of "tasks".
type answerScan struct {
	// accept judges the plan up to the answer, with a word in its place and the ends
	// that it lacks.
	accept func(plan string) bool

	at     int // what comes before it was read
	start  int // where the plan begins
	state  scanState
	quoted int // where the string begins that at is in; 0: in none
	levels []scanLevel
	ends   string // what has to follow the answer
	answer strings.Builder
}

type scanState int

const (
	scanSeeks   scanState = iota // for the answer
	scanReads                    // it
	scanEnds                     // the plan
	scanRefuses                  // whatever comes: this plan has no answer that may be shown
)

// A scanLevel is an object or a list that is open.
type scanLevel struct {
	list  bool
	key   string // of an object: whose value is read
	named bool   // the key was read
	index int    // of a list
}

// read returns what is to be shown of the answer, given the plan so far: the same
// text as before with more behind it. Anything else that is shorter begins anew.
func (s *answerScan) read(plan string) string {
	if len(plan) < s.at {
		*s = answerScan{accept: s.accept}
	}
	for s.at < len(plan) {
		before, state := s.at, s.state
		switch s.state {
		case scanSeeks:
			s.seek(plan)
		case scanReads:
			s.decode(plan)
		case scanEnds:
			s.end(plan)
		case scanRefuses:
			s.at = len(plan)
		}
		if s.at == before && s.state == state {
			break // more is needed
		}
	}
	if s.state == scanRefuses {
		return ""
	}
	return s.answer.String()
}

// seek reads to the next byte that says where it is.
func (s *answerScan) seek(plan string) {
	if s.quoted > 0 {
		s.skip(plan)
		return
	}
	c := plan[s.at]
	if len(s.levels) == 0 && c != '{' {
		s.at++ // prose, or a fence
		return
	}
	s.at++
	switch c {
	case '{', '[':
		if len(s.levels) == 0 {
			s.start = s.at - 1
		}
		s.levels = append(s.levels, scanLevel{list: c == '['})
	case '}', ']':
		if s.levels = s.levels[:len(s.levels)-1]; len(s.levels) == 0 {
			s.state = scanRefuses // the plan has ended
		}
	case ',':
		top := &s.levels[len(s.levels)-1]
		top.index++
		top.named = false
	case '"':
		s.quoted = s.at
		if s.atAnswer() {
			s.open(plan)
		}
	}
}

// atAnswer says that the value that begins is the answer.
func (s *answerScan) atAnswer() bool {
	l := s.levels
	return len(l) == 3 && l[0].named && l[0].key == "tasks" && l[1].list && l[1].index == 0 && l[2].named && l[2].key == "answer"
}

// open begins to read the answer, if the plan before it is right.
func (s *answerScan) open(plan string) {
	s.state, s.ends = scanReads, "}]}"
	if !s.accept(plan[s.start:s.at] + `x"` + s.ends) {
		s.state = scanRefuses
	}
}

// skip reads to the end of a string, which may be a key.
func (s *answerScan) skip(plan string) {
	for s.at < len(plan) {
		switch plan[s.at] {
		case '\\':
			if s.at+1 == len(plan) {
				return
			}
			s.at += 2
		case '"':
			top := &s.levels[len(s.levels)-1]
			if !top.list && !top.named {
				top.named = true
				top.key = plan[s.quoted:s.at]
				if strings.Contains(top.key, `\`) && json.Unmarshal([]byte(plan[s.quoted-1:s.at+1]), &top.key) != nil {
					s.state = scanRefuses
				}
			}
			s.at++
			s.quoted = 0
			return
		default:
			s.at++
		}
	}
}

// decode adds what is complete of the answer.
func (s *answerScan) decode(plan string) {
	end, closed := s.at, false
	for end < len(plan) && !closed {
		n := 1
		switch c := plan[end]; {
		case c == '"':
			closed, n = true, 0
		case c == '\\':
			n = escapeLen(plan[end:])
		case c < ' ':
			s.state = scanRefuses
			return
		case c >= utf8.RuneSelf:
			if n = 0; utf8.FullRuneInString(plan[end:]) {
				_, n = utf8.DecodeRuneInString(plan[end:])
			}
		}
		if n == 0 {
			break
		}
		end += n
	}
	piece := plan[s.at:end]
	if strings.Contains(piece, `\`) || !utf8.ValidString(piece) {
		if json.Unmarshal([]byte(`"`+piece+`"`), &piece) != nil {
			s.state = scanRefuses
			return
		}
	}
	s.answer.WriteString(piece)
	if s.at = end; closed {
		s.at++
		s.state = scanEnds
	}
}

// escapeLen is how many bytes the escape has that text begins with; 0: its end, or
// the other half of its character, has not come.
func escapeLen(text string) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != 'u' {
		return 2
	}
	if len(text) < 6 {
		return 0
	}
	high := (text[2] == 'd' || text[2] == 'D') && strings.ContainsRune("89abAB", rune(text[3]))
	switch rest := text[6:]; {
	case !high:
		return 6
	case rest == "" || rest == `\`:
		return 0
	case !strings.HasPrefix(rest, `\u`): // half of a character, alone
		return 6
	case len(rest) < 6:
		return 0
	}
	return 12
}

// end reads what may follow the answer: the ends of the plan, then prose.
func (s *answerScan) end(plan string) {
	for ; s.at < len(plan); s.at++ {
		switch c := plan[s.at]; {
		case isSpace(c), s.ends == "":
		case c == s.ends[0]:
			s.ends = s.ends[1:]
		default:
			s.state = scanRefuses
			return
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
