package router

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/channels"
)

// Accept implements channels.Sink, the one way in. Each event is sorted (who is
// speaking, may they, what is it), then all are committed in one transaction,
// and only then does anything happen.
func (r *Router) Accept(ctx context.Context, batch []channels.Event) ([]channels.Receipt, error) {
	if len(batch) == 0 {
		return nil, nil
	}
	if r.stopping.Load() {
		return nil, r.waitForEnd(ctx)
	}
	entries := make([]Entry, len(batch))
	for i, event := range batch {
		entry, err := r.sort(ctx, event)
		if err != nil {
			r.unreserve(entries[:i])
			return nil, err
		}
		entries[i] = entry
	}
	stops := r.running.stops()
	accepted, err := r.Ledger.Accept(ctx, r.Engine.ID(), entries)
	if isRefused(err) {
		return r.acceptEach(ctx, entries)
	} else if err != nil {
		r.unreserve(entries)
		r.leased.soon() // it may be committed all the same
		return nil, fmt.Errorf("take events in: %w", err)
	}
	receipts := make([]channels.Receipt, len(batch))
	for i := range accepted {
		receipts[i] = r.follow(ctx, &entries[i], &accepted[i], stops)
	}
	return receipts, nil
}

// acceptEach commits the entries of a refused batch one by one and keeps raw the
// one that the database refuses, so that it does not make its channel deaf.
func (r *Router) acceptEach(ctx context.Context, entries []Entry) ([]channels.Receipt, error) {
	receipts := make([]channels.Receipt, len(entries))
	for i := range entries {
		entry := &entries[i]
		stops := r.running.stops()
		accepted, err := r.Ledger.Accept(ctx, r.Engine.ID(), []Entry{*entry})
		if isRefused(err) {
			r.Log.ErrorContext(ctx, "the database refuses an event", "channel", entry.Event.Conversation.Channel, "error", err)
			r.unreserve(entries[i : i+1])
			*entry = refused(*entry)
			accepted, err = r.Ledger.Accept(ctx, r.Engine.ID(), []Entry{*entry})
		}
		if err != nil {
			r.unreserve(entries[i:])
			r.leased.soon()
			// What was committed before it is told again, and known then.
			return nil, fmt.Errorf("take events in one by one: %w", err)
		}
		receipts[i] = r.follow(ctx, entry, &accepted[0], stops)
	}
	return receipts, nil
}

// waitForEnd holds a channel back while the engine stops: its connection stays
// open for sending, and what it was told stays unacknowledged.
func (r *Router) waitForEnd(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-r.stopped:
	}
	return ErrStopping
}

// sort turns one event into the entry that will be committed. The first thing
// that settles what it is wins.
func (r *Router) sort(ctx context.Context, event channels.Event) (Entry, error) {
	entry := Entry{Key: eventKey(event), Event: event, Origin: "chat"}
	line := r.lines[event.Conversation.Channel]
	if line == nil {
		return entry, fmt.Errorf("event %q comes from channel %q, which is not attached", event.Key, event.Conversation.Channel)
	}
	if reason := unreadable(event); reason != "" {
		return rejected(entry, reason), nil
	}
	clean(&entry.Event)
	entry.Identity = line.kind + ":" + event.Sender.ID
	if class := aboutPlaces(event.Kind); class != "" {
		if entry.Class = class; class == ClassMoved { // at once, for the rest of the batch
			r.moves.add(line.name, string(event.Former), string(event.Conversation.ID))
		}
		return entry, nil
	}
	person, fresh, rule := r.whoIs(line, entry.Event)
	entry.Rule = rule
	if person == nil {
		entry.Class = ClassStranger
		return entry, nil
	}
	if !line.meant(event) {
		return overheard(entry), nil
	}
	entry.Person, entry.NewPerson = person.Name, fresh
	entry.Taint = taintOf(entry.Event.Message)
	switch event.Kind {
	case channels.EventEdited:
		return r.edit(ctx, entry, line, person)
	case channels.EventAction:
		return r.press(entry, line, person), nil
	case channels.EventReaction:
		return r.reaction(ctx, entry)
	}
	return r.message(ctx, entry, line, person)
}

