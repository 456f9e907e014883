package router

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/intake"
)

// onlyVoice says that all that came was spoken.
func onlyVoice(attachments []channels.Attachment) bool {
	for _, a := range attachments {
		if a.Kind != channels.Voice {
			return false
		}
	}
	return len(attachments) > 0
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

// notifyAside says what an entry has to say besides becoming a turn. A key of its own
// makes that happen once, also when the event comes again because this engine
// died in between.
func (r *Router) notifyAside(ctx context.Context, entry *classified, acc *intake.Accepted) {
	if entry.aside == "" || acc.Outcome == intake.OutcomeBusy || acc.Edited == intake.EditSame {
		return
	}
	notice := entry.line.Notice(entry.Event, entry.aside)
	notice.Person, notice.Taint = entry.Sender.Person, entry.Taint // it names the files
	if _, err := r.Ledger.Notify(context.WithoutCancel(ctx), asideKey("aside:", entry.Key), entry.Event.Conversation, *notice); err != nil {
		r.Log.ErrorContext(ctx, "a notice could not be committed", "channel", entry.Event.Conversation.Channel, "error", err)
	}
}

// asideKey is the key of a notice about an entry.
func asideKey(kind string, entry []byte) []byte {
	key := sha256.Sum256(append([]byte(kind), entry...))
	return key[:]
}

// nameOf is what a person would call an attachment.
func nameOf(a channels.Attachment) string {
	if blank(a.Name) {
		return "a " + string(a.Kind)
	}
	return words.OneLine(a.Name, 60)
}
