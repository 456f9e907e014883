package secrets

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// MinLength is the shortest value that is looked for, in bytes without line breaks: a
// shorter one is found in ordinary words.
const MinLength = 6

// A Masker takes known values out of texts, however they are written: as they are, in
// base64 wherever they begin in it, in hex, and with the escapes of URLs, JSON and HTML.
// Line breaks, control characters and characters that show nothing do not hide them: these
// may be taken out later, and nobody sees them. Its methods are safe for use by several
// goroutines at once; a nil Masker knows no value.
type Masker struct {
	mu     sync.Mutex
	values map[string]bool
	now    atomic.Pointer[matcher]
}

// NewMasker knows values from the beginning.
func NewMasker(values ...Secret) *Masker {
	m := &Masker{}
	m.Add(values...)
	return m
}

// Add makes values known. None is forgotten: what was replaced stays masked until the
// program ends.
func (m *Masker) Add(values ...Secret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.values)
	for _, v := range values {
		value := strings.TrimSpace(v.Reveal())
		if len(shown(value)) < MinLength {
			continue
		}
		if m.values == nil {
			m.values = map[string]bool{}
		}
		m.values[value] = true
	}
	if len(m.values) > before {
		m.now.Store(newMatcher(m.values))
	}
}

// Text is s without the known values.
func (m *Masker) Text(s string) string {
	masked, _ := m.matcher().mask(s, true, 0)
	return masked
}

// Stable is Text of a text that is asked for again and again, as the stable part of prompts is:
// it is looked through once, and again when values were added.
func (m *Masker) Stable(s string) string {
	found := m.matcher()
	if found == nil {
		return s
	}
	if masked, known := found.stable.Load(s); known {
		return masked.(string)
	}
	masked, _ := found.mask(s, true, 0)
	if found.kept.Add(1) > maxStable {
		found.stable.Clear()
		found.kept.Store(1)
	}
	found.stable.Store(s, masked)
	return masked
}

// Find returns where in s known values stand, in order and apart, in bytes. With growing, s
// is the beginning of a text in which Markdown may turn out to be markup, and upTo is where a
// good part of a value may begin, whatever marks stand within it; otherwise, and where there is
// none, it is the length of s.
func (m *Masker) Find(s string, growing bool) (found [][2]int, upTo int) {
	matcher := m.matcher()
	if matcher == nil {
		return nil, len(s)
	}
	found, _ = matcher.find(s, true, false)
	if !growing {
		return found, len(s)
	}
	upTo = len(s)
	likely, read := matcher.find(s, false, true)
	for _, f := range append(likely, [2]int{read, len(s)}) {
		known := slices.ContainsFunc(found, func(k [2]int) bool { return k[0] <= f[0] && f[1] <= k[1] })
		if !known && len(shown(s[f[0]:f[1]])) >= keyLength {
			upTo = f[0]
			break
		}
	}
	for i, f := range found {
		if f[1] > upTo {
			return found[:i], min(upTo, f[0])
		}
	}
	return found, upTo
}

// Begin is Text of the beginning of a text: an end that may be the beginning of a value is
// left out.
func (m *Masker) Begin(s string) string {
	masked, _ := m.matcher().mask(s, false, 0)
	return masked
}

// Margin is how many bytes before a place are needed to know what End leaves out there.
func (m *Masker) Margin() int {
	if found := m.matcher(); found != nil {
		return 2 * found.longest // there may be line breaks
	}
	return 0
}

// End is Text of what stands in s from a place on, that is Margin bytes behind its
// beginning; of a value that reaches over it nothing is left. Where so many of these bytes
// are skipped within values that a longer one may have begun before s, more is left out.
func (m *Masker) End(s string, from int) string {
	found := m.matcher()
	if found != nil {
		for i, n := 0, 0; i < len(s) && n < found.longest; i++ {
			if i += skipped(s[i:], false); i < len(s) {
				n++
			}
			from = max(from, min(i+1, len(s)))
		}
	}
	masked, _ := found.mask(s, true, from)
	return masked
}

