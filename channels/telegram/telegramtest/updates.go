package telegramtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keepUpdates is how long an update waits for its bot.
//
// Source: https://core.telegram.org/bots/api#getting-updates
const keepUpdates = 24 * time.Hour

// byRequest are the kinds of updates that a bot gets only when it asks for them.
//
// Source: https://core.telegram.org/bots/api#getupdates, allowed_updates
var byRequest = []string{"chat_member", "message_reaction", "message_reaction_count"}

const pageUpdates = "getupdates"

// confirm forgets updates below offset, and those that nobody fetched in time. A
// negative offset keeps so many of the newest.
func (b *Bot) confirm(offset int64, now time.Time) {
	if n := len(b.queue); offset < 0 && int64(n) > -offset {
		b.queue = b.queue[n+int(offset):]
	}
	b.queue = slices.DeleteFunc(b.queue, func(u update) bool {
		return offset > 0 && u.id < offset || now.Sub(u.at) > keepUpdates
	})
}

func (b *Bot) ready(limit int64) []json.RawMessage {
	ready := []json.RawMessage{}
	for _, u := range b.queue[:min(int(limit), len(b.queue))] {
		ready = append(ready, u.raw)
	}
	return ready
}

// allowed reads allowed_updates; given is false when the former ones go on.
func (p *params) allowed() (kinds []string, given bool) {
	given = p.decode("allowed_updates", pageUpdates, &kinds)
	return kinds, given
}

// wants reports whether the bot is told of this kind now.
func (b *Bot) wants(kind string) bool {
	if len(b.allowed) == 0 {
		return !slices.Contains(byRequest, kind)
	}
	return slices.Contains(b.allowed, kind)
}

// queue queues an update for a bot, unless it does not want such.
func (s *world) queue(b *Bot, u Update) {
	if !b.wants(u.kind()) {
		return
	}
	u.ID = s.nextUpdate()
	raw, err := json.Marshal(u)
	if err != nil {
		panic(err) // only our own types come here
	}
	b.queue = append(b.queue, update{id: u.ID, raw: raw, at: s.Now()})
	s.Wake()
}

func (s *world) nextUpdate() int64 {
	s.ids.update++
	return s.ids.update
}

// Inject queues an update for the first bot as it is given. raw must hold the text
// "UPDATE_ID" where the number belongs; nothing else is looked at, so that it need not
// even be JSON (then the whole answer to getUpdates is not). It returns the number.
func (s *Server) Inject(raw string) (id int64) {
	s.Change(func() {
		id = s.nextUpdate()
		b := s.bots[0]
		b.queue = append(b.queue, update{id: id, raw: rawUpdate(raw, id), at: s.Now()})
	})
	return id
}

// Repeat puts the newest n updates of the first bot once more into its queue, with
// new numbers: the same things told twice.
func (s *Server) Repeat(n int) {
	s.Change(func() {
		b := s.bots[0]
		for _, u := range slices.Clone(b.queue[max(0, len(b.queue)-n):]) {
			fresh := s.nextUpdate()
			b.queue = append(b.queue, update{id: fresh, raw: renumber(u.raw, fresh), at: u.at})
		}
	})
}

// Pending are the updates that the first bot has not confirmed, oldest first.
func (s *Server) Pending() []json.RawMessage {
	s.Lock()
	defer s.Unlock()
	return s.bots[0].ready(int64(len(s.bots[0].queue)))
}

// Age makes all waiting updates older by d.
func (s *Server) Age(d time.Duration) {
	s.Change(func() {
		for _, b := range s.bots {
			for i := range b.queue {
				b.queue[i].at = b.queue[i].at.Add(-d)
			}
		}
	})
}

// rawUpdate puts the number into an update that is written by hand.
func rawUpdate(raw string, id int64) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(raw, "UPDATE_ID", strconv.FormatInt(id, 10)))
}

// renumber gives an update that the server made another number; it stands first.
func renumber(raw json.RawMessage, id int64) json.RawMessage {
	if _, rest, ok := bytes.Cut(raw, []byte(",")); ok && bytes.HasPrefix(raw, []byte(`{"update_id":`)) {
		return append([]byte(`{"update_id":`+strconv.FormatInt(id, 10)+","), rest...)
	}
	return raw
}

// joined are updates as they are, be they JSON or not.
func joined(updates []json.RawMessage) []byte {
	all := make([][]byte, len(updates))
	for i, u := range updates {
		all[i] = u
	}
	return bytes.Join(all, []byte(","))
}
