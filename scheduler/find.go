package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"switchboard/internal/words"
)

// ErrNoTime says that a text has no time in it.
var ErrNoTime = errors.New("When? " + strings.ToUpper(taken[:1]) + taken[1:])

// A finder looks in a text for a time.
type finder struct {
	text      string
	now       time.Time
	zone      string
	isRequest bool // it is known that the text is a request
}

// A found is a time in the tokens of a text.
type found struct {
	from, to int
	said     *said
}

// A reading is a text as somebody would mean it in a language.
type reading struct {
	finder    *finder
	tokens    []token
	spans     []found // of the time
	others    []found // times that are text
	isRequest bool
	begun     bool   // the beginning was read
	spoken    bool   // the text says that it is a request
	says      string // of a timer
	wakes     bool   // it is an alarm
	prefix    int    // bytes of the request before the first token
	rest      string
	taken     int
	wrong     []found // what is not understood of it
	err       error
	lang      *language
}

// find reads the text in each language, and takes the reading that leaves the least of it unused.
func (f *finder) find() *reading {
	var best *reading
	for _, l := range languages() {
		if l.foreign {
			continue
		}
		if r := f.in(l); r != nil && (best == nil || r.taken > best.taken) {
			best = r
		}
	}
	return best
}

// in reads the text in a language; nil: it has no word of it.
func (f *finder) in(l *language) *reading {
	source := tokenize(f.text, l.elided)
	if l.name != "en" && !slices.ContainsFunc(source, func(t token) bool { return l.phrases[t.word] != nil }) {
		return nil
	}
	r := &reading{finder: f, lang: l, isRequest: f.isRequest}
	n := r.timer(source, r.around(source, 0))
	r.begun = true
	if n > 0 {
		r.prefix = source[n-1].to
	}
	r.tokens = l.read(source[n:])
	spans, wrong, err := r.scan()
	if l.name != "en" && !r.spoken && !slices.ContainsFunc(append(wrong, spans...), func(s found) bool { return slices.ContainsFunc(r.tokens[s.from:s.to], isMeant) }) { // figures are the same in English
		return nil
	}
	r.wrong = wrong
	spans = r.meant(spans)
	if len(spans) == 0 && r.asks() {
		err = ErrNoTime
	}
	r.spans, r.err = r.joined(spans, err)
	r.taken = r.prefix
	for _, s := range slices.Concat(r.spans, wrong) {
		r.taken += r.tokens[s.to-1].to - r.tokens[s.from].from
	}
	if r.err == nil {
		r.compose(source)
	}
	return r
}

func isMeant(t token) bool { return t.meant }

// around goes over what is said around a time, from token i on, and returns where that ends.
func (r *reading) around(source []token, i int) int {
	for i < len(source) {
		if source[i].word == "" && strings.Trim(source[i].raw, "?!.,:;-–—") == "" {
			i++
			continue
		}
		p, _ := r.lang.match(source, i, true)
		if p == nil || p.role == "join" || p.role == "text" || p.role == "lead" || (p.role == "title" || p.role == "hello") && r.begun {
			break
		}
		if p.role != "polite" && p.role != "hello" {
			r.isRequest, r.spoken = true, true
		}
		if p.says != "" {
			r.says, r.wakes = p.says, p.role == "wake"
		}
		i += len(p.words)
	}
	return i
}

// timer goes over what leads to a timer whose name stands behind its length, as in "set a 10 minute timer", from token i
// on, and returns where that ends.
func (r *reading) timer(source []token, i int) int {
	begins := []int{i}
	if i < len(source) {
		if p, _ := r.lang.match(source, i, true); p != nil && p.role == "lead" {
			begins = append(begins, i+len(p.words))
		}
	}
	for _, begin := range begins {
		g := grammar{cursor: cursor{tokens: r.lang.read(source[begin:min(len(source), begin+8)])}, start: true}
		if s := (&said{}); !g.delay(s) || s.wait == 0 {
			continue
		}
		end := begin + slices.IndexFunc(source[begin:], func(t token) bool { return t.to >= g.tokens[g.at-1].to }) + 1
		if end == len(source) {
			continue
		}
		if p, _ := r.lang.match(source, end, true); p != nil && p.role == "timer" {
			r.isRequest, r.spoken, r.says = true, true, p.says
			return begin
		}
	}
	return i
}

