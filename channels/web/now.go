package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"switchboard/channels"
	"switchboard/channels/api"
	"switchboard/internal/words"
	"switchboard/router/approvals"
	"switchboard/router/browsers"
	"switchboard/router/core"
	"switchboard/router/doctor"
	"switchboard/router/jobs"
	"switchboard/router/money"
	"switchboard/router/outbox"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

const (
	// nowMost is how many turns of a state and deliveries are listed, failedMost how many turns that failed within failedFor.
	nowMost    = 50
	failedMost = 5
	failedFor  = 24 * time.Hour
	// spentMost is how many people and conversations are listed with what they spent.
	spentMost = 5
	// nowEvery is the least time between two changes of an open page; pingEvery is how often its stream says that it lives.
	nowEvery  = time.Second
	pingEvery = 15 * time.Second
)

// A Program says how the program is.
type Program struct {
	Activity   *core.Activity
	Statuses   func() []channels.Status
	Deliveries api.Deliveries
	Queue      func(ctx context.Context) (jobs.Queue, error)
	// Trouble is what is missing or not well, each in words that say what to do.
	Trouble func(ctx context.Context) ([]string, error)
	// Examine looks at everything that the program needs, and says whether it came to its end.
	Examine func(ctx context.Context) (found []doctor.Finding, whole bool)
}

func (s *Site) nowPages() {
	s.menu = append(s.menu, entry{Name: "now", Path: "/now", Label: "Now", Admin: true})
	s.onlyAdmins("GET /now", func(w http.ResponseWriter, r *http.Request) error { return s.now(w, r, nil) })
	s.onlyAdmins("GET /now/live", s.streaming(s.nowLive))
	s.forAll("GET /live", s.streaming(func(w http.ResponseWriter, r *http.Request) error {
		return s.pageLive(w, r, s.still, func(context.Context, *stream) error { return nil })
	}))
	s.onlyAdmins("POST /now/check", s.check)
	s.onlyAdmins("POST /deliveries/{delivery}", s.changeDelivery)
}

// nowParts are the parts of the page that change by themselves; each has a template of that name behind "now-".
var nowParts = []string{"trouble", "approvals", "turns", "deliveries", "channels", "money"}

// A nowBody is how the program is.
type nowBody struct {
	Trouble    []string
	Failed     []failed
	Approvals  []asking
	Turns      []turns.Turn // that run, wait or are queued
	Queue      jobs.Queue
	Deliveries []outbox.Info // that are dead or unknown
	Channels   []channels.Status
	Money      []spentRow
	Resets     time.Time // when the day ends
	Findings   *findings // nil: nobody asked for them
	Swap       bool      // it takes the place of what is there
}

// A failed turn, with what was wrong with its model.
type failed struct {
	turns.Turn
	Fault string
}

// An asking is an approval that waits.
type asking struct {
	approvals.Open
	Form approval
}

// findings are what the doctor said.
type findings struct {
	Bad, Good []doctor.Finding
	Whole     bool // everything answered in time
}

