package agent

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// A prompt is one part of a request in the making: Markdown of ours, and text
// from elsewhere that stands in fences. The sections' headings are relied on by
// the offline model and by tests; see context.go.
type prompt struct {
	pieces   []piece
	boundary func() string // nil: newBoundary
}

type piece struct {
	text  string
	fence bool
}

func (p *prompt) add(text string) { p.pieces = append(p.pieces, piece{text: text}) }

// section begins a section with a heading "## title".
func (p *prompt) section(title string) { p.add("\n## " + title + "\n") }

func (p *prompt) linef(format string, args ...any) { p.add(fmt.Sprintf(format, args...) + "\n") }

// data adds text that must not give orders, in a fence.
func (p *prompt) data(text string) { p.pieces = append(p.pieces, piece{text, true}) }

// text adds words of ours or of the person, fenced when they are tainted. Its
// later lines are indented, so that none can pass for a heading.
func (p *prompt) text(text string, taint tools.Taint) { p.own("", text, taint) }

// item adds a list item likewise.
func (p *prompt) item(text string, taint tools.Taint) { p.own("- ", text, taint) }

func (p *prompt) own(lead, text string, taint tools.Taint) {
	if taint != tools.Clean {
		p.data(text)
		return
	}
	p.add(lead + indent(text) + "\n")
}

// String renders the prompt. Its fences share one boundary, made for this prompt
// alone from 64 random bits, that stands in none of its texts.
func (p *prompt) String() string {
	draw := p.boundary
	if draw == nil {
		draw = newBoundary
	}
	boundary := draw()
	for p.holds(boundary) {
		boundary = draw()
	}
	var out strings.Builder
	for _, piece := range p.pieces {
		if !piece.fence {
			out.WriteString(piece.text)
			continue
		}
		out.WriteString("<<<" + boundary + "\n" + piece.text)
		if !strings.HasSuffix(piece.text, "\n") {
			out.WriteByte('\n')
		}
		out.WriteString(boundary + ">>>\n")
	}
	return withoutCodes(strings.TrimLeft(out.String(), "\n"))
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

func (p *prompt) holds(boundary string) bool {
	return slices.ContainsFunc(p.pieces, func(piece piece) bool { return strings.Contains(piece.text, boundary) })
}

// newBoundary is "data-" and 16 hex characters.
func newBoundary() string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	return "data-" + hex.EncodeToString(random)
}

// fit renders the user part of a prompt of no more than size tokens (0: any number) with its system part: the
// oldest lines of the conversation go first, then outputs are shortened.
func fit(size int, system string, lines int, render func(cut cut) string) string {
	if size > 0 {
		size = max(1, size-llm.Tokens(system))
	}
	now := cut{lines: lines, output: maxShown}
	text := render(now)
	for size > 0 && llm.Tokens(text) > size {
		switch {
		case now.lines > 0:
			now.lines--
		case now.output > minShown:
			now.output /= 2
		default:
			return text
		}
		text = render(now)
	}
	return text
}

// How much of one output stands in a prompt, in bytes.
const (
	maxShown = 32 << 10
	minShown = 1 << 10
)

// A cut says how much of what may be shortened a prompt shows.
type cut struct {
	lines  int // of the conversation, the newest
	output int // bytes of one output
}

func (p *prompt) faults(title string, faults []string) {
	p.section(title)
	for i, fault := range faults[:min(len(faults), 50)] {
		p.linef("%d. %s", i+1, oneLine(fault))
	}
}