// scan finds all times in the tokens. What is wrong is an error where it belongs to a time, or where there is none.
func (r *reading) scan() (spans, wrong []found, err error) {
	var weak error
	for i := 0; i < len(r.tokens); {
		if w := r.tokens[i].word; w == "" || strings.HasPrefix(w, "·") {
			i++
			continue
		}
		g := grammar{cursor: cursor{tokens: r.tokens, at: i, dayFirst: r.lang.dayFirst}, start: i == 0}
		s := g.parse()
		_, past := errors.AsType[*PastError](g.err)
		switch {
		case s != nil && g.err == nil:
			spans = append(spans, found{i, g.at, s})
			if i == 0 && g.ended(":") { // what follows is text
				return spans, wrong, err
			}
			i = g.at
			continue
		case err == nil && g.err != nil && (s != nil || g.strong || past):
			err = g.err
			wrong = append(wrong, found{from: i, to: min(max(g.at, i+1), len(r.tokens))})
		case weak == nil && s == nil:
			weak = g.err
		}
		i++
	}
	if len(spans) == 0 && err == nil {
		err = weak
	}
	return spans, wrong, err
}

// meant leaves out what is text: a day that a text is about, the day of a meeting, a name.
func (r *reading) meant(spans []found) (list []found) {
	asked := r.asks()
	for i, s := range spans {
		before, whole := r.before(s.from), s.from == 0 && s.to == len(r.tokens)
		clock, about := s.said.exactly(), slices.Contains(about, before) && s.from > 1
		single := s.to-s.from == 1 && s.said.day.isWeekday()
		var text bool
		switch {
		case whole:
		case asked,
			i == 0 && s.said.bare && (len(spans) > 1 || !r.isRequest), // "10 m run tomorrow at 9"
			about && (!clock || s.said.again != nil && len(s.said.clocks) == 0),
			single && slices.Contains(articles, before):
			text = true
		case single && s.from > 0 && s.to < len(r.tokens):
			text = !strings.ContainsAny(r.tokens[s.to-1].raw, ",:;")
		case s.to-s.from == 1 && s.said.again != nil && (len(spans) > 1 || !r.isRequest), // "the weekly report"
			!clock && r.complete(spans) && r.isAbout(s.from):
			text = true
		case single && !r.isRequest:
			text = s.from == 0 || unicode.IsUpper([]rune(r.tokens[s.from-1].raw)[0])
		case !r.isRequest && !s.said.dated() && !s.said.fixed() && s.said.every == 0 && !r.sure(s):
			text = true
		}
		if text {
			r.others = append(r.others, s)
		} else {
			list = append(list, s)
		}
	}
	return list
}

// asks: the text is a question about a time, and no request.
func (r *reading) asks() bool {
	return !r.isRequest && strings.HasSuffix(strings.TrimSpace(r.finder.text), "?")
}

// What stands before a day that belongs to the text.
var (
	about    = strings.Fields("about for of regarding concerning")
	articles = strings.Fields("the my our your his her their a an")
)

// complete: one of several spans is a day with its time.
func (r *reading) complete(spans []found) bool {
	return len(spans) > 1 && slices.ContainsFunc(spans, func(s found) bool { return s.said.whole() || s.said.part != nil })
}

// isAbout: what stands before token i says what the text is about: "about the meeting on tuesday".
func (r *reading) isAbout(i int) bool {
	return slices.ContainsFunc(r.tokens[max(0, i-4):i], func(t token) bool { return slices.Contains(about, t.word) })
}

