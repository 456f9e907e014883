package memory

import (
	"context"
	"slices"
	"strings"

	"switchboard/agent/memory"
	"switchboard/router/core"
)

// Alone is somebody on a channel where nobody else takes part: on the page, or by a program of theirs.
func Alone(channel, person string, admin bool) *Writer {
	return &Writer{Person: person, Admin: admin, Place: memory.Place{Person: person, Channel: channel, Direct: true}}
}

// Ask writes what somebody asked to be remembered. A rule without a category may name one before a colon, and is a general one else.
func (s *Service) Ask(ctx context.Context, w *Writer, e memory.Entry) (*Change, error) {
	e.Source, e.Kept = Command, true
	if e.Kind == memory.Rule && e.Category == "" {
		e.Category, e.Text = categoryOf(e.Text)
	}
	return s.Write(ctx, w, e)
}

// categoryOf is the category of a rule that names it before a colon, and the rest; else the general one.
func categoryOf(rule string) (category, rest string) {
	category, rest, _ = strings.Cut(rule, ":")
	if category = strings.ToLower(strings.TrimSpace(category)); slices.Contains(memory.RuleCategories, category) {
		return category, strings.TrimSpace(rest)
	}
	return memory.RuleCategories[0], rule
}

// Edit is the change of one memory that somebody may change: Forget, Keep, Correct, where text is what is right, or Always.
// core.ErrNotFound: there is none such.
func (s *Service) Edit(ctx context.Context, w *Writer, does ChangeKind, id int64, text string) (*Change, error) {
	list, err := s.Store.Memories(ctx, Filter{IDs: []int64{id}, Scopes: s.mayChange(w), Person: onlyOf(w), All: true})
	if err == nil && len(list) == 0 {
		err = core.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.edited(ctx, w, does, list[0], text, "")
}

// edited is the change of a memory, by what was written in a session; empty: in none.
func (s *Service) edited(ctx context.Context, w *Writer, does ChangeKind, e memory.Entry, text, session string) (*Change, error) {
	no := func(rule, text string) (*Change, error) {
		c := s.change(w, does, e.ID)
		c.Refusal = &Refusal{rule, text}
		return c, nil
	}
	switch {
	case does == Forget:
		return s.ForgetAs(w, e.ID), nil
	case e.Kind == memory.Learning:
		return no(ruleKind, "I have not looked at that yet, so it is nothing that I remember. You can have it forgotten.")
	case does == Undo && !s.undoable(&e):
		return no(ruleKind, "That was not put together from others in the last 30 days, so there is nothing to undo.")
	case does == Undo:
		return s.change(w, Undo, e.ID), nil
	case does == Keep || does == Always:
		return s.confirmed(ctx, w, does, e)
	case e.Kind == memory.Preference && !w.Place.Direct && !w.Machine && e.Person != w.Person:
		return no(ruleRole, "That is what somebody else prefers, so only they can correct it.")
	}
	by := *w
	if w.Machine { // whose it is stays
		by.Person = e.Person
	}
	return s.Write(ctx, &by, memory.Entry{
		Kind: e.Kind, Scope: e.Scope, Category: e.Category, Key: e.Key, Text: text, Always: e.Always, Source: Command, Kept: true, Session: session,
	}, e.ID)
}

// Malformed says that no rights are missing: nobody may keep what is written so.
func (r *Refusal) Malformed() bool { return r.Rule == ruleKind || r.Rule == ruleSize }

// Fault is why these cannot be somebody's settings, in a sentence; empty: they can.
func (s *Settings) Fault() string {
	known := memory.Categories()
	switch {
	case s.Expire < 0 || s.Expire > maxExpire:
		return "Write a number of days, of which 0 is never."
	case slices.ContainsFunc(s.Denied, func(name string) bool { return !slices.Contains(known, name) }):
		return "I know the categories " + strings.Join(known, ", ") + "."
	}
	return ""
}

// A Group is memories of one kind, under their title.
type Group struct {
	Title    string
	Memories []memory.Entry
}

// ByKind are memories by their kind, in the order in which they are shown.
func ByKind(list []memory.Entry) (groups []Group) {
	for _, of := range order {
		g := Group{of.title, slices.DeleteFunc(slices.Clone(list), func(e memory.Entry) bool { return e.Kind != of.kind })}
		if len(g.Memories) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// SourceWords say how a memory came to be.
func SourceWords(source string) string { return sources[source] }
