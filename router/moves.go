package router

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// moves knows which places their platform gave new IDs: the settings may still name
// a former one.
type moves struct {
	mu  sync.Mutex
	now map[movedPlace]string // the present ID
}

// A movedPlace is a place of a channel by an ID it had.
type movedPlace struct{ channel, former string }

func (m *moves) add(channel, former, now string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for place, id := range m.now { // what moved there before has moved on
		if place.channel == channel && id == former {
			m.now[place] = now
		}
	}
	m.now[movedPlace{channel, former}] = now
	delete(m.now, movedPlace{channel, now})
}

// with is what would be known after add, in a copy.
func (m *moves) with(channel, former, now string) *moves {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &moves{now: maps.Clone(m.now)}
	c.add(channel, former, now)
	return c
}

// present is the ID that a place has by now.
func (m *moves) present(channel, id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now, ok := m.now[movedPlace{channel, id}]; ok {
		return now
	}
	return id
}

// allows says whether a place is one of allow_conversations, by the ID it has or one
// it had, or part of one.
func (l *channel) allows(moves *moves, conv channels.Conversation) bool {
	return slices.ContainsFunc(l.config.AllowConversations, func(id string) bool {
		return id == conv.Place || id != "" && id == conv.Within || moves.present(l.Name, id) == conv.Place
	})
}

// load reads what moved while other engines ran, before anything is taken in.
func (m *moves) load(ctx context.Context, ledger Intake, log *slog.Logger) {
	for range retry.Doubling(ctx, time.Second, time.Second) {
		moved, err := ledger.Moved(ctx)
		if err == nil {
			for _, one := range moved {
				m.add(one.Channel, string(one.Former), string(one.Current))
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		log.ErrorContext(ctx, "cannot read which conversations moved", "error", err)
	}
}