// before is the word before a token, without the article.
func (r *reading) before(i int) string {
	switch {
	case i == 0:
		return ""
	case i > 1 && r.tokens[i-1].word == "the" && slices.Contains(about, r.tokens[i-2].word):
		i--
	}
	return r.tokens[i-1].word
}

// clockWords say that a figure is a clock.
var clockWords = strings.Fields("at @ noon midnight am pm o'clock")

// sure: a clock was said as nothing else is.
func (r *reading) sure(s found) bool {
	return slices.ContainsFunc(r.tokens[s.from:s.to], func(t token) bool {
		return strings.Contains(t.word, ":") || slices.Contains(clockWords, t.word) || strings.HasSuffix(t.word, "am") || strings.HasSuffix(t.word, "pm")
	})
}

// joined makes one time of all spans; an error where they are several.
func (r *reading) joined(spans []found, err error) ([]found, error) {
	if err != nil {
		return spans, err
	}
	if len(spans) == 0 {
		return nil, ErrNoTime
	}
	first := *spans[0].said
	for i := range spans {
		s := &spans[i]
		if i > 0 && !first.join(s.said) {
			return spans, &several{r, spans}
		}
		if err := dangling(r.tokens, s.from, s.said); err != nil {
			return spans, err
		}
	}
	if len(first.clocks) > 0 && !first.dated() {
		for _, o := range r.others { // "call Ann about Tuesday at 16:00"
			if o.to == spans[0].from && o.said.day != nil {
				return spans, &several{r, append([]found{o}, spans...)}
			}
		}
	}
	if d := first.day; len(first.clocks) > 0 && d != nil && spans[0].from > 1 && slices.Contains(about, r.before(spans[0].from)) && d.isWeekday() && len(spans) == 1 {
		return spans, &several{r, append(spans, r.clockIn(spans[0])...)}
	}
	spans[0].said = &first
	return spans, nil
}

// clockIn is the time of the clock at the end of a span.
func (r *reading) clockIn(s found) []found {
	for i := s.from + 1; i < s.to; i++ {
		g := grammar{cursor: cursor{tokens: r.tokens, at: i}}
		if said := g.parse(); said != nil && g.err == nil && g.at == s.to && len(said.clocks) > 0 && said.day == nil {
			return []found{{i, s.to, said}}
		}
	}
	return nil
}

// several is the error of a text that has more than one time.
type several struct {
	reading *reading
	spans   []found
}

func (e *several) Error() string {
	return "there is more than one time in it: " + e.reading.saidAll(e.spans[:min(len(e.spans), 4)], "“", "”", ", ") + "; a reminder has one, so make one of each" + escape
}

// said is a span as it was written.
func (r *reading) said(s found) string {
	return strings.TrimRight(r.finder.text[r.tokens[s.from].from:r.tokens[s.to-1].to], ",;:.!? ")
}

// saidAll are spans as they were written.
func (r *reading) saidAll(spans []found, open, end, by string) string {
	var list []string
	for _, s := range spans {
		list = append(list, open+r.said(s)+end)
	}
	return strings.Join(list, by)
}

