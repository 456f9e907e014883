package telegram

import (
	"math"
	"slices"
	"sync"
	"time"

	"switchboard/channels"
)

// The platform tells an album as a message a picture, which share a media_group_id,
// and not how many there are. It becomes one message: it counts as whole when it has
// not grown for a moment. Until then it is not handed in and not confirmed, and
// neither is what the same chat said after it; everybody else goes on.

type albumKey struct {
	chat int64
	id   string
}

// A gatherer decides which updates are handed in now, and which may be confirmed.
type gatherer struct {
	pace   pace
	taken  map[int64]reach // committed, but a lower number is not: the platform tells them again
	albums map[albumKey]*growth
	last   int64 // the newest number confirmed
}

// reach is from where to where the numbers of one event go: an album's have others
// between them.
type reach struct{ low, high int64 }

// growth is how an album came so far.
type growth struct {
	n            int
	first, grown time.Time
}

// waits says whether something is held back.
func (g *gatherer) waits() bool { return len(g.albums) > 0 }

// sort returns what is to be handed in now, in order; albums as one. It gives numbers
// to updates whose own cannot be read.
func (g *gatherer) sort(updates []update, now time.Time) (batch []update) {
	g.number(updates)
	var parts [][]update
	albums := map[albumKey]int{}
	for _, u := range updates {
		if _, done := g.taken[u.id]; done {
			continue
		}
		if u.album == "" {
			parts = append(parts, []update{u})
			continue
		}
		key := albumKey{u.chat, u.album}
		if i, ok := albums[key]; ok {
			parts[i] = append(parts[i], u)
			continue
		}
		albums[key] = len(parts)
		parts = append(parts, []update{u})
	}
	for key := range g.albums {
		if _, ok := albums[key]; !ok {
			delete(g.albums, key)
		}
	}
	held := map[int64]bool{}
	for _, part := range parts {
		first := part[0]
		switch {
		case first.chat != 0 && held[first.chat]:
		case first.album != "" && !g.whole(albumKey{first.chat, first.album}, len(part), now):
			held[first.chat] = true
		default:
			batch = append(batch, join(part))
		}
	}
	return batch
}

// number gives an update without a readable number the one that its place suggests:
// never more than the platform has told.
func (g *gatherer) number(updates []update) {
	for i := range updates {
		if updates[i].id != 0 {
			continue
		}
		before := g.last
		if i > 0 {
			before = updates[i-1].id
		}
		updates[i].id = before + 1
	}
}

// whole says whether an album of n pictures is complete.
func (g *gatherer) whole(key albumKey, n int, now time.Time) bool {
	seen := g.albums[key]
	if seen == nil {
		if g.albums == nil {
			g.albums = map[albumKey]*growth{}
		}
		g.albums[key] = &growth{n, now, now}
		return false
	}
	if n > seen.n {
		seen.n, seen.grown = n, now
	}
	return now.Sub(seen.grown) >= g.pace.albumQuiet || now.Sub(seen.first) >= g.pace.albumMost
}

// took notes that a batch is committed.
func (g *gatherer) took(batch []update) {
	if g.taken == nil {
		g.taken = map[int64]reach{}
	}
	for _, u := range batch {
		r := reach{u.id, u.id}
		for _, id := range u.also {
			r.low, r.high = min(r.low, id), max(r.high, id)
		}
		g.taken[u.id] = r
		for _, id := range u.also {
			g.taken[id] = r
		}
		if u.album != "" {
			delete(g.albums, albumKey{u.chat, u.album})
		}
	}
}

// confirm returns the newest number up to which everything is done; 0: none. It never
// lies inside an album: told again in part, that would be another message.
func (g *gatherer) confirm(updates []update) int64 {
	open := int64(math.MaxInt64)
	for _, u := range updates {
		if _, done := g.taken[u.id]; !done {
			open = min(open, u.id)
		}
	}
	for moved := true; moved; {
		moved = false
		for _, r := range g.taken {
			if r.low < open && open <= r.high {
				open, moved = r.low, true
			}
		}
	}
	last := int64(0)
	for _, u := range updates {
		if u.id < open {
			last = max(last, u.id)
		}
	}
	for id := range g.taken {
		if id <= last {
			delete(g.taken, id)
		}
	}
	g.last = max(g.last, last)
	return last
}

// join makes one update of an album's.
func join(part []update) update {
	u := part[0]
	if len(part) == 1 {
		return u
	}
	event := *u.event
	messages := make([]channels.Message, len(part))
	for i, p := range part {
		messages[i] = p.event.Message
		if i > 0 {
			u.also = append(u.also, p.id)
		}
	}
	event.Message = merge(messages)
	u.event, u.parts = &event, messages
	return u
}

// merge is an album as one message: the first one's, with the texts and files of all.
func merge(messages []channels.Message) channels.Message {
	whole := messages[0]
	whole.Attachments = slices.Clone(whole.Attachments)
	whole.Mentions = slices.Clone(whole.Mentions)
	for _, m := range messages[1:] {
		switch {
		case whole.Text == "":
			whole.Text = m.Text
		case m.Text != "":
			whole.Text += "\n\n" + m.Text
		}
		whole.Attachments = append(whole.Attachments, m.Attachments...)
		whole.Mentions = append(whole.Mentions, m.Mentions...)
		whole.Mentioned = whole.Mentioned || m.Mentioned
		whole.Elsewhere = whole.Elsewhere || m.Elsewhere
	}
	return whole
}

// rememberAlbums is how many albums are known at most, the newest.
const rememberAlbums = 256

// albums are those that came in this process, so that what changes one picture of an
// album tells the whole new state of its message.
type albums struct {
	mu    sync.Mutex
	known map[albumKey]*album
	order []albumKey
}

type album struct {
	first channels.Event     // of the message that it became
	parts []channels.Message // one a picture
}

// remember keeps an album that was handed in.
func (a *albums) remember(u update) {
	if u.album == "" || u.event == nil || u.event.Kind != channels.EventMessage {
		return
	}
	parts := u.parts
	if parts == nil {
		parts = []channels.Message{u.event.Message}
	}
	key := albumKey{u.chat, u.album}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[key] != nil {
		return
	}
	if a.known == nil {
		a.known = map[albumKey]*album{}
	}
	if len(a.order) == rememberAlbums {
		delete(a.known, a.order[0])
		a.order = a.order[1:]
	}
	a.known[key], a.order = &album{*u.event, slices.Clone(parts)}, append(a.order, key)
}

// edit is the event of an album with one picture's message changed or added; the
// event as it came where the album is not known.
func (a *albums) edit(key albumKey, event *channels.Event) *channels.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.known[key]
	if known == nil {
		return event
	}
	i := slices.IndexFunc(known.parts, func(m channels.Message) bool { return m.ID == event.Message.ID })
	if i < 0 {
		known.parts = append(known.parts, event.Message)
	} else {
		known.parts[i] = event.Message
	}
	whole := *event
	whole.Message = merge(known.parts)
	return &whole
}

// late says whether u is a picture of an album that was handed in without it.
func (a *albums) late(u update) bool {
	if u.album == "" {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.known[albumKey{u.chat, u.album}]
	return known != nil && !slices.ContainsFunc(known.parts, func(m channels.Message) bool { return m.ID == u.event.Message.ID })
}
