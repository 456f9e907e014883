package router

import (
	"context"

	"switchboard/channels"
)

// A relay shows the clients that are connected to this engine what turns on other
// engines write, as the ledger has it.
type relay struct {
	line     *line
	streamer channels.Streamer
	again    chan struct{} // the ledger is to be looked at
	shown    map[int64]channels.ConversationID
}

// newRelay returns nil where there is nothing to relay.
func newRelay(l *line) *relay {
	streamer, ok := l.channel.(channels.Streamer)
	if !ok || l.router.Wakes == nil {
		return nil
	}
	return &relay{line: l, streamer: streamer, again: make(chan struct{}, 1), shown: map[int64]channels.ConversationID{}}
}

func (r *relay) run(ctx context.Context) { r.line.watchDrafts(ctx, r.again, r.heed) }

func (r *relay) heed(list []Draft) {
	open := map[int64]bool{}
	for i := range list {
		d := &list[i]
		if d.Body.Text == "" || r.line.router.Runs(d.Turn) {
			continue // the turn itself shows it, or nothing
		}
		open[d.Turn] = true
		r.shown[d.Turn] = d.Conversation.ID
		r.streamer.Stream(d.Conversation.ID, d.Turn, d.Body.Text)
	}
	for turn, conv := range r.shown {
		if open[turn] {
			continue
		}
		delete(r.shown, turn)
		if !r.line.router.Runs(turn) {
			r.streamer.Stream(conv, turn, "")
		}
	}
}

// hearShown follows a wake about what is shown beside messages: WakeDraft, WakeTyping,
// WakeAll. It does not block.
func (l *line) hearShown(w Wake) {
	s := l.holding()
	switch {
	case l.relay != nil && w.Kind != WakeTyping:
		poke(l.relay.again)
	case s != nil && w.Kind == WakeTyping:
		s.shows.typing(w.at())
	case s != nil:
		s.shows.lookAgain()
	}
}