// compose is the text without the time and without what was said around it.
func (r *reading) compose(source []token) {
	text := r.finder.text
	taken := make([]bool, len(source)) // tokens of the request and of the time
	for i, t := range source {
		taken[i] = t.to <= r.prefix || slices.ContainsFunc(r.spans, func(s found) bool {
			return t.from >= r.tokens[s.from].from && t.to <= r.tokens[s.to-1].to
		})
	}
	colon := len(r.spans) == 1 && r.spans[0].from == 0 && strings.HasSuffix(r.tokens[r.spans[0].to-1].raw, ":")
	for i := 0; !colon && i < len(source); { // a request behind the time
		end := i + 1
		if !taken[i] {
			end = r.around(source, i)
		}
		if end == i {
			break
		}
		for ; i < end; i++ {
			taken[i] = true
		}
	}
	for end := len(source); !colon && end > 0; { // and at the end
		n := 0
		if taken[end-1] || strings.Trim(source[end-1].raw, "?!.,") == "" {
			n = 1
		}
		for k := 1; n == 0 && k <= min(5, end); k++ {
			if p, _ := r.lang.match(source, end-k, true); p != nil && len(p.words) == k && (p.role == "request" || p.role == "polite") {
				n = k
				r.spoken = r.spoken || p.role == "request"
			}
		}
		if n == 0 {
			break
		}
		for range n {
			end--
			taken[end] = true
		}
	}
	var pieces []string
	for i := 0; i < len(source); i++ {
		if taken[i] {
			continue
		}
		j := i
		for j < len(source) && !taken[j] {
			j++
		}
		if piece := trimmed(text[source[i].from:source[j-1].to]); piece != "" {
			pieces = append(pieces, piece)
		}
		i = j
	}
	r.rest = strings.Join(pieces, " ")
	if r.isRequest && strings.HasSuffix(r.rest, "?") {
		r.rest = strings.TrimRight(r.rest, "? ")
	}
	r.unjoin(colon)
}

func trimmed(text string) string {
	return strings.TrimRight(strings.TrimLeft(text, "-–—:,; "), "-–—,; ")
}

// unjoin takes off what joined the text to the request: "to call Ann".
func (r *reading) unjoin(colon bool) {
	for !colon && r.rest != "" {
		begin, _, _ := strings.Cut(r.rest, " ")
		tokens := tokenize(r.rest[:min(len(r.rest), len(begin)+20)], r.lang.elided)
		p, _ := r.lang.match(tokens, 0, true)
		if p == nil || p.role != "join" || tokens[len(p.words)-1].to == len(r.rest) || !r.spoken && p.words[0] != "to" {
			return
		}
		r.rest = trimmed(r.rest[tokens[len(p.words)-1].to:])
	}
}

// misspelt is the text with a word of time as it was probably meant; empty: there is none.
func (r *reading) misspelt() string {
	if len(r.spans) == 0 && !r.isRequest {
		return ""
	}
	tokens := tokenize(r.finder.text, r.lang.elided)
	for _, t := range tokens[:min(len(tokens), 40)] { // nobody asks in more
		if len(t.word) < 4 || r.lang.known[t.word] {
			continue
		}
		for _, near := range r.lang.vocabulary {
			most := 1 + len(t.word)/7
			if near[0] != t.word[0] || max(len(near)-len(t.word), len(t.word)-len(near)) > most || words.Near(t.word, []string{near}, most) == "" {
				continue
			}
			f := *r.finder
			f.text = r.finder.text[:t.from] + near + r.finder.text[t.from+len(strings.TrimRight(t.raw, ",;:.!?")):]
			again := f.in(r.lang)
			if again.err == nil && (again.spoken && !r.spoken || slices.ContainsFunc(again.spans, func(s found) bool {
				return again.tokens[s.from].from <= t.from && t.from < again.tokens[s.to-1].to
			})) {
				return f.text
			}
		}
	}
	return ""
}

// strange: what stands next to a time that is all figures is in no language that is read here.
func (r *reading) strange() bool {
	for _, s := range r.spans {
		if slices.ContainsFunc(r.tokens[s.from:s.to], func(t token) bool {
			return t.meant || !isDigit(t.word) && strings.Trim(t.word, "@:-") != ""
		}) {
			return false
		}
	}
	other := languages()[len(languages())-1]
	return slices.ContainsFunc(r.tokens, func(t token) bool {
		return other.phrases[strings.TrimPrefix(t.word, "·")] != nil || strings.ContainsFunc(t.word, func(c rune) bool { return unicode.IsLetter(c) && !unicode.Is(unicode.Latin, c) })
	})
}

var errStrange = fmt.Errorf("the time is in a language that is not read here; %s", taken)
