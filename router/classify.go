package router

import (
	"context"
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/audit"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/sessions"
)

// A classifier decides what the events of one batch are. It reads, and has no effect: what
// the earlier events of the batch will have counted and moved once they are committed is
// known to it alone.
type classifier struct {
	*Router
	*Settings                         // those of the whole batch
	here      map[string]*channel     // the channels as they were when it began
	moves     *moves                  // stands for the Router's
	buckets   map[string]personBucket // by name, of who was asked about
	tried     map[string]int          // codes, by who sent them
	tooMany   bool                    // somebody was too fast
	admitters []channels.Conversation // where it is asked whether to let a stranger in; nil: nobody looked yet
	known     map[string]bool         // keys that are committed already, if somebody looked
}

// newClassifier begins a batch; known may be nil.
func newClassifier(r *Router, known map[string]bool) *classifier {
	return &classifier{Router: r, Settings: r.settings(), here: r.Channels.now(), moves: &r.moves, buckets: map[string]personBucket{}, tried: map[string]int{}, known: known}
}

// classifyBatch turns events into the entries that will be committed. An error is nobody's
// fault, so that the batch is to be handed in again.
func classifyBatch(ctx context.Context, r *Router, batch []channels.Event) ([]classified, error) {
	s := newClassifier(r, nil)
	entries, err := s.all(ctx, batch)
	if err != nil || !s.tooMany || len(batch) == 1 {
		return entries, err
	}
	// What is handed in again counts nothing, which may leave room for the others.
	keys := make([][]byte, len(entries))
	for i := range entries {
		keys[i] = entries[i].Key
	}
	known, err := r.Store.Known(ctx, keys)
	if err != nil || len(known) == 0 {
		return entries, err
	}
	return newClassifier(r, known).all(ctx, batch)
}

// all classifies each event. One for which something cannot be read fails alone.
func (s *classifier) all(ctx context.Context, batch []channels.Event) ([]classified, error) {
	entries := make([]classified, len(batch))
	for i, event := range batch {
		line := s.here[event.Conversation.Channel]
		if detached := line == nil && s.Connections.Connection(event.Conversation.Channel) != nil; detached || line != nil && line.leaves {
			return nil, errDetached
		}
		entry, err := s.classifyAlone(ctx, event, line)
		if err != nil && isNobodysFault(ctx, err) {
			return nil, fmt.Errorf("classify events: %w", err)
		} else if err != nil {
			s.Log.ErrorContext(ctx, "an event cannot be looked into", "channel", event.Conversation.Channel, "error", err)
			entry = s.unclassified(entry)
		}
		entries[i] = entry
	}
	return entries, nil
}

// classifyAlone is classify, of which a panic is an error of that event.
func (s *classifier) classifyAlone(ctx context.Context, event channels.Event, line *channel) (entry classified, err error) {
	kept := classified{Entry: intake.Entry{Key: eventKey(event), Event: event, Origin: "chat"}, line: line}
	if event.Sender.Token != "" {
		kept.Origin = "api"
	}
	secret, hidden := s.hide(&kept.Event)
	kept.secret = secret
	entry, err = caught(kept, func() (classified, error) { return s.classify(ctx, kept, event) })
	if control, ok := entry.Intent.(*intake.ControlIntent); entry.secret.value != "" && !(ok && setsSecret(control)) {
		hidden = append(hidden, "what followed the command")
	}
	entry.sayHidden(hidden)
	return entry, err
}

// unclassified makes the entry of an event for which something could not be read. Who waits
// for an answer is notified.
func (s *classifier) unclassified(entry classified) classified {
	line := entry.line
	switch event := &entry.Event; {
	case entry.Sender.Person == "": // it is not known whether anybody may be answered
	case event.Kind == channels.EventMessage:
		return line.noticed(entry, "I could not look that up just now; please try again.")
	case event.Kind == channels.EventEdited && line.addressed(*event):
		event.Message.ID = "" // it stays the ID of the message as it was
		return line.noticed(entry, "I could not find the message that you changed. Please write it again.")
	}
	return rejected(entry, "what it is about could not be looked up")
}

