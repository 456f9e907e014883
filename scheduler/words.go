package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// When is a time in words that was read.
type When struct {
	Spec Spec
	Rest string // the text without the time and the request: "call Ann" of "remind me tomorrow at 9 to call Ann"
	Says string // what a timer or an alarm says, in the language of the text; empty: it is none
	Said string // the words of the time
}

// A Request is what a text is that may be one.
type Request struct {
	When         // the likeliest, where it is not clear
	Timed   bool // it has a time, or says that it is a request: Read says what is wrong with it
	Leading bool // it begins with the time or the request
	Spoken  bool // it says that it is a request, as "remind me" does
	Exact   bool // more than a day was said
}

// Ambiguous says that words mean one of several times, or perhaps one.
type Ambiguous struct {
	Why     string // a question; empty: it goes without saying
	Choices []Choice
}

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
	if e.Why != "" {
		return e.Why + " " + strings.Join(list, " or ")
	}
	return "that may be " + strings.Join(list, " or ") + "; say which"
}

// PastError says that a time is over.
type PastError struct{ Reason string }

func (e *PastError) Error() string { return e.Reason }

// taken is what to say to somebody whose time was not understood.
const taken = "say for example “in 20 minutes”, “tomorrow at 9”, “on friday at 18:30”, “on 5 december at 9”, " +
	"“every weekday at 8”, “every 15 minutes” or “cron 0 8 * * 1-5”"

// Read reads a time in words in a text that is a request, as somebody in a zone means it now. An error is an *Ambiguous,
// a *PastError, ErrNoTime, or says what is wrong, for the person who wrote the text. The text may be long.
func Read(text string, now time.Time, zone string) (When, error) {
	f := &finder{text: text, now: now, zone: zone, isRequest: true}
	return f.when(f.find())
}

// Find is Read of a text that may be no request: what only may be a time is none there, and the error ErrNoTime.
func Find(text string, now time.Time, zone string) (Request, error) {
	f := &finder{text: text, now: now, zone: zone}
	r := f.find()
	when, err := f.when(r)
	w := Request{When: when, Timed: !errors.Is(err, ErrNoTime) || r.spoken, Spoken: r.spoken}
	if several, ok := errors.AsType[*Ambiguous](err); ok {
		w.When = several.Choices[0].When
	}
	w.Exact = slices.ContainsFunc(r.spans, func(s found) bool { return s.said.exactly() })
	w.Leading = r.prefix > 0 && r.spoken || slices.ContainsFunc(slices.Concat(r.spans, r.wrong), func(s found) bool { return s.from == 0 })
	return w, err
}

// when is the time of a reading, or of one without its typing error.
func (f *finder) when(r *reading) (When, error) {
	if _, err := Zone(f.zone); err != nil {
		return When{}, err
	}
	if text := r.misspelt(); text != "" {
		g := *f
		g.text = text
		if meant := g.find(); meant.err == nil && (r.err != nil || meant.taken > r.taken) { // it takes for time what this one has left as text
			return When{}, meant.meantSo()
		}
	}
	return r.when()
}

// when is the time of a reading.
func (r *reading) when() (When, error) {
	if r.err != nil {
		if e, ok := errors.AsType[*several](r.err); ok {
			return When{}, e.ask()
		}
		return When{}, r.err
	}
	if r.strange() {
		return When{}, errStrange
	}
	return r.resolve(r.spans[0].said)
}

// meantSo asks whether the time was meant as it is read here.
func (r *reading) meantSo() error {
	when, err := r.when()
	if err != nil {
		return err
	}
	words := when.Spec.short(r.finder.now, r.finder.zone)
	return &Ambiguous{Why: fmt.Sprintf("Did you mean “%s”?", r.said(r.spans[0])), Choices: []Choice{{Words: words, When: when}}}
}