// Bytes is b without the known values; b itself where there is none in it.
func (m *Masker) Bytes(b []byte) []byte {
	if m.matcher() == nil || len(b) == 0 {
		return b
	}
	text := string(b)
	if masked := m.Text(text); masked != text {
		return []byte(masked)
	}
	return b
}

// Growing masks a text while it grows: it is given the whole of it again and again, and
// holds back an end that may be the beginning of a value. A text that does not go on from the
// one before begins again.
func (m *Masker) Growing() func(string) string {
	var shown strings.Builder
	w, seen := m.Writer(&shown), ""
	return func(text string) string {
		more, goesOn := strings.CutPrefix(text, seen)
		if !goesOn {
			shown.Reset()
			w, more = m.Writer(&shown), text
		}
		seen = text
		_, _ = io.WriteString(w, more)
		return shown.String()
	}
}

// JSON is Text of JSON and of what its strings mean, however they are escaped. A string
// that holds JSON in its turn is looked into as well.
func (m *Masker) JSON(s string) string {
	if m.matcher() == nil {
		return s
	}
	return m.Text(m.meant(s, maxNesting))
}

// maxNesting is how deep JSON is looked for in strings of JSON.
const maxNesting = 4

// meant masks what the strings of JSON with escapes mean. Other strings stay as they are.
func (m *Masker) meant(s string, depth int) string {
	if depth == 0 || strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out strings.Builder
	from := 0 // what is not written yet
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		start, escaped := i, false
		for i++; i < len(s) && s[i] != '"'; i++ {
			if s[i] == '\\' {
				escaped = true
				i++
			}
		}
		var text string
		if !escaped || i >= len(s) || json.Unmarshal([]byte(s[start:i+1]), &text) != nil {
			continue
		}
		if masked := m.Text(m.meant(text, depth-1)); masked != text {
			out.WriteString(s[from:start])
			out.WriteString(`"` + inJSON(masked, false) + `"`)
			from = i + 1
		}
	}
	if from == 0 {
		return s
	}
	return out.String() + s[from:]
}

// A MaskingWriter writes to another writer what is written to it, masked.
type MaskingWriter struct {
	masker *Masker
	to     io.Writer
	held   string
}

// Writer masks what is written in pieces, as one text; Close writes the end that it held
// back.
func (m *Masker) Writer(to io.Writer) *MaskingWriter { return &MaskingWriter{masker: m, to: to} }

