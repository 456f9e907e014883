package router

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox/delivery"
)

// modeCollect is the busy mode in which a turn waits for more to come.
const modeCollect = "collect"

// turn is how an event is queued that becomes a turn, or may become one.
func (r *Router) turn(event channels.Event) intake.TurnIntent {
	line := r.Connections.Connection(event.Conversation.Channel)
	now := r.settings().Config
	turn := intake.TurnIntent{Mode: now.Busy, QueueLimit: now.QueuePerSession, Asked: line.Asked(event.At), OrNothing: event.Sender.Remote()}
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
	if tooFast && entry.Event.Sender.Remote() {
		entry.busy = person.Name + " writes too fast: I read " + delivery.RateWords(s.Config.RatePerson)
	}
	if notify {
		reason = "That was too fast: I read " + delivery.RateWords(s.Config.RatePerson) + ". Please send this again in a moment."
	}
	return reason, tooFast
}

// tooFast says whether one thing that a person wants of us is one too many, as the
// earlier events of the batch leave the bucket of that name, and whether to notify
// the person. It is counted when the entry is committed.
func (s *classifier) tooFast(entry *classified, name string, weight float64) (tooFast, notify bool) {
	if s.Config.RatePerson == "off" || entry.Event.Sender.Person != "" && !entry.Event.Sender.Remote() {
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

// onlyVoice says that all that came was spoken.
func onlyVoice(attachments []channels.Attachment) bool {
	return len(attachments) > 0 && !slices.ContainsFunc(attachments, func(a channels.Attachment) bool { return a.Kind != channels.Voice })
}

// FileLimits are the settings about files that matter when a message comes in.
type FileLimits struct {
	MaxSize       int64 // bytes of one file; 0: no limit
	MaxPerMessage int   // files with one message; 0: no limit
}

// trim takes off a message the attachments that are too many or too large, and
// has the person notified besides; the rest is worked on.
func (s *classifier) trim(entry *classified) {
	limits := s.Settings.FileLimits
	var kept []channels.Attachment
	var large []string
	many := 0
	for _, a := range entry.Event.Message.Attachments {
		switch {
		case limits.MaxSize > 0 && a.Size > limits.MaxSize:
			large = append(large, nameOf(a))
		case limits.MaxPerMessage > 0 && len(kept) == limits.MaxPerMessage:
			many++
		default:
			kept = append(kept, a)
		}
	}
	var said []string
	if len(large) > 0 {
		said = append(said, fmt.Sprintf("I take files of up to %s. These are larger, so I left them out: %s.", words.Size(limits.MaxSize), strings.Join(large, ", ")))
	}
	if many > 0 {
		said = append(said, fmt.Sprintf("I take up to %d files with one message; left out: the last %d.", limits.MaxPerMessage, many))
	}
	if said == nil {
		return
	}
	entry.Event.Message.Attachments = kept
	entry.aside = strings.Join(said, " ")
}

// nameOf is what a person would call an attachment.
func nameOf(a channels.Attachment) string {
	if blank(a.Name) {
		return "a " + string(a.Kind)
	}
	return words.OneLine(a.Name, 60)
}
