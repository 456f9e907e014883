package agent

import (
	"encoding/json"
	"errors"
	"io"
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
	state  scanState
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

// read returns what is to be shown of the answer, given the plan so far: the same
// text as before with more behind it. A plan that is shorter than before begins again.
func (s *answerScan) read(plan string) string {
	if len(plan) < s.at {
		*s = answerScan{accept: s.accept}
	}
	if s.state == scanSeeks {
		s.seek(plan)
	}
	if s.state == scanReads {
		s.decode(plan)
	}
	if s.state == scanEnds {
		s.end(plan)
	}
	if s.state == scanRefuses {
		s.at = len(plan)
		return ""
	}
	return s.answer.String()
}

// seek looks for the answer, and whether the plan before it is right.
func (s *answerScan) seek(plan string) {
	s.at = len(plan)
	start := strings.IndexByte(plan, '{') // behind prose, or a fence
	if start < 0 || !strings.Contains(plan, `"answer"`) {
		return
	}
	switch at, err := answerAt(plan[start:]); {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF): // more is needed
	case err == nil && s.accept(plan[start:start+at]+`x"}]}`):
		s.at, s.state, s.ends = start+at, scanReads, "}]}"
	default:
		s.state = scanRefuses
	}
}

var errNoAnswer = errors.New("the plan has no ready answer")

// answerAt is where the text of the answer begins; io.EOF and io.ErrUnexpectedEOF: the plan is not
// written so far.
func answerAt(plan string) (int, error) {
	d := json.NewDecoder(strings.NewReader(plan))
	for _, step := range []any{json.Delim('{'), "tasks", json.Delim('['), json.Delim('{'), "answer"} {
		for {
			token, err := d.Token()
			if err != nil {
				return 0, err
			}
			if token == step {
				break
			}
			if _, isKey := token.(string); !isKey || step == json.Delim('{') || step == json.Delim('[') {
				return 0, errNoAnswer
			}
			if err := d.Decode(new(json.RawMessage)); err != nil { // another key's value
				return 0, err
			}
		}
	}
	at := d.InputOffset()
	rest := strings.TrimLeft(plan[at:], " \n\r\t:")
	switch {
	case rest == "":
		return 0, io.EOF
	case rest[0] != '"':
		return 0, errNoAnswer
	}
	return len(plan) - len(rest) + 1, nil
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
		case strings.IndexByte(" \n\r\t", c) >= 0, s.ends == "":
		case c == s.ends[0]:
			s.ends = s.ends[1:]
		default:
			s.state = scanRefuses
			return
		}
	}
}
