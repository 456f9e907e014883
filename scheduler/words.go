package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// When is a time in words that was read.
type When struct {
	Spec Spec
	Rest string // what stood behind or before the time: "call Ann" of "tomorrow at 9 to call Ann"
}

// Ambiguous says that words mean one of several times.
type Ambiguous struct{ Choices []Choice }

// A Choice is one of the times that may be meant.
type Choice struct {
	Words string // that mean it, and that Read takes
	When  When
}

func (e *Ambiguous) Error() string {
	var list []string
	for _, c := range e.Choices {
		list = append(list, "“"+c.Words+"”")
	}
	return "that may be " + strings.Join(list, " or ") + "; say which"
}

// PastError says that a time is over.
type PastError struct{ Reason string }

func (e *PastError) Error() string { return e.Reason }

// taken is what to say to somebody whose time was not understood.
const taken = "say for example “in 20 minutes”, “tomorrow at 9”, “on friday at 18:30”, “on 5 december at 9”, " +
	"“every weekday at 8”, “every 15 minutes” or “cron 0 8 * * 1-5”"

// Read reads a time in words, at the start or the end of a text, as somebody in a zone means it now. An
// error is an *Ambiguous, a *PastError, or says what is wrong, for whoever wrote the text. The text may be long.
func Read(text string, now time.Time, zone string) (When, error) {
	if _, err := Zone(zone); err != nil {
		return When{}, err
	}
	tokens := tokenize(text)
	said, first, last, err := find(tokens)
	if err != nil {
		return When{}, err
	}
	if said.zone == "" {
		said.zone = zone
	}
	when := When{Rest: rest(text, tokens, first, last)}
	r := resolver{said: said, now: now.UTC()}
	r.zone, _ = Zone(said.zone)
	specs, err := r.specs()
	if err != nil {
		return When{}, err
	}
	for i := range specs {
		if err := specs[i].Check(); err != nil {
			return When{}, err
		}
		if _, ok := specs[i].Next(now); !ok {
			return When{}, &PastError{fmt.Sprintf("That is over, or never comes: %s. It is %s now.", &specs[i], sayMoment(r.now, r.zone))}
		}
	}
	if when.Spec = specs[0]; len(specs) == 1 {
		return when, nil
	}
	var choices []Choice
	for _, s := range specs {
		choices = append(choices, Choice{Words: s.short(now, zone), When: When{Spec: s, Rest: when.Rest}})
	}
	return When{}, &Ambiguous{choices}
}

// short is s in words, with no more than it takes to be understood by somebody in a zone now.
func (s *Spec) short(now time.Time, home string) string {
	zone, _ := Zone(s.Zone)
	at, ok := s.Next(now)
	if s.At == "" || !ok {
		return s.String()
	}
	text := sayMoment(at, zone)
	if at.In(zone).Year() == now.In(zone).Year() {
		text = strings.Replace(text, fmt.Sprintf(" %d at", at.In(zone).Year()), " at", 1)
	}
	if s.Zone != home {
		text += " (" + s.Zone + ")"
	}
	return text
}

// find looks for a time: at the start, at the end, or a day at one and its time at the other. First and last bound
// the tokens that are left.
func find(tokens []token) (said *said, first, last int, err error) {
	n := len(tokens)
	for n > 1 && (tokens[n-1].word == "please" || tokens[n-1].word == "thanks") {
		n--
	}
	tokens = tokens[:n]
	p := grammar{tokens: tokens, start: true}
	head := p.parse()
	if first = p.at; p.err != nil {
		return nil, 0, 0, p.err
	}
	if head != nil && (head.whole() || first == n || p.ended(":")) {
		return head, first, n, head.apart(tokens, first, n)
	}
	middle := ""
	for i := first; i < n; i++ {
		p := grammar{tokens: tokens, at: i}
		tail := p.parse()
		if err == nil {
			err = p.err
		}
		if tail != nil && i > first && tokens[i-1].word == "of" && tail.again != nil && (tail.again.week || tail.again.month || tail.again.year) {
			return nil, 0, 0, fmt.Errorf("“of %s %s” is not taken there; a job comes on days of the week or on dates, as in “every friday” or “every month on the 1st”%s", tokens[i].word, tokens[min(i+1, n-1)].word, escape)
		}
		switch {
		case tail != nil && p.err == nil && middle == "" && p.at < n:
			for _, t := range tokens[i:p.at] {
				middle += t.raw + " "
			}
		case p.err != nil || tail == nil || p.at < n:
		case head == nil:
			wrong := dangling(tokens, 0, i, tail)
			if wrong != nil && err != nil {
				wrong = err
			}
			return tail, 0, i, wrong
		case head.join(tail):
			return head, first, i, dangling(tokens, first, i, head)
		}
	}
	switch {
	case head != nil:
		return head, first, n, head.apart(tokens, first, n)
	case middle != "":
		return nil, 0, 0, fmt.Errorf("the time stands in the middle of the text; write it at the start or at the end: “%s…”", middle)
	case err != nil:
		return nil, 0, 0, err
	}
	return nil, 0, 0, fmt.Errorf("no time was found in it; %s", taken)
}

