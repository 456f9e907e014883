package web

import (
	"net/http"
	"strconv"
	"time"

	"switchboard/router/core"
	"switchboard/router/turns"
)

func (s *Site) whyPages() {
	s.forAll("GET /turns/{turn}", s.why)
	s.forAll("GET /turns/{turn}/output/{attempt}/{position}", s.output)
}

// turn is the turn of a call, which the visitor may read.
func (s *Site) turn(r *http.Request) (*turns.Turn, error) {
	v := visitorOf(r)
	id, _ := strconv.ParseInt(r.PathValue("turn"), 10, 64)
	t, err := s.Turns.Turn(r.Context(), id, false)
	if err == nil && t.Person != v.person.Name && !v.admin() {
		return nil, core.ErrNotFound
	}
	if err == nil && !v.admin() && t.CreatedAt.Before(v.person.Since) { // of who was called so before, or of an account that they joined
		_, err = s.mine(r.Context(), v, t.Session)
	}
	return t, err
}

// A whyBody is the page that says why a turn went as it did.
type whyBody struct {
	*turns.Explanation
	Currency string
	Text     string
	Chat     bool           // the visitor may read its session
	Open     bool           // it can be stopped
	Left     *time.Duration // as of formatter.text
}

func (s *Site) why(w http.ResponseWriter, r *http.Request) error {
	t, err := s.turn(r)
	if err != nil {
		return err
	}
	v, e := visitorOf(r), t.Explanation()
	return s.show(w, r, "chat", "Why", "why", whyBody{
		Explanation: e, Currency: s.Currency(), Text: e.Show(s.Currency(), s.zoneOf(v)), Chat: t.Person == v.person.Name, Open: turns.TurnState(t.State).Open(), Left: new(highlightPage),
	})
}

// zoneOf is the time zone that somebody reads times in.
func (s *Site) zoneOf(v *visitor) *time.Location {
	if zone, err := time.LoadLocation(v.person.TimeZone); err == nil && v.person.TimeZone != "" {
		return zone
	}
	return s.Budget().Zone // which is that of people who named none
}

// output answers with what a task brought.
func (s *Site) output(w http.ResponseWriter, r *http.Request) error {
	t, err := s.turn(r)
	if err != nil {
		return err
	}
	attempt, position := r.PathValue("attempt"), r.PathValue("position")
	for _, p := range t.Plans {
		for i := range p.Tasks {
			if strconv.Itoa(p.Attempt) == attempt && strconv.Itoa(i) == position {
				return s.part(w, r, "output", p.Tasks[i].Output)
			}
		}
	}
	return core.ErrNotFound
}