// readNow reads how the program is. Faults are those of failed turns, which do not change.
func (s *Site) readNow(ctx context.Context, faults map[int64]string) (*nowBody, error) {
	b, everybody := &nowBody{Channels: s.Program.Statuses()}, sessions.Whose{All: true}
	for _, state := range []turns.TurnState{turns.TurnRunning, turns.TurnWaiting, turns.TurnQueued} {
		list, err := s.Turns.Turns(ctx, everybody, string(state), nowMost)
		if err != nil {
			return nil, err
		}
		b.Turns = append(b.Turns, list...)
	}
	for _, state := range []outbox.DeliveryState{outbox.DeliveryDead, outbox.DeliveryUnknown} {
		list, err := s.Program.Deliveries.Deliveries(ctx, everybody, string(state), nowMost)
		if err != nil {
			return nil, err
		}
		b.Deliveries = append(b.Deliveries, list...)
	}
	open, err := s.Approvals.OpenApprovals(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, o := range open {
		b.Approvals = append(b.Approvals, asking{o, approval{
			ID: o.ID, Turn: o.Turn, State: "proposed", Request: o.Tool + " " + o.Shown, Rule: o.Rule, Once: o.Once, Mine: true, From: "now",
		}})
	}
	if b.Queue, err = s.Program.Queue(ctx); err != nil {
		return nil, err
	}
	if b.Trouble, err = s.Program.Trouble(ctx); err != nil {
		return nil, err
	}
	if b.Failed, err = s.failed(ctx, faults); err != nil {
		return nil, err
	}
	return b, s.readMoney(ctx, b)
}

// failed are the turns that failed of late.
func (s *Site) failed(ctx context.Context, faults map[int64]string) (list []failed, err error) {
	found, err := s.Turns.Turns(ctx, sessions.Whose{All: true}, string(turns.TurnFailed), failedMost)
	if err != nil {
		return nil, err
	}
	for i := range found {
		t := &found[i]
		if t.FinishedAt == nil || time.Since(*t.FinishedAt) > failedFor {
			continue
		}
		if _, known := faults[t.ID]; !known {
			whole, err := s.Turns.Turn(ctx, t.ID, false)
			if err != nil {
				return nil, err
			}
			faults[t.ID] = whole.ModelFault()
		}
		list = append(list, failed{*t, faults[t.ID]})
	}
	return list, nil
}

// readMoney reads what was spent today, and of which limits.
func (s *Site) readMoney(ctx context.Context, b *nowBody) error {
	limits, now := s.Budget(), time.Now()
	b.Resets = limits.Over(now)
	list, err := s.Money.Spent(ctx, limits.Day(now), spentMost)
	if len(list) == 0 && limits.PerDay > 0 {
		list = []money.Spent{{Scope: string(money.SpentInAll)}}
	}
	b.Money = spentRows(list, limits)
	return err
}

// now answers with the page.
func (s *Site) now(w http.ResponseWriter, r *http.Request, found *findings) error {
	b, err := s.readNow(r.Context(), map[int64]string{})
	if err != nil {
		return err
	}
	b.Findings = found
	return s.show(w, r, "now", "Now", "now", b)
}

// check has the doctor look, which may take seconds.
func (s *Site) check(w http.ResponseWriter, r *http.Request) error {
	list, whole := s.Program.Examine(r.Context())
	found := &findings{Whole: whole}
	for _, f := range list {
		if f.OK && !f.Warn {
			found.Good = append(found.Good, f)
		} else {
			found.Bad = append(found.Bad, f)
		}
	}
	return s.now(w, r, found)
}

// changeDelivery sends a part of a message again, or gives it up.
func (s *Site) changeDelivery(w http.ResponseWriter, r *http.Request) error {
	id, _ := strconv.ParseInt(r.PathValue("delivery"), 10, 64)
	change := &outbox.Change{ID: id, Kind: outbox.ChangeKind(r.PostFormValue("change"))}
	err := core.ErrNotFound
	if change.Kind == outbox.RetryDelivery || change.Kind == outbox.DropDelivery {
		err = s.Changer.Change(r.Context(), change, visitorOf(r).actor())
	}
	if err == nil && isPart(r) {
		return s.part(w, r, "toast", fmt.Sprintf("Delivery %d was %s and is %s now.", id, change.Done.Was, change.Done.State))
	}
	return s.done(w, r, "", err)
}

// stillAdmin says why somebody may look at pages of admins no more; nil: they may.
func (s *Site) stillAdmin(ctx context.Context, v *visitor) error {
	if err := s.still(ctx, v); err != nil {
		return err
	}
	if p := s.People.Named(v.person.Name); p == nil || p.Role != core.RoleAdmin {
		return browsers.ErrNotSignedIn
	}
	return nil
}

// nowLive streams the parts of the page that are not as they were, once something happened.
func (s *Site) nowLive(w http.ResponseWriter, r *http.Request) error {
	shown, faults := map[string]string{}, map[int64]string{}
	return s.pageLive(w, r, s.stillAdmin, func(ctx context.Context, out *stream) error {
		return s.refreshNow(ctx, visitorOf(r), out, shown, faults)
	})
}

// pageLive streams what write writes, and that page.js is to ask again, at first and once something happened, for as long as its
// visitor may look. What goes wrong then is answered to nobody.
func (s *Site) pageLive(w http.ResponseWriter, r *http.Request, may func(context.Context, *visitor) error, write func(context.Context, *stream) error) error {
	v, out := visitorOf(r), newStream(w)
	still := func(ctx context.Context) error { return may(ctx, v) }
	err := s.whenever(r.Context(), out, s.once(still), func(ctx context.Context) (bool, error) {
		err := still(ctx)
		if err == nil {
			err = write(ctx, out)
		}
		if err == nil {
			err = out.happened()
		}
		return false, err
	})
	if err != nil {
		s.Log.DebugContext(r.Context(), "a page's stream ended", "path", r.URL.Path, "error", err)
	}
	return nil
}

// refreshNow writes the parts that are not as they were shown.
func (s *Site) refreshNow(ctx context.Context, v *visitor, out *stream, shown map[string]string, faults map[int64]string) error {
	b, err := s.readNow(ctx, faults)
	if err != nil {
		return err
	}
	b.Swap = true
	return out.Write(func() error {
		for _, name := range nowParts {
			html, err := s.fragment(v, "now-"+name, b)
			if err != nil {
				return err
			}
			if html == shown[name] {
				continue
			}
			shown[name] = html
			if err := out.part(0, html); err != nil {
				return err
			}
		}
		return nil
	})
}

// stands is how a turn is, in words.
func stands(t turns.Turn) string {
	if t.NextTry != nil {
		return "waits for its model"
	}
	return words.Ended(t.State, t.Outcome)
}