// aboutPlaces is the class of what the platform itself says about conversations
// and messages, whoever caused it; empty for what somebody wants of us.
func aboutPlaces(kind channels.EventKind) Class {
	switch kind {
	case channels.EventMember:
		return ClassMember
	case channels.EventMoved:
		return ClassMoved
	case channels.EventDeleted:
		return ClassDeleted
	}
	return ""
}

// message makes the entry of what a known person wrote.
func (r *Router) message(ctx context.Context, entry Entry, line *line, person *Person) (Entry, error) {
	if name, args, ok := command(entry.Event.Message); ok {
		if name == "retry" {
			return r.retry(entry, line, person, args), nil
		}
		return r.control(ctx, entry, line, person, name, args)
	}
	if stops, err := r.stops(ctx, entry.Event); err != nil {
		return entry, err
	} else if stops {
		return r.control(ctx, entry, line, person, "cancel", "")
	}
	r.trim(&entry)
	if text, refused := r.refusal(&entry, person); refused {
		return line.noticed(entry, text), nil
	}
	r.queue(&entry, line, person)
	entry.Class = ClassTurn
	switch m := entry.Event.Message; {
	case !ownText(m):
	case isNumber(m.Text):
		entry.Class, entry.ActionNumber = ClassAction, true
	default:
		entry.ActionText = true
	}
	return entry, nil
}

// queue fills what an entry needs that becomes a turn, or may become one.
func (r *Router) queue(entry *Entry, line *line, person *Person) {
	entry.Tell, entry.Asked = line.tell, line.asked(entry.Event.At)
	entry.Mode, entry.QueueLimit = r.Config.Busy, r.Config.QueuePerSession
	if entry.Mode == modeCollect {
		entry.CollectWindow = r.Config.CollectWindow
	}
	entry.Busy = line.notice(entry.Event, fmt.Sprintf(
		"I am still busy with %d earlier messages of yours, so I did not take this one. Please send it again later; /status shows where I am and /cancel stops the one I am on.", r.Config.QueuePerSession))
	// What waits for more is not run now. While others wait for a worker, a newcomer
	// queues behind them.
	entry.MayClaim = entry.CollectWindow == 0 && !r.waiting.Load() && r.Engine.Safe() && r.workers.take(person.Name)
}

// refusal says why a message of a known person becomes a notice instead of a turn.
// With no text the person is not told: they were, a moment ago.
func (r *Router) refusal(entry *Entry, person *Person) (reason string, refused bool) {
	text, files := entry.Event.Message.Text, entry.Event.Message.Attachments
	switch {
	case blank(text) && len(files) == 0 && entry.aside != "":
		return entry.aside, true // nothing else is left of it
	case blank(text) && len(files) == 0:
		return "Your message is empty. Write what you would like me to do; /help shows what I can.", true
	case blank(text) && onlyVoice(files):
		return "I cannot listen to voice messages yet. Please write to me what you said.", true
	case r.Config.MessageLimit > 0 && int64(len(text)) > r.Config.MessageLimit:
		return fmt.Sprintf("Your message is %d KB long; I take up to %d KB. Please send it in parts.",
			(len(text)+1023)/1024, r.Config.MessageLimit/1024), true
	}
	return r.hurried(entry.Event, person)
}

// hurried counts a message of a known person, and says, like refusal, that it is one
// too many.
func (r *Router) hurried(event channels.Event, person *Person) (reason string, refused bool) {
	tooFast, tell := r.tooFast(event, person)
	if tell {
		reason = fmt.Sprintf("You are faster than I am: I take %s messages of one person. "+
			"Please wait a little, then send this one again, and what you send until then.", r.Config.RatePerson)
	}
	return reason, tooFast
}

// tooFast counts one thing that a person wants of us, and says whether it is one too
// many, and whether to tell the person so.
func (r *Router) tooFast(event channels.Event, person *Person) (tooFast, tell bool) {
	if event.Sender.Person != "" {
		return false, false
	}
	ok, tell := r.rates.allow(person.Name, time.Now())
	return !ok, tell
}

// noticed makes an entry one that is kept and answered by text alone; with no text
// it is only kept.
func (l *line) noticed(entry Entry, text string) Entry {
	entry.Class, entry.aside = ClassNotice, ""
	if text != "" {
		entry.Reply = l.notice(entry.Event, text)
	}
	return entry
}

