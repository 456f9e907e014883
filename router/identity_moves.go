package router

import "sync"

// moves knows under which IDs places were known before their platform gave them
// others: the settings may still name one of those. The zero value knows of none.
type moves struct {
	mu      sync.Mutex
	formers map[movedPlace]string
}

// A movedPlace is a place of a channel by the ID it has now.
type movedPlace struct{ channel, id string }

func (m *moves) add(channel, former, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.formers == nil {
		m.formers = map[movedPlace]string{}
	}
	m.formers[movedPlace{channel, id}] = former
}

// former lists the IDs that a place had, the latest first.
func (m *moves) former(channel, id string) (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// A place that moved back and forth does not turn for ever.
	for range len(m.formers) {
		former, ok := m.formers[movedPlace{channel, id}]
		if !ok {
			break
		}
		ids, id = append(ids, former), former
	}
	return ids
}