// ask asks which of several times is meant.
func (e *several) ask() error {
	r := e.reading
	var choices []Choice
	for _, s := range e.spans[:min(len(e.spans), 4)] {
		one := *r
		one.spans, one.err = []found{s}, nil
		one.compose(tokenize(r.finder.text, r.lang.elided))
		when, err := one.resolve(s.said)
		if several, ok := errors.AsType[*Ambiguous](err); ok {
			choices = append(choices, several.Choices...)
		} else if err == nil {
			choices = append(choices, Choice{Words: when.Spec.short(r.finder.now, r.finder.zone), When: when})
		}
	}
	if len(choices) < 2 {
		return e
	}
	return &Ambiguous{Why: "There is more than one time in that, and a reminder has one. Which is it?", Choices: choices}
}

// resolve finds out when that is which was said.
func (r *reading) resolve(said *said) (When, error) {
	f := r.finder
	if said.zone == "" {
		said.zone = f.zone
	}
	when := When{Rest: r.rest, Says: r.says, Said: r.saidAll(r.spans, "", "", " ")}
	res := resolver{said: said, now: f.now.UTC()}
	res.zone, _ = Zone(said.zone)
	res.home, _ = Zone(f.zone)
	specs, err := res.specs()
	if err != nil {
		return When{}, err
	}
	for i := range specs {
		if err := specs[i].Check(); err != nil {
			return When{}, err
		}
		if _, ok := specs[i].Next(f.now); !ok {
			return When{}, &PastError{fmt.Sprintf("That time is in the past, or never comes: %s. It is %s now.", &specs[i], sayMoment(res.now, res.zone))}
		}
	}
	if r.wakes { // in the morning, where both may be meant
		early := slices.DeleteFunc(slices.Clone(specs), func(s Spec) bool {
			at, _ := s.Next(f.now)
			return at.In(res.zone).Hour() >= 12
		})
		if len(early) > 0 {
			specs = early
		}
	}
	if when.Spec = specs[0]; len(specs) == 1 {
		return when, nil
	}
	var choices []Choice
	for _, s := range specs {
		when.Spec = s
		choices = append(choices, Choice{Words: s.short(f.now, f.zone), When: when})
	}
	return When{}, &Ambiguous{Choices: choices}
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

var (
	periods = strings.Fields("month year week quarter weekend")
	leads   = strings.Fields("next this the of")
)

// dangling says what of a text that ends where a time begins belongs to the time and was not read.
func dangling(tokens []token, i int, s *said) error {
	if i == 0 || strings.HasPrefix(tokens[i-1].word, "·") {
		return nil
	}
	former := tokens[i-1]
	switch former.word {
	case "and", "or", "&", "till", "until", "through", "from", "between", "except", "not", "before", "after", "every", "last", "around", "than", "early", "late", "thing", "sometime", "someday":
		return fmt.Errorf("“%s %s” is not understood; %s", former.word, tokens[i].word, taken)
	}
	if numericDate(former.raw) || (i == 1 || tokens[i-2].word == "on") && numericDate(former.raw+".") {
		return fmt.Errorf("%s "+twoWays, former.raw)
	}
	if !s.dated() && len(s.clocks) > 0 && i > 1 {
		_, isMonth := month(former.word)
		switch before := tokens[i-2].word; {
		case isMonth && before == "in", former.word == "next" && before == "after",
			slices.Contains(periods, former.word) && slices.Contains(leads, before):
			return fmt.Errorf("“%s %s” is no exact day; write a date, such as 5 december%s", before, former.word, escape)
		}
	}
	if _, _, isWeekday := weekday(tokens[i].word); isWeekday && isOrdinal(former.word) {
		return fmt.Errorf("“%s %s” is not understood; write a date, such as 5 december%s", former.word, tokens[i].word, escape)
	}
	near := former.word
	if strings.Trim(near, quotes+"-–—,") == "" && i > 1 {
		near = tokens[i-2].word
	}
	if n, ok := number(near); s.clockless() && !s.counted() && (figure(near) || ok && n <= 24 && i > 1 && slices.Contains(nearly, tokens[i-2].word)) {
		return fmt.Errorf(noClock, near)
	}
	return nil
}
