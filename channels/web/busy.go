package web

import (
	"net/http"
	"time"

	failures "switchboard/internal/api"
)

const (
	// streamsMost is how many streams somebody may have open at once, in all their browsers.
	streamsMost = 100
	// formsMost is how many forms with files of somebody are read at once: each stands in temporary files meanwhile.
	formsMost = 4
)

// streaming has a page stream, unless the visitor has too many streams open.
func (s *Site) streaming(page handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		end, ok := s.streams.Begin(visitorOf(r).person.Name, streamsMost)
		if !ok {
			return refusal{http.StatusTooManyRequests, "Too many pages of yours are open. Close some."}
		}
		defer end()
		err := page(w, r)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(failures.WriteWait)) // its end is written too
		return err
	}
}