var (
	periods = strings.Fields("month year week quarter weekend")
	leads   = strings.Fields("next this the of")
)

// dangling says what of a text that ends where a time begins belongs to the time and was not read.
func dangling(tokens []token, first, i int, s *said) error {
	if i == first {
		return nil
	}
	former := tokens[i-1]
	switch former.word {
	case "and", "or", "&", "till", "until", "through", "from", "between", "except", "not", "before", "after", "every", "last", "around", "than", "early", "late", "thing":
		return fmt.Errorf("“%s %s” is not understood; %s", former.word, tokens[i].word, taken)
	}
	if numericDate(former.raw) || (i == first+1 || tokens[i-2].word == "on") && numericDate(former.raw+".") {
		return fmt.Errorf("%s is a date that is read in two ways; write it as 2026-12-05 or 5 december", former.raw)
	}
	if s.day == nil && s.again == nil && len(s.clocks) > 0 && i > first+1 {
		_, isMonth := month(former.word)
		switch before := tokens[i-2].word; {
		case isMonth && before == "in", former.word == "next" && before == "after",
			slices.Contains(periods, former.word) && slices.Contains(leads, before):
			return fmt.Errorf("“%s %s” is no exact day; write a date, such as 5 december%s", before, former.word, escape)
		}
	}
	if _, _, isWeekday := weekday(tokens[i].word); isWeekday && isOrdinal(former.word) {
		return fmt.Errorf("“%s %s” is not taken; write a date, such as 5 december%s", former.word, tokens[i].word, escape)
	}
	beside := former.word
	if strings.Trim(beside, quotes+"-–—,") == "" && i > first+1 {
		beside = tokens[i-2].word
	}
	if n, ok := number(beside); s.clockless() && !s.counted() && (figure(beside) || ok && n <= 24 && i > first+1 && slices.Contains(nearly, tokens[i-2].word)) {
		return fmt.Errorf(noClock, beside)
	}
	return s.apart(tokens, first, i)
}

// rest is the text of some tokens, without the word that joined it to the time.
func rest(text string, tokens []token, first, last int) string {
	if first < last && tokens[first].word == "to" {
		first++
	}
	if first >= last {
		return ""
	}
	return strings.TrimRight(strings.TrimLeft(text[tokens[first].from:tokens[last-1].to], "-–—:,; "), "-–—,; ")
}

// A token is a word of a text.
type token struct {
	word     string // lower case, without the punctuation behind it
	raw      string
	from, to int // bytes of the text
}

func tokenize(text string) (tokens []token) {
	from := 0
	for raw := range strings.FieldsSeq(text) {
		from += strings.Index(text[from:], raw)
		if len(raw) > 1 && raw[0] == '@' && isDigit(raw[1:]) { // "@9"
			tokens = append(tokens, token{word: "@", raw: "@", from: from, to: from + 1})
			from, raw = from+1, raw[1:]
		}
		tokens = append(tokens, token{
			word: strings.ToLower(strings.TrimRight(raw, ",;:.!?")), raw: raw, from: from, to: from + len(raw),
		})
		from += len(raw)
	}
	return tokens
}
