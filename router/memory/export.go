package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"switchboard/agent/memory"
	"switchboard/agent/tools"
	"switchboard/internal/words"
	"switchboard/router/core"
)

// An Archive is what is exported, and imported again.
type Archive struct {
	Version  int            `json:"version"` // 1
	Memories []memory.Entry `json:"memories"`
	// Summaries are not imported: the sessions are not there.
	Summaries []Summary `json:"summaries"`
}

// MaxExport bounds how many memories are exported at once, and how many summaries.
const MaxExport = 100_000

// Export is what fits a filter.
func (s *Service) Export(ctx context.Context, f Filter) (*Archive, error) {
	f.Limit, f.All = MaxExport, true
	list, err := s.Store.Memories(ctx, f)
	if err != nil {
		return nil, err
	}
	slices.Reverse(list)
	summaries, err := s.Store.Summaries(ctx, f)
	return &Archive{Version: 1, Memories: append([]memory.Entry{}, list...), Summaries: append([]Summary{}, summaries...)}, err
}

// Markdown is an archive as people read it.
func (a *Archive) Markdown() string {
	var b strings.Builder
	b.WriteString("# What is remembered\n")
	for _, g := range ByKind(a.Memories) {
		b.WriteString("\n## " + g.Title + "\n\n")
		for _, e := range g.Memories {
			fmt.Fprintf(&b, "- %s (%d, %s, %s, %s", shown(&e, 1<<20), e.ID, e.Scope, sources[e.Source], e.CreatedAt.UTC().Format("2006-01-02"))
			if e.Taint != "" {
				fmt.Fprintf(&b, ", from %s", e.Taint.Words())
			}
			b.WriteString(")\n")
		}
	}
	for i, one := range a.Summaries {
		if i == 0 {
			b.WriteString("\n## Summaries\n\n")
		}
		fmt.Fprintf(&b, "- %s (%s, %s)\n", words.Escape(words.OneLine(one.Text, 1<<20)), one.Session, one.UsedAt.UTC().Format("2006-01-02"))
	}
	return b.String()
}

// An Imported says what became of an archive.
type Imported struct {
	Added   int      `json:"added"`
	Known   int      `json:"known"` // they were there already
	Refused []string `json:"refused"`
}

// Import writes what an archive has, each through the gate, for the operator on the machine.
func (s *Service) Import(ctx context.Context, data []byte, by core.Actor) (*Imported, error) {
	var a Archive
	if err := json.Unmarshal(data, &a); err != nil || a.Version != 1 {
		return nil, &core.StateError{Sentence: "That is no export of mine: write one with \"switchboard memory export\"."}
	}
	done := &Imported{Refused: []string{}}
	for i, e := range a.Memories {
		c, err := s.imported(ctx, e)
		if err == nil && c.Refusal == nil {
			err = s.Change(ctx, c, by)
		}
		switch {
		case err != nil:
			return done, err
		case c.Refusal != nil:
			done.Refused = append(done.Refused, fmt.Sprintf("memory %d of the file: %s", i+1, c.Refusal.Text))
		case c.Known:
			done.Known++
		default:
			done.Added++
		}
	}
	return done, nil
}

// imported is the change that writes one memory of an archive.
func (s *Service) imported(ctx context.Context, e memory.Entry) (*Change, error) {
	w := &Writer{Machine: true, Person: e.Person}
	no := func(format string, args ...any) (*Change, error) {
		return &Change{Kind: Add, Refusal: &Refusal{ruleScope, fmt.Sprintf(format, args...)}, judged: true}, nil
	}
	kind, name, _ := strings.Cut(string(e.Scope), ":")
	channel, place, _ := strings.Cut(name, ":")
	switch {
	case e.Kind != memory.Fact && e.Kind != memory.Preference && e.Kind != memory.Rule:
		return no("a %q is not imported", e.Kind)
	case kind == "person" && s.Person(name) == nil:
		return no("there is nobody called %q", name)
	case e.Scope != memory.Global && (kind != "person" || name == "") && (kind != "group" || channel == "" || place == ""):
		return no("%q says not whose it is", e.Scope)
	case e.Confidence < 0 || e.Confidence > 1:
		return no("its confidence is not between 0 and 1")
	case e.Taint.Words() == string(e.Taint) && e.Taint != tools.Clean:
		return no("I do not know what %q is, where it comes from", e.Taint)
	}
	return s.Write(ctx, w, memory.Entry{
		Kind: e.Kind, Scope: e.Scope, Category: e.Category, Key: e.Key, Text: e.Text, Confidence: e.Confidence, Taint: e.Taint, Kept: e.Kept, Always: e.Always, Source: Import, CreatedAt: e.CreatedAt,
	})
}
