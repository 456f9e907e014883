package router

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
)

// edit makes the entry of a message's new state. What it does is decided where the
// message's turn is known: in the transaction that commits it.
func (s *classifier) edit(ctx context.Context, entry classified, line *channel, person *core.Person) (classified, error) {
	event := entry.Event
	former, _, err := s.Store.Shown(ctx, event.Conversation, event.Message.ID, entry.Sender.Person)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return entry, fmt.Errorf("read the edited message: %w", err)
	}
	known := err == nil
	if !known && !line.addressed(event) {
		return overheard(entry, audit.RuleNotMeant), nil
	}
	refused := func(text string) (classified, error) {
		if known && text != "" {
			text += " Until then I use your message as it was before the change."
		}
		entry = line.noticed(entry, text)
		entry.Event.Message.ID = "" // it stays the ID of the message as it was
		return entry, nil
	}
	s.trim(&entry)
	// Platforms tell an edit for less than a new text; that is free.
	if !known || former != event.Message.Text {
		if text, is := s.refusal(&entry, person); is {
			return refused(text)
		}
	}
	edit := &intake.EditIntent{OnEdit: s.Config.OnEdit, Turn: s.turn(event)}
	switch name, args, ok := command(event.Message); {
	case ok && name == "retry":
		edit.Turn.Retry = &intake.Retry{} // as it was
	case ok && name == toolCommand:
		answer, err := s.answer(ctx, s.commands.Find(name), &commands.Call{
			Event: &entry.Event, Person: person, Name: name, Args: args, Slash: line.Command(event.Conversation),
		})
		if err != nil {
			return entry, err
		}
		if answer.Intent == nil {
			return refused(answer.Text)
		}
		edit.Turn.Ordered = true
	}
	entry.Intent = edit
	return entry, nil
}

// reaction makes the entry of a sign that a known person put on a message or took
// off: a note for later turns, which nobody answers.
func (s *classifier) reaction(ctx context.Context, entry classified) (classified, error) {
	event := entry.Event
	text, taint, err := s.Store.Shown(ctx, event.Conversation, event.Reaction.MessageID, entry.Sender.Person)
	switch {
	case errors.Is(err, core.ErrNotFound) && event.Conversation.Kind == channels.Direct:
		text = ""
	case errors.Is(err, core.ErrNotFound): // on what others wrote to each other
		return overheard(entry, audit.RuleNotMeant), nil
	case err != nil:
		return entry, fmt.Errorf("read the message reacted to: %w", err)
	}
	entry.Intent = &intake.AuditIntent{Why: intake.AuditNote}
	entry.Event.Message.Text = noteOf(event.Reaction, text)
	if !blank(text) {
		entry.Taint = taint // of the words that the note repeats
	}
	return entry, nil
}

// noteWords is how much of a message a note about it repeats, in runes.
const noteWords = 80

// noteOf is a reaction in words. Text is the message it is about; empty: not known.
func noteOf(reaction channels.Reaction, text string) string {
	about := "an earlier message"
	if !blank(text) {
		about = "“" + words.OneLine(text, noteWords) + "”"
	}
	if len(reaction.Added) > 0 {
		return "(reacted with " + strings.Join(reaction.Added, " ") + " to: " + about + ")"
	}
	return "(took the reaction " + strings.Join(reaction.Removed, " ") + " back from: " + about + ")"
}
