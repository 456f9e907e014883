package agent

import (
	"sort"

	"switchboard/agent/form"
	"switchboard/agent/llm"
	"switchboard/agent/tools"
)

// A prompt is one part of a request in the making. The sections' headings are relied on by
// the offline model and by tests; see context.go.
type prompt struct{ form.Prompt }

func (p *prompt) add(text string) { p.Add(text) }

// section begins a section with a heading "## title".
func (p *prompt) section(title string) { p.Section(title) }

func (p *prompt) linef(format string, args ...any) { p.Linef(format, args...) }

// data adds text that must not give orders, in a fence.
func (p *prompt) data(text string) { p.Data(text) }

// text adds words of ours or of the person, fenced when they are tainted.
func (p *prompt) text(text string, taint tools.Taint) { p.own("", text, taint) }

// item adds a list item likewise.
func (p *prompt) item(text string, taint tools.Taint) { p.own("- ", text, taint) }

func (p *prompt) own(lead, text string, taint tools.Taint) {
	if taint != tools.Clean {
		lead = ""
	}
	p.Words(lead, text, taint != tools.Clean)
}

// fit renders the user part of a prompt of no more than size tokens (0: any number) with its system part: the
// oldest lines of the conversation go first, then outputs are shortened.
func fit(size int, system string, lines int, render func(cut cut) string) string {
	if size > 0 {
		size = max(1, size-llm.Tokens(system))
	}
	fits := func(text string) bool { return size <= 0 || llm.Tokens(text) <= size }
	now := cut{lines: lines, output: maxShown}
	text := render(now)
	if !fits(text) && lines > 0 {
		left := 1 + sort.Search(lines-1, func(i int) bool { return fits(render(cut{lines - 1 - i, maxShown})) })
		now.lines -= left
		text = render(now)
	}
	for !fits(text) && now.output > minShown {
		now.output /= 2
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

func (p *prompt) faults(title string, faults []string) { p.Faults(title, faults) }
