package router

import (
	"fmt"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
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

// nameOf is what a person would call an attachment.
func nameOf(a channels.Attachment) string {
	if blank(a.Name) {
		return "a " + string(a.Kind)
	}
	return words.OneLine(a.Name, 60)
}
