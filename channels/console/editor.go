package console

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

const prompt = "> "

// editor is the line a person writes: a draft, the lines written before, and a
// search in them.
type editor struct {
	draft
	past     *history
	recalled int    // which line of past is in the draft; their number: none
	kept     string // the draft that was left to look at past
	erased   string // for Ctrl-Y
	search   *search
	commands []string
}

// search is a search in past, from its newest line backwards.
type search struct {
	query string
	found int // the line of past; -1: none
}

// scene is what is seen of it.
func (e *editor) scene() scene {
	if e.search == nil {
		return scene{before: prompt, text: e.text, at: e.at}
	}
	now := scene{before: "(search) " + e.search.query + ": "}
	if i := e.search.found; i >= 0 {
		now.text = e.past.lines[i]
		now.at = max(0, strings.Index(now.text, e.search.query))
	}
	return now
}

// empty says whether nothing is written.
func (e *editor) empty() bool { return e.text == "" && e.search == nil }

// clear throws away what is written.
func (e *editor) clear() {
	e.set("")
	e.search, e.recalled = nil, len(e.past.lines)
}

// submit takes the text, and remembers it.
func (e *editor) submit() string {
	e.found()
	text := e.text
	e.past.add(text)
	e.clear()
	return text
}

// moves are the keys that move the cursor, with where to.
var moves = map[string]func(*draft) int{
	"left": (*draft).before, "ctrl-b": (*draft).before, "right": (*draft).after, "ctrl-f": (*draft).after,
	"word-left": (*draft).wordBefore, "word-right": (*draft).wordAfter,
	"home": (*draft).lineBegin, "ctrl-a": (*draft).lineBegin, "end": (*draft).lineEnd, "ctrl-e": (*draft).lineEnd,
}

// cuts are the keys that erase what Ctrl-Y brings back, with how far.
var cuts = map[string]func(*draft) int{
	"ctrl-w": (*draft).wordBefore, "delete-word": (*draft).wordAfter, "ctrl-k": (*draft).lineEnd,
	"ctrl-u": func(*draft) int { return 0 },
}

// press does what a key says. What it does not know it leaves alone.
func (e *editor) press(k key) {
	if e.search != nil && e.searching(k) {
		return
	}
	switch k.name {
	case "", "paste":
		e.insert(k.text)
	case "newline":
		e.insert("\n")
	case "up", "ctrl-p":
		e.recall(e.recalled - 1)
	case "down", "ctrl-n":
		e.recall(e.recalled + 1)
	case "ctrl-r":
		e.search = &search{found: -1}
	case "backspace":
		e.cut(e.before())
	case "delete", "ctrl-d":
		e.cut(e.after())
	case "ctrl-y":
		e.insert(e.erased)
	}
	if to := moves[k.name]; to != nil {
		e.at = to(&e.draft)
	}
	if to := cuts[k.name]; to != nil {
		e.erased = e.cut(to(&e.draft))
	}
}

// recall brings line i of past into the draft.
func (e *editor) recall(i int) {
	if i < 0 || i > len(e.past.lines) {
		return
	}
	if e.recalled == len(e.past.lines) {
		e.kept = e.text
	}
	if e.recalled = i; i == len(e.past.lines) {
		e.set(e.kept)
		return
	}
	e.set(e.past.lines[i])
}

// searching is press during a search; what is no part of one ends it, and is then
// done to the line that was found.
func (e *editor) searching(k key) (done bool) {
	s := e.search
	switch k.name {
	case "", "paste":
		s.query += strings.ReplaceAll(k.text, "\n", " ")
		s.found = e.seek(s.found)
	case "ctrl-r":
		if i := e.seek(s.found - 1); s.found > 0 && i >= 0 {
			s.found = i
		}
	case "backspace":
		query := draft{s.query, len(s.query)}
		query.cut(query.before())
		s.query = query.text
		s.found = e.seek(-1)
	case "ctrl-g":
		e.search = nil
	case "esc":
		e.found()
	default:
		e.found()
		return false
	}
	return true
}

// seek finds the newest line that holds the query, from line i backwards, or from the
// newest where i is -1; -1: none does.
func (e *editor) seek(i int) int {
	if i < 0 {
		i = len(e.past.lines) - 1
	}
	for ; i >= 0 && e.search.query != ""; i-- {
		if strings.Contains(e.past.lines[i], e.search.query) {
			return i
		}
	}
	return -1
}

// found ends a search with what it found.
func (e *editor) found() {
	if e.search == nil {
		return
	}
	if i := e.search.found; i >= 0 {
		e.set(e.past.lines[i])
		e.recalled = i
	}
	e.search = nil
}

// complete finishes a command's name, as far as that is clear, and lists the names
// there are where it is not.
func (e *editor) complete() (choices []string) {
	e.found()
	if !strings.HasPrefix(e.text, "/") || e.at != len(e.text) || strings.ContainsAny(e.text, " \n") {
		return nil
	}
	choices = slices.DeleteFunc(slices.Clone(e.commands), func(c string) bool { return !strings.HasPrefix(c, e.text) })
	if len(choices) == 0 {
		return nil
	}
	common := choices[0]
	for slices.ContainsFunc(choices, func(c string) bool { return !strings.HasPrefix(c, common) }) {
		common = common[:len(common)-1]
	}
	switch {
	case len(choices) == 1:
		e.set(common + " ")
	case common != e.text:
		e.set(common)
	default:
		return choices
	}
	return nil
}

// draft is a text being written. What a reader takes for one character is moved
// over and erased as one.
type draft struct {
	text string
	at   int // the cursor, in bytes
}

func (d *draft) set(text string) { d.text, d.at = text, len(text) }

func (d *draft) insert(text string) {
	d.text = d.text[:d.at] + text + d.text[d.at:]
	d.at += len(text)
}

// before is where the character before the cursor begins.
func (d *draft) before() int {
	for each := graphemes.FromString(d.text); each.Next(); {
		if each.End() >= d.at {
			return each.Start()
		}
	}
	return 0
}

// after is where the character at the cursor ends.
func (d *draft) after() int {
	for each := graphemes.FromString(d.text); each.Next(); {
		if each.End() > d.at {
			return each.End()
		}
	}
	return len(d.text)
}

// wordBefore is where the word before the cursor begins.
func (d *draft) wordBefore() int {
	return len(strings.TrimRightFunc(strings.TrimRightFunc(d.text[:d.at], unicode.IsSpace), inWord))
}

// wordAfter is where the word after the cursor ends.
func (d *draft) wordAfter() int {
	return len(d.text) - len(strings.TrimLeftFunc(strings.TrimLeftFunc(d.text[d.at:], unicode.IsSpace), inWord))
}

func inWord(r rune) bool { return !unicode.IsSpace(r) }

// lineBegin is where the cursor's line begins.
func (d *draft) lineBegin() int { return strings.LastIndexByte(d.text[:d.at], '\n') + 1 }

// lineEnd is where the cursor's line ends.
func (d *draft) lineEnd() int {
	if i := strings.IndexByte(d.text[d.at:], '\n'); i >= 0 {
		return d.at + i
	}
	return len(d.text)
}

// cut takes the text between the cursor and byte to away.
func (d *draft) cut(to int) string {
	from, to := min(d.at, to), max(d.at, to)
	text := d.text[from:to]
	d.text = d.text[:from] + d.text[to:]
	d.at = from
	return text
}
