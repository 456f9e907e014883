package telegram

import (
	"math"
	"slices"
	"time"
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

// ready returns what is to be handed in now, in order; albums as one. It gives numbers
// to updates whose own cannot be read.
//
// full says that there may be more updates behind these: then an album is whole only
// when it stands first, because what is behind these might be of it too.
func (g *gatherer) ready(updates []update, full bool, now time.Time) (batch []update) {
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
	for i, part := range parts {
		first := part[0]
		switch {
		case first.chat != 0 && held[first.chat]:
		case first.album != "" && (!g.whole(first.ofAlbum(), len(part), now) || full && i > 0):
			held[first.chat] = true
		default:
			batch = append(batch, join(part))
		}
	}
	return batch
}

// number gives an update without a readable number the one that its place suggests:
// never more than the platform has told, and no less than its own where one with a
// number stands behind it.
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
		for j, later := range updates[i+1:] {
			if later.id != 0 {
				updates[i].id = max(later.id-int64(j)-1, before+1)
				break
			}
		}
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

// join makes one update of an album's. A picture that is told twice is in it once.
func join(list []update) update {
	u := list[0]
	for i, p := range list {
		if i > 0 {
			u.also = append(u.also, p.id)
		}
		if !slices.ContainsFunc(u.parts, func(m picture) bool { return m.ID == p.event.Message.ID }) && u.album != "" {
			u.parts = append(u.parts, picture{Message: p.event.Message, update: u.id})
		}
	}
	if len(u.parts) > 1 {
		event := *u.event
		event.Message = merge(u.parts)
		u.event = &event
	}
	return u
}
