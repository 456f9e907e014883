package web

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"switchboard/router/core"
	"switchboard/router/money"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

// before is what somebody called ann left, of a day before another one was given the name.
type before struct {
	Chats
	Money
	of    string // whose the session is now
	since []string
}

var may = time.Date(2026, 5, 20, 9, 0, 0, 0, time.UTC)

func (*before) Turns(context.Context, sessions.Whose, string, int) ([]turns.Turn, error) {
	return nil, nil
}

func (*before) Turn(context.Context, int64, bool) (*turns.Turn, error) {
	return &turns.Turn{ID: 7, Person: "ann", Session: "tg:1", CreatedAt: may}, nil
}

func (b *before) SessionInfo(context.Context, string) (sessions.Info, error) {
	return sessions.Info{Session: "tg:1", Person: b.of}, nil
}

func (b *before) Usage(_ context.Context, f money.UsageFilter) ([]money.Usage, error) {
	b.since = append(b.since, f.Person+" "+f.Since)
	return nil, nil
}

// Who is given the name of somebody who was removed reads neither their turns nor what they spent.
func TestNamesakeReadsNothingOfWhoWasBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    string
		since time.Time
		role  string
		reads bool
	}{
		{"ann", may, core.RoleUser, true},
		{"", may.Add(-time.Hour), core.RoleUser, true}, // in a group
		{"ann (before)", may.Add(time.Hour), core.RoleUser, false},
		{"bob", may.Add(time.Hour), core.RoleUser, false},
		{"ann", may.Add(time.Hour), core.RoleUser, true}, // who joined the account
		{"ann (before)", may.Add(time.Hour), core.RoleAdmin, true},
	} {
		s := &Site{Deps: Deps{Turns: &before{}, Chats: &before{of: c.of}}}
		v := &visitor{person: &core.Person{Name: "ann", Role: c.role, Since: c.since}}
		r := httptest.NewRequest("GET", "/turns/7", nil)
		if _, err := s.turn(r.WithContext(context.WithValue(t.Context(), visitorKey{}, v))); (err == nil) != c.reads {
			t.Errorf("%+v: %v", c, err)
		}
	}
	spent := &before{}
	s := &Site{Deps: Deps{Money: spent}}
	for _, role := range []string{core.RoleUser, core.RoleAdmin} {
		v := &visitor{person: &core.Person{Name: "ann", Role: role, Since: may}}
		if err := s.charts(t.Context(), v, money.Budget{}, may.AddDate(0, 0, 2), &moneyBody{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(spent.since) != 5 || spent.since[0] != "ann 2026-05-20" || spent.since[1] != "ann 2026-05-20" || spent.since[4] != " 2026-04-23" {
		t.Error(spent.since)
	}
}