// classify turns one event, of which entry has what is kept, into the entry that will be
// committed. The first thing that settles what it is wins.
func (s *classifier) classify(ctx context.Context, entry classified, event channels.Event) (classified, error) {
	line := entry.line
	code := hideCode(&entry.Event.Message)
	if line == nil {
		return rejected(entry, "its channel is not attached"), nil
	}
	if reason := unreadable(entry.Event); reason != "" {
		return rejected(entry, reason), nil
	}
	clean(&entry.Event)
	entry.Sender.Identity = s.identity(&entry, line)
	switch event.Kind {
	case channels.EventMoved: // at once, for the rest of the batch
		s.moves = s.moves.with(line.Name, string(event.Former), string(event.Conversation.ID))
		fallthrough
	case channels.EventMember, channels.EventDeleted: // whoever caused it
		entry.Intent = &intake.NewsIntent{}
		return entry, nil
	}
	person, fresh, rule := s.whoIs(line, entry.Event)
	entry.Sender.Rule = rule
	if code.code != "" && !code.pair && line.named(&entry.Event) {
		if person != nil {
			entry.Sender.Person, entry.Sender.New = person.Name, fresh
		}
		return s.bring(ctx, entry, line, person, code)
	}
	if s.tooEarly(event.At) {
		return overheard(entry, audit.RuleTooEarly), nil
	}
	if person == nil {
		if answer := line.strangersAnswer(&entry.Event); answer.code != "" {
			return s.bring(ctx, entry, line, nil, answer)
		}
		return s.stranger(ctx, entry, line), nil
	}
	if !line.isForUs(event) {
		return overheard(entry, audit.RuleNotMeant), nil
	}
	entry.Sender.Person, entry.Sender.New = person.Name, fresh
	entry.Taint = taintOf(entry.Event.Message)
	if code.pair && person.Role == core.RoleAdmin && line.named(&entry.Event) { // from a link that a stranger sent
		return s.order(ctx, entry, line, person, "approve", code.code)
	}
	switch event.Kind {
	case channels.EventEdited:
		return s.edit(ctx, entry, line, person)
	case channels.EventAction:
		return s.press(entry, line, person), nil
	case channels.EventReaction:
		return s.reaction(ctx, entry)
	}
	return s.message(ctx, entry, line, person)
}

// message makes the entry of what a known person wrote.
func (s *classifier) message(ctx context.Context, entry classified, line *channel, person *core.Person) (classified, error) {
	if name, args, ok := command(entry.Event.Message); ok {
		return s.order(ctx, entry, line, person, name, args)
	}
	if stops, err := s.stops(ctx, entry.Event); err != nil {
		return entry, err
	} else if stops {
		return s.order(ctx, entry, line, person, "cancel", "")
	}
	if zone, err := s.toldZone(ctx, &entry, person); err != nil {
		return entry, err
	} else if zone != "" {
		return s.order(ctx, entry, line, person, "timezone", zone)
	}
	s.trim(&entry)
	if text, refused := s.refusal(&entry, person); refused {
		return line.noticed(entry, text), nil
	}
	turn := s.turn(entry.Event)
	turn.Choice = ownText(entry.Event.Message)
	if entry.Event.Sender.Token == "" { // a token decides by its own call, where it may
		turn.Says = consent(&entry.Event)
	}
	s.answers(&entry, line, person, turn)
	entry.Intent = &turn
	return entry, nil
}

// toldZone is where somebody says that they are, in answer to the question that a reminder asked; empty: they do not.
func (s *classifier) toldZone(ctx context.Context, entry *classified, person *core.Person) (string, error) {
	m := &entry.Event.Message
	said := strings.Trim(strings.TrimSpace(m.Text), ".!")
	for _, lead := range []string{"I'm in ", "I’m in ", "I am in ", "I live in ", "near ", "in ", "In "} {
		said = strings.TrimPrefix(said, lead)
	}
	said, _, _ = strings.Cut(said, ",") // Rome, Italy
	if person.TimeZone != "" || len(said) > 60 || said == "" || strings.EqualFold(said, "nice") || !ownText(*m) {
		return "", nil
	}
	if _, place := words.Place(said); place == "" && words.Inexact(said) == "" && !sessions.TellsClock(said) { // each message costs no more than this
		return "", nil
	}
	if assumes, err := s.Store.Assumes(ctx, person.Name); err != nil || !assumes {
		return "", err
	}
	return said, nil
}

// consent is what a message decides that is nothing but a yes or no in the person's own words, in a chat
// with one person; empty: it is none.
func consent(e *channels.Event) outbox.Does {
	m := &e.Message
	if e.Conversation.Kind != channels.Direct || !ownText(*m) || m.Quote != "" && m.ReplyTo == "" { // of another chat
		return ""
	}
	switch yes, plain := words.Consent(m.Text); {
	case !plain:
		return ""
	case yes:
		return outbox.DoesOnce
	}
	return outbox.DoesDeny
}
