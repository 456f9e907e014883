package router

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"switchboard/channels"
	"switchboard/router/audit"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/outbox/delivery"
	"switchboard/router/turns"
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

// A classified is an event with what it is taken as, and what is done beside its commit.
type classified struct {
	intake.Entry
	line   *channel                              // nil: there is none of that name
	aside  string                                // is said to the person besides, once, in a message of its own
	charge charge                                // is counted for the person once the entry is committed
	beside func(context.Context) commands.Answer // goes on once a command is committed; nil: nothing does
	secret typedSecret
	unsaid intake.Outcome                                                               // nothing is said in it
	asked  *outbox.Reply                                                                // is said to a stranger for whom the admins are asked
	typed  func(ctx context.Context, entry classified, text string) (classified, error) // takes a press as that command
}

// unclassifiedYet is an event of which nothing secret is left; kinds says what was hidden.
func (r *Router) unclassifiedYet(event channels.Event) (entry classified, kinds []string) {
	entry = classified{Entry: intake.Entry{Key: eventKey(event), Event: event, Origin: "chat"}}
	entry.secret, kinds = r.hide(&entry.Event)
	return entry, kinds
}

// newClassifier begins a batch; known may be nil.
func (r *Router) newClassifier(known map[string]bool) *classifier {
	return &classifier{Router: r, Settings: r.settings(), here: r.Channels.now(), moves: &r.moves, buckets: map[string]personBucket{}, tried: map[string]int{}, known: known}
}

// classifyBatch turns events into the entries that will be committed. An error is nobody's
// fault, so that the batch is to be handed in again.
func (r *Router) classifyBatch(ctx context.Context, batch []channels.Event) ([]classified, error) {
	s := r.newClassifier(nil)
	entries, err := s.all(ctx, batch)
	if err != nil || !s.tooMany || len(batch) == 1 {
		return entries, err
	}
	// What is handed in again counts nothing, which may leave room for the others.
	keys := make([][]byte, len(entries))
	for i := range entries {
		keys[i] = entries[i].Key
	}
	known, err := r.Ledger.Known(ctx, keys)
	if err != nil || len(known) == 0 {
		return entries, err
	}
	return r.newClassifier(known).all(ctx, batch)
}

// all classifies each event. One for which something cannot be read fails alone.
func (s *classifier) all(ctx context.Context, batch []channels.Event) ([]classified, error) {
	entries := make([]classified, len(batch))
	for i, event := range batch {
		line := s.here[event.Conversation.Channel]
		if detached := line == nil && s.Lines.Connection(event.Conversation.Channel) != nil; detached || line != nil && line.leaves {
			return nil, errDetached
		}
		entry, err := s.classifyAlone(ctx, event, line)
		if err != nil && isNobodysFault(ctx, err) {
			return nil, fmt.Errorf("sort events: %w", err)
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
	kept, hidden := s.unclassifiedYet(event)
	kept.line = line
	entry, err = caught(kept, func() (classified, error) { return s.classify(ctx, kept, event) })
	if control, ok := entry.Intent.(*intake.ControlIntent); entry.secret.value != "" && !(ok && setsSecret(control)) {
		hidden = append(hidden, "what followed the command")
	}
	entry.sayHidden(hidden)
	return entry, err
}

// caught is what classify makes of an entry; of a panic an error of the entry as it is.
func caught(kept classified, classify func() (classified, error)) (entry classified, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			entry = kept
			err = fmt.Errorf("%w: panic: %v\n%s", turns.ErrBroken, fault, debug.Stack())
		}
	}()
	return classify()
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
	turn.Says = consent(&entry.Event)
	s.answers(&entry, line, person, turn)
	entry.Intent = &turn
	return entry, nil
}

// modeCollect is the busy mode in which a turn waits for more to come.
const modeCollect = "collect"

// turn is how an event is queued that becomes a turn, or may become one.
func (r *Router) turn(event channels.Event) intake.TurnIntent {
	line := r.Lines.Connection(event.Conversation.Channel)
	now := r.settings().Config
	turn := intake.TurnIntent{Mode: now.Busy, QueueLimit: now.QueuePerSession, Asked: line.Asked(event.At)}
	if turn.Mode == modeCollect {
		turn.CollectWindow = now.CollectWindow
	}
	return turn
}

// refusal says why a message of a known person becomes a notice instead of a turn.
// With no text the person is not notified: they were, a moment ago.
func (s *classifier) refusal(entry *classified, person *core.Person) (reason string, refused bool) {
	text, files := entry.Event.Message.Text, entry.Event.Message.Attachments
	switch {
	case blank(text) && len(files) == 0 && entry.aside != "":
		return entry.aside, true // nothing else is left of it
	case blank(text) && len(files) == 0:
		return "Your message is empty. Write what you would like me to do; /help shows what I can.", true
	case blank(text) && onlyVoice(files):
		return "I cannot listen to voice messages yet. Please write to me what you said.", true
	case s.Config.MessageLimit > 0 && int64(len(text)) > s.Config.MessageLimit:
		return fmt.Sprintf("Your message is %d KB long; I take up to %d KB. Please send it in parts.",
			(len(text)+1023)/1024, s.Config.MessageLimit/1024), true
	}
	return s.refuseFast(entry, person, 1)
}

// refuseFast says, like refusal, that a message of a known person is one too many. Weight is
// what it counts for.
func (s *classifier) refuseFast(entry *classified, person *core.Person, weight float64) (reason string, refused bool) {
	tooFast, notify := s.tooFast(entry, person.Name, weight)
	if notify {
		reason = "That was too fast: I read " + delivery.RateWords(s.Config.RatePerson) + ". Please send this again in a moment."
	}
	return reason, tooFast
}

// tooFast says whether one thing that a person wants of us is one too many, as the
// earlier events of the batch leave the bucket of that name, and whether to notify
// the person. It is counted when the entry is committed.
func (s *classifier) tooFast(entry *classified, name string, weight float64) (tooFast, notify bool) {
	if s.Config.RatePerson == "off" || entry.Event.Sender.Person != "" {
		return false, false
	}
	at := happened(entry.Event.At)
	b, asked := s.buckets[name]
	if !asked {
		b = s.rates.bucket(name, at)
	}
	entry.charge = b.judge(name, at, weight)
	if !s.known[string(entry.Key)] {
		b.count(entry.charge)
	}
	s.buckets[name] = b
	s.tooMany = s.tooMany || entry.charge.weight == 0
	return entry.charge.weight == 0, entry.charge.notified
}

// happened is when an event counts as having happened: where its platform does not say,
// or says that it is yet to happen, now.
func happened(at time.Time) time.Time {
	if now := time.Now(); at.IsZero() || at.After(now) {
		return now
	}
	return at
}

// noticed makes an entry one that is kept and answered by text alone; with no text
// it is only kept.
func (l *channel) noticed(entry classified, text string) classified {
	refused := &intake.ControlIntent{Refused: true}
	if text != "" {
		refused.Reply = l.Notice(entry.Event, text)
		refused.Reply.Taint = entry.Taint // it may name the files
	}
	entry.Intent, entry.aside = refused, ""
	return entry
}