func (w *MaskingWriter) Write(p []byte) (int, error) {
	found := w.masker.matcher()
	if found == nil && w.held == "" {
		return w.to.Write(p)
	}
	masked, read := found.mask(w.held+string(p), false, 0)
	w.held = (w.held + string(p))[read:]
	if masked == "" {
		return len(p), nil
	}
	if _, err := io.WriteString(w.to, masked); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close does not close the writer behind it.
func (w *MaskingWriter) Close() error {
	rest := w.masker.Text(w.held)
	w.held = ""
	if rest == "" {
		return nil
	}
	_, err := io.WriteString(w.to, rest)
	return err
}

func (m *Masker) matcher() *matcher {
	if m == nil {
		return nil
	}
	return m.now.Load()
}

// maxStable bounds what Stable keeps.
const maxStable = 64

// keyLength is how many bytes of a pattern decide where it is looked for.
const keyLength = 4

// A matcher finds patterns, whatever stands within them that is skipped.
type matcher struct {
	pairs   pairs // the first two bytes of all patterns, what may be skipped for the second too
	marked  pairs // with marks
	byKey   map[[keyLength]byte][]string
	byMarks map[[keyLength]byte][]string // the key is without marks
	longest int
	heads   map[string]bool // the first one, two and three bytes of all patterns

	stable sync.Map // of texts: what is left of them
	kept   atomic.Int64
}

func newMatcher(values map[string]bool) *matcher {
	m := &matcher{byKey: map[[keyLength]byte][]string{}, byMarks: map[[keyLength]byte][]string{}, heads: map[string]bool{}}
	for value := range values {
		for _, p := range forms(value) {
			key := [keyLength]byte([]byte(p[:keyLength]))
			m.longest = max(m.longest, len(p))
			if slices.Contains(m.byKey[key], p) {
				continue
			}
			m.byKey[key] = append(m.byKey[key], p)
			for second := range 256 {
				c := byte(second)
				if c == p[1] || c >= utf8.RuneSelf || control(c) {
					m.pairs.add(p[0], c)
					m.marked.add(p[0], c)
				} else if c == '&' || strings.IndexByte(markdown, c) >= 0 {
					m.marked.add(p[0], c)
				}
			}
			letters := unmarked.Replace(p)
			if len(letters) >= keyLength {
				key := [keyLength]byte([]byte(letters[:keyLength]))
				m.byMarks[key] = append(m.byMarks[key], p)
			}
			for n := 1; n < keyLength; n++ {
				m.heads[p[:n]], m.heads[letters[:min(n, len(letters))]] = true, true
			}
		}
	}
	return m
}

// pairs are a set of two bytes each.
type pairs [1 << 10]uint64

func (p *pairs) add(first, second byte) { p[uint16(first)<<2|uint16(second>>6)] |= 1 << (second & 63) }

func (p *pairs) has(first, second byte) bool {
	return p[uint16(first)<<2|uint16(second>>6)]>>(second&63)&1 != 0
}

// mask replaces what is found. Unless the text is whole it stops where a value may have
// begun that is not complete; read is how much of the text that was.
// What begins before from is left out.
func (m *matcher) mask(text string, whole bool, from int) (masked string, read int) {
	if m == nil {
		return text[from:], len(text)
	}
	found, read := m.find(text, whole, false)
	if from == 0 && len(found) == 0 && read == len(text) {
		return text, read
	}
	var out strings.Builder
	for _, f := range found {
		if f[1] > from {
			out.WriteString(text[from:max(from, f[0])])
			out.WriteString(Placeholder)
			from = f[1]
		}
	}
	out.WriteString(text[min(from, read):read])
	return out.String(), read
}

// find is where values stand; those that overlap are one. Unless the text is whole it stops
// where a value may have begun that is not complete; read is how much of the text that was.
// With marks, those of Markdown are skipped within values.
func (m *matcher) find(text string, whole, marks bool) (found [][2]int, read int) {
	begins := &m.pairs
	if marks {
		begins = &m.marked
	}
	start, end := -1, 0 // the values that overlap
	i := 0
	for ; i < len(text); i++ {
		if start >= 0 && i >= end {
			found, start = append(found, [2]int{start, end}), -1
		}
		if i+1 < len(text) && !begins.has(text[i], text[i+1]) || control(text[i]) {
			continue
		}
		until, open := m.at(text, i, marks)
		if open && !whole {
			break
		}
		if until > end {
			if start < 0 {
				start = i
			}
			end = until
		}
	}
	switch {
	case i < len(text) && start >= 0: // what is not complete overlaps what is
		i = start
	case start >= 0:
		found = append(found, [2]int{start, end})
	}
	return found, i
}

// at is where the longest pattern ends that begins at i; 0: none does. open: one may, and
// the text ends before it.
func (m *matcher) at(text string, i int, marks bool) (until int, open bool) {
	var key [keyLength]byte
	n := 0
	for j := i; n < keyLength; j++ {
		if j += skipped(text[j:], marks); j == len(text) || cutOff(text[j:]) {
			return 0, m.heads[string(key[:n])] || n == 0
		}
		key[n] = text[j]
		n++
	}
	patterns := m.byKey
	if marks {
		patterns = m.byMarks
	}
	for _, p := range patterns[key] {
		end, left := match(p, text, i, marks)
		if left {
			open = true
		}
		until = max(until, end)
	}
	return until, open
}

// match is where p ends in text, from i on; 0: it is another text. open: text ends before.
func match(p, text string, i int, marks bool) (end int, open bool) {
	for n := 0; ; i++ {
		if i < len(text) && (text[i] != p[n] || marks && unfinished(text[i:])) {
			i += skipped(text[i:], marks)
		}
		switch {
		case i == len(text):
			return 0, true
		case text[i] != p[n]:
			return 0, cutOff(text[i:])
		}
		if n++; n == len(p) {
			return i + 1, false
		}
	}
}
