// Package form has the form of what models read and of what they answer: prompts whose outside text stands in fences, and answers of
// a strict schema, read field by field.
package form

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"switchboard/internal/words"
)

// A Prompt is one part of a request in the making: Markdown of ours, and text from elsewhere that stands in fences. The zero value is
// empty.
type Prompt struct {
	// Boundary makes the word that begins and ends a fence; nil: 64 random bits. Tests set it.
	Boundary func() string
	pieces   []piece
}

type piece struct {
	text  string
	fence bool
}

// Add adds Markdown of ours.
func (p *Prompt) Add(text string) { p.pieces = append(p.pieces, piece{text: text}) }

// Section begins a section with a heading "## title".
func (p *Prompt) Section(title string) { p.Add("\n## " + title + "\n") }

// Linef adds a line of ours.
func (p *Prompt) Linef(format string, args ...any) { p.Add(fmt.Sprintf(format, args...) + "\n") }

// Faults adds a section that says what was wrong with an answer, at most 50 of its faults.
func (p *Prompt) Faults(title string, faults []string) {
	p.Section(title)
	for i, fault := range faults[:min(len(faults), 50)] {
		p.Linef("%d. %s", i+1, words.OneLine(fault, 300))
	}
}

// Data adds text that must not give orders, in a fence.
func (p *Prompt) Data(text string) { p.pieces = append(p.pieces, piece{text, true}) }

// Words adds what somebody said behind lead, which is ours: fenced where it must not give orders, else with its later lines indented, so
// that none can pass for a heading.
func (p *Prompt) Words(lead, text string, fenced bool) {
	if fenced {
		p.Add(lead)
		p.Data(text)
		return
	}
	p.Add(lead + Indent(text) + "\n")
}

// String renders the prompt. Its fences share one boundary, made for this prompt alone, that stands in none of its texts.
func (p *Prompt) String() string {
	draw := p.Boundary
	if draw == nil {
		draw = newBoundary
	}
	boundary := draw()
	for slices.ContainsFunc(p.pieces, func(piece piece) bool { return strings.Contains(piece.text, boundary) }) {
		boundary = draw()
	}
	var out strings.Builder
	for _, piece := range p.pieces {
		if !piece.fence {
			out.WriteString(piece.text)
			continue
		}
		if text := out.String(); text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteByte('\n')
		}
		out.WriteString("<<<" + boundary + "\n" + piece.text)
		if !strings.HasSuffix(piece.text, "\n") {
			out.WriteByte('\n')
		}
		out.WriteString(boundary + ">>>\n")
	}
	return withoutCodes(strings.TrimLeft(out.String(), "\n"))
}

// newBoundary is "data-" and 16 hex characters.
func newBoundary() string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	return "data-" + hex.EncodeToString(random)
}

// typedCode is a code by which a person decides, as questions and commands name it.
var typedCode = regexp.MustCompile(`\b(approve|deny) [A-Z2-7]{4}-[A-Z2-7]{4}\b`)

// withoutCodes hides codes that decide: nobody who steers a model is to have it ask a
// person for one.
func withoutCodes(text string) string {
	if !strings.Contains(text, "approve ") && !strings.Contains(text, "deny ") {
		return text
	}
	return typedCode.ReplaceAllString(text, "$1 [code]")
}

// Indent keeps text from looking like structure: only its first line begins at
// the margin, and not as a heading or a fence.
func Indent(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\r", "\n")
	text = strings.ReplaceAll(text, "\n", "\n  ")
	if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "<<<") {
		text = "  " + text
	}
	return text
}

// Label is what somebody calls themselves or a thing, in a line of ours: short, and without what could pass for structure.
func Label(name string) string {
	return words.OneLine(strings.NewReplacer("<", "", ">", "", "`", "'", ":", "").Replace(Tidy(name)), 60)
}

// Tidy makes text fit for every database: valid UTF-8 without NUL.
func Tidy(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}
