package router

import (
	"context"
	"sync"

	"switchboard/channels"
)

// maxStrangers bounds how many strangers one run of the program logs, so that a
// crowd at the door does not fill the log.
const maxStrangers = 1000

// strangers remembers who was logged already.
type strangers struct {
	mu   sync.Mutex
	told map[string]bool
}

// first says whether key was not seen before and is to be logged.
func (s *strangers) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[key] || len(s.told) >= maxStrangers {
		return false
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[key] = true
	return true
}

// logStranger tells the operator, once each, who wrote to the bot and was not let
// in, and by which words the settings would let them in. The stranger gets no answer.
func (r *Router) logStranger(ctx context.Context, event *channels.Event, identity string) {
	conv := event.Conversation
	meant := conv.Kind == channels.Direct || event.Message.Mentioned
	if event.Kind != channels.EventMessage || event.Sender.Bot || event.Sender.ID == "" || !meant {
		return
	}
	if r.strangers.first(conv.Channel + "\x00" + identity + "\x00" + conv.Place) {
		r.Log.InfoContext(ctx, "a stranger wrote and got no answer; [[people]] identities and allow_conversations let somebody in",
			"channel", conv.Channel, "identity", identity, "conversation", conv.Place, "kind", string(conv.Kind))
	}
}
