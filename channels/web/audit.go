package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"switchboard/router/audit"
)

// auditMost is how many rows of the audit log are shown at once.
const auditMost = 50

func (s *Site) auditPages() {
	s.menu = append(s.menu, entry{Name: "audit", Path: "/audit", Label: "Audit", Admin: true})
	s.onlyAdmins("GET /audit", s.audit)
	s.onlyAdmins("POST /audit/verify", s.verify)
}

// An auditBody is the page of the audit log.
type auditBody struct {
	Person, Kind, Day, Turn string // what is picked
	Rows                    []audit.Record
	Newest, Older           string // addresses; Older is empty where there are no more
	Actions                 []string
	Verified                *verified
}

// Picks says that not all rows are shown.
func (b *auditBody) Picks() bool { return b.Person+b.Kind+b.Day+b.Turn != "" }

// A verified is what the check of the audit log came to.
type verified struct {
	Says string
	Good bool
}

// errPicks says that what a call picks cannot be read.
var errPicks = wrong("A day is written as 2026-11-29, and a turn as its number.")

// auditBody reads the rows that a call picks.
func (s *Site) auditBody(r *http.Request) (b *auditBody, err error) {
	q := r.URL.Query()
	b = &auditBody{Person: strings.TrimSpace(q.Get("person")), Kind: strings.ToLower(strings.TrimSpace(q.Get("kind"))), Day: q.Get("day"), Turn: strings.TrimSpace(q.Get("turn")), Actions: audit.Actions()}
	f, before := audit.Filter{Person: b.Person, Kind: b.Kind}, int64(0)
	if b.Day != "" {
		if f.Since, err = time.ParseInLocation(time.DateOnly, b.Day, s.zoneOf(visitorOf(r))); err != nil {
			return nil, errPicks
		}
		f.Until = f.Since.AddDate(0, 0, 1)
	}
	for text, into := range map[string]*int64{b.Turn: &f.Turn, q.Get("before"): &before} {
		if text == "" {
			continue
		}
		if *into, err = strconv.ParseInt(text, 10, 64); err != nil || *into < 1 {
			return nil, errPicks
		}
	}
	if b.Rows, err = s.AuditLog.Audit(r.Context(), f, before, auditMost+1); err != nil {
		return nil, err
	}
	picks := url.Values{}
	for name, value := range map[string]string{"person": b.Person, "kind": b.Kind, "day": b.Day, "turn": b.Turn} {
		if value != "" {
			picks.Set(name, value)
		}
	}
	b.Newest = s.url("/audit?" + picks.Encode())
	if len(b.Rows) > auditMost {
		b.Rows = b.Rows[:auditMost]
		picks.Set("before", strconv.FormatInt(b.Rows[auditMost-1].ID, 10))
		b.Older = s.url("/audit?" + picks.Encode())
	}
	return b, nil
}

func (s *Site) audit(w http.ResponseWriter, r *http.Request) error {
	b, err := s.auditBody(r)
	if err != nil {
		return err
	}
	return s.show(w, r, "audit", "Audit", "audit", b)
}

// verify holds the whole log to its seals.
func (s *Site) verify(w http.ResponseWriter, r *http.Request) error {
	says, good, err := s.Verify(r.Context())
	if err != nil {
		return err
	}
	b, err := s.auditBody(r)
	if err != nil {
		return err
	}
	b.Verified = &verified{says, good}
	return s.show(w, r, "audit", "Audit", "audit", b)
}