// follow does what the commit made possible. stops is how many stops had met nobody
// before it.
func (r *Router) follow(ctx context.Context, entry *Entry, acc *Accepted, stops int64) channels.Receipt {
	line := r.lines[entry.Event.Conversation.Channel]
	if entry.MayClaim && acc.Claimed == nil {
		r.workers.give(entry.Person)
	}
	if acc.Rejected != "" && !acc.Duplicate {
		r.Log.WarnContext(ctx, "event rejected", "channel", line.name, "reason", acc.Rejected)
	}
	if entry.Class == ClassStranger && !acc.Duplicate {
		r.logStranger(ctx, &entry.Event, entry.Identity)
	}
	if entry.NewPerson && !acc.Duplicate {
		if err := r.Roster.Learn(ctx, entry.Person); err != nil {
			r.Log.ErrorContext(ctx, "a new person is not known yet", "person", entry.Person, "error", err)
		}
	}
	r.tellAside(ctx, entry, acc)
	if acc.Claimed != nil {
		acc.Claimed.stops = stops
		r.begin(*acc.Claimed, entry.Person)
	}
	r.followQueue(entry, acc)
	if acc.CancelTurn != 0 {
		r.stop(acc.CancelTurn, causeOf(entry))
	}
	if entry.Class == ClassMoved {
		r.moves.add(line.name, string(entry.Event.Former), string(entry.Event.Conversation.ID))
		line.moved(entry.Event.Former, entry.Event.Conversation)
	}
	queued := entry.Class == ClassTurn && !acc.Busy && !acc.Told && acc.Action == "" // there is nothing to send yet
	if !acc.Duplicate && !unanswered(entry.Class) && (!queued || line.reader != nil) {
		line.committed(entry.Event.Conversation)
	}
	receipt := acc.Receipt
	switch {
	case entry.Event.Kind == channels.EventAction && !acc.Duplicate:
		receipt.Toast = line.pressed(entry, acc)
	case acc.Action == ActionAccepted: // typed
		line.unbutton(entry.Event.Conversation, acc.Question)
	}
	return receipt
}

// unanswered says that a message of that class brings nothing that is sent or read: a
// flood of them costs its own row each and no look at what is to be sent.
func unanswered(c Class) bool {
	return c == ClassStranger || c == ClassOverheard || c == ClassRejected
}

// causeOf says why an entry that stops a turn does so.
func causeOf(entry *Entry) error {
	if entry.Class == ClassControl || entry.Class == ClassDeleted {
		return agent.ErrCancelled
	}
	return agent.ErrInterrupted
}

// unreserve gives back the workers that sorting reserved, and forgets who would have
// been told of being too fast.
func (r *Router) unreserve(entries []Entry) {
	for _, entry := range entries {
		if entry.Class == ClassNotice {
			r.rates.untold(entry.Person)
		}
		if entry.MayClaim {
			r.workers.give(entry.Person)
		}
	}
}

// eventKey makes the key under which an event is remembered: a hash, so that it
// outlives what it came with.
func eventKey(event channels.Event) []byte {
	h := sha256.New()
	h.Write([]byte(event.Conversation.Channel))
	h.Write([]byte{0})
	h.Write([]byte(event.Key))
	return h.Sum(nil)
}

// isRefused says that err is the fault of what stands in an entry, and not of a
// database that cannot take anything now.
func isRefused(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrConflict)
}

// refused is the entry of an event that the database refused.
func refused(entry Entry) Entry {
	entry.MayClaim, entry.NewPerson = false, false // nothing of it was done
	return rejected(entry, "the database refuses it")
}

func rejected(entry Entry, reason string) Entry {
	entry.Class, entry.Reject = ClassRejected, reason
	if entry.Event.Raw == nil {
		entry.Event.Raw = []byte(entry.Event.Message.Text)
	}
	// Besides the raw bytes only what labels them is kept, and that made readable.
	c := entry.Event.Conversation
	id := []rune(readable(string(c.ID)))
	entry.Event.Conversation = channels.Conversation{
		Channel: c.Channel, ID: channels.ConversationID(id[:min(len(id), 200)]), Kind: channels.Direct,
	}
	return entry
}
