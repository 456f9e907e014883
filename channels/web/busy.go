package web

import (
	"net/http"
	"sync"
	"time"

	failures "switchboard/internal/api"
)

const (
	// streamsMost is how many streams somebody may have open at once, in all their browsers.
	streamsMost = 100
	// formsMost is how many forms with files of somebody are read at once: each stands in temporary files meanwhile.
	formsMost = 4
)

// A busy counts what is under way for each person. The zero value is ready to use.
type busy struct {
	mu sync.Mutex
	of map[string]int
}

// begin says whether one more of somebody may begin; then end has to be called.
func (b *busy) begin(person string, most int) (end func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[person] >= most {
		return nil, false
	}
	if b.of == nil {
		b.of = map[string]int{}
	}
	b.of[person]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.of[person]--; b.of[person] == 0 {
			delete(b.of, person)
		}
	}, true
}

// streaming has a page stream, unless whoever looks has too many streams open.
func (s *Site) streaming(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end, ok := s.streams.begin(visitorOf(r).person.Name, streamsMost)
		if !ok {
			s.refuse(w, r, http.StatusTooManyRequests, "Too many pages of yours are open. Close some.")
			return
		}
		defer end()
		page(w, r)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(failures.WriteWait)) // its end is written too
	}
}
