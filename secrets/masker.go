package secrets

import (
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// MinLength is the shortest value that is looked for, in bytes without line breaks: a
// shorter one is found in ordinary words.
const MinLength = 6

// A Masker takes known values out of texts, however they are written: as they are, in
// base64 wherever they begin in it, in hex, and with the escapes of URLs, JSON and HTML.
// Line breaks within them do not hide them. Its methods are safe for use by several
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
		if len(lineBreaks.Replace(value)) < MinLength {
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
	found := m.matcher()
	if found == nil {
		return s
	}
	masked, _ := found.mask(s, true, 0)
	return masked
}

// Stable is Text of a text that is asked for again and again, as the stable part of prompts is:
// it is looked through once, and anew when values were added.
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

// End is Text of what stands in s from a place on, that is Margin bytes behind its beginning
// or the beginning of all; of a value that reaches over it nothing is left.
func (m *Masker) End(s string, from int) string {
	masked, _ := m.matcher().mask(s, true, from)
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
// one before begins anew.
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

// JSON is Text of JSON, also of such that writes characters as escapes that need none.
func (m *Masker) JSON(s string) string {
	if m.matcher() == nil {
		return s
	}
	return m.Text(unescaped(s))
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

// A matcher finds patterns, whatever line breaks stand within them.
type matcher struct {
	pairs   [1 << 10]uint64 // the first two bytes of all patterns, a line break for the second too
	byKey   map[[keyLength]byte][]string
	longest int
	heads   map[string]bool // the first one, two and three bytes of all patterns

	stable sync.Map // of texts: what is left of them
	kept   atomic.Int64
}

func newMatcher(values map[string]bool) *matcher {
	m := &matcher{byKey: map[[keyLength]byte][]string{}, heads: map[string]bool{}}
	for value := range values {
		for _, p := range forms(value) {
			key := [keyLength]byte([]byte(p[:keyLength]))
			m.longest = max(m.longest, len(p))
			if slices.Contains(m.byKey[key], p) {
				continue
			}
			m.byKey[key] = append(m.byKey[key], p)
			for _, second := range []byte{p[1], '\n', '\r'} {
				m.pairs[uint16(p[0])<<2|uint16(second>>6)] |= 1 << (second & 63)
			}
			for n := 1; n < keyLength; n++ {
				m.heads[p[:n]] = true
			}
		}
	}
	return m
}

// begins says that a pattern may begin with two bytes.
func (m *matcher) begins(first, second byte) bool {
	return m.pairs[uint16(first)<<2|uint16(second>>6)]>>(second&63)&1 != 0
}

// mask replaces what is found. Unless the text is whole it stops where a value may have
// begun that is not complete; read is how much of the text that was.
// What begins before from is left out.
func (m *matcher) mask(text string, whole bool, from int) (masked string, read int) {
	if m == nil {
		return text[from:], len(text)
	}
	var out strings.Builder
	start, end := -1, 0 // the values that touch each other
	replace := func() {
		if end > from {
			out.WriteString(text[from:max(from, start)])
			out.WriteString(placeholder)
			from = end
		}
		start = -1
	}
	i := 0
	for ; i < len(text); i++ {
		if start >= 0 && i >= end {
			replace()
		}
		if isBreak(text[i]) || i+1 < len(text) && !m.begins(text[i], text[i+1]) {
			continue
		}
		until, open := m.at(text, i)
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
	case i < len(text) && start >= 0: // what is not complete touches what is
		i = start
	case i == len(text) && start >= 0:
		replace()
	}
	if from == 0 && i == len(text) {
		return text, i
	}
	out.WriteString(text[min(from, i):i])
	return out.String(), i
}

// at is where the longest pattern ends that begins at i; 0: none does. open: one may, and
// the text ends before it.
func (m *matcher) at(text string, i int) (until int, open bool) {
	var key [keyLength]byte
	n := 0
	for j := i; j < len(text) && n < keyLength; j++ {
		if c := text[j]; !isBreak(c) {
			key[n] = c
			n++
		}
	}
	if n < keyLength {
		return 0, m.heads[string(key[:n])]
	}
	for _, p := range m.byKey[key] {
		end, left := match(p, text, i)
		if left {
			open = true
		}
		until = max(until, end)
	}
	return until, open
}

// match is where p ends in text, from i on; 0: it is another text. open: text ends before.
func match(p, text string, i int) (end int, open bool) {
	n := 0
	for ; i < len(text); i++ {
		c := text[i]
		if isBreak(c) {
			continue
		}
		if c != p[n] {
			return 0, false
		}
		if n++; n == len(p) {
			return i + 1, false
		}
	}
	return 0, true
}

func isBreak(c byte) bool { return c == '\n' || c == '\r' }
