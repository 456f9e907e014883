package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
	"switchboard/channels/api"
	"switchboard/channels/web"
	"switchboard/router/approvals"
	"switchboard/router/browsers"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/money"
	"switchboard/router/outbox"
	"switchboard/router/sessions"
	"switchboard/router/turns"
)

// signedInAs is a browser of a person, whose name is its secret.
type signedInAs struct{ web.Browsers }

func (signedInAs) Find(_ context.Context, secret string) (*browsers.Browser, error) {
	return &browsers.Browser{ID: 1, Person: secret}, nil
}

// household are root, an admin, and ada and bob.
type household struct{}

func (household) Named(name string) *core.Person {
	p := &core.Person{Name: name, Role: core.RoleUser, TimeZone: "Europe/Rome"}
	if name == "root" {
		p.Role = core.RoleAdmin
	}
	return p
}

// adasTurn is the only one.
type adasTurn struct{}

func (adasTurn) Turns(context.Context, sessions.Whose, string, int) ([]turns.Turn, error) {
	return nil, nil
}

func (adasTurn) Turn(_ context.Context, id int64, _ bool) (*turns.Turn, error) {
	if id != 7 {
		return nil, core.ErrNotFound
	}
	return &turns.Turn{ID: 7, Person: "ada", LLM: []turns.Call{{Error: "no such model; set agent.planner"}}, Plans: []turns.Plan{{Tasks: []turns.Task{{Output: "what it brought"}}}}}, nil
}

// quiet has nothing at work, asked or sent; a turn failed today.
type quiet struct {
	adasTurn
	web.Money
}

func (quiet) Turns(_ context.Context, _ sessions.Whose, state string, _ int) ([]turns.Turn, error) {
	if now := time.Now(); state == string(turns.TurnFailed) {
		before := now.Add(-25 * time.Hour)
		return []turns.Turn{{ID: 7, Person: "ada", Outcome: "model_error", FinishedAt: &now}, {ID: 6, Person: "bob", FinishedAt: &before}}, nil
	}
	return nil, nil
}

func (quiet) OpenApprovals(context.Context, int64) ([]approvals.Open, error) { return nil, nil }

func (quiet) Spent(context.Context, string, int) ([]money.Spent, error) {
	return []money.Spent{{Scope: "day", Settled: 1}, {Scope: "person", Name: "ada", Settled: 1, Reserved: 2}}, nil
}

func (quiet) Deliveries(context.Context, sessions.Whose, string, int) ([]outbox.Info, error) {
	return nil, nil
}

// An open page reads how the program is when something happened, once a second at most, and never else.
func TestNowIsReadWhenSomethingHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		channel := api.NewChannel("web", web.Kind, web.Features, slog.New(slog.DiscardHandler))
		var activity core.Activity
		var reads atomic.Int64
		handler := web.New(web.Deps{
			Log: slog.New(slog.DiscardHandler), Channel: channel, Browsers: signedInAs{}, People: household{}, Turns: quiet{}, Approvals: quiet{},
			Money: quiet{}, Budget: func() money.Budget { return money.Budget{Currency: "EUR", PerDay: 4} },
			Program: web.Program{
				Activity: &activity, Deliveries: quiet{},
				Statuses: func() []channels.Status {
					return []channels.Status{{Name: "play", Reason: strconv.FormatInt(reads.Add(1), 10)}}
				},
				Queue:   func(context.Context) (jobs.Queue, error) { return jobs.Queue{}, nil },
				Trouble: func(context.Context) ([]string, error) { return []string{"no admin can write there"}, nil },
			},
		}).Handler()
		var running sync.WaitGroup
		running.Go(func() { _ = channel.Run(ctx, nil) })
		var w *httptest.ResponseRecorder
		running.Go(func() { w = as(ctx, handler, "root", http.MethodGet, "/now/live", "") })
		for _, c := range []struct{ notes, least, most int }{{0, 1, 1}, {1, 2, 2}, {50, 7, 8}, {0, 7, 8}} {
			for range c.notes {
				activity.Note()
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(time.Minute)
			if n := int(reads.Load()); n < c.least || n > c.most {
				t.Errorf("after %d times that something happened it was read %d times, want %d to %d", c.notes, n, c.least, c.most)
			}
		}
		cancel()
		running.Wait()
		body := w.Body.String()
		if strings.Count(body, "now-channels") != int(reads.Load()) || strings.Count(body, "now-turns") != 1 {
			t.Error("what stayed the same was sent again")
		}
		for _, text := range []string{": ping", `(Europe/Rome)">01:00</time> <a`, "An answer for ada failed</a> (model error): no such model; set agent.planner", "no admin can write there", "1.00 EUR", "4.00 EUR <small>25 % used", "2.00 EUR set aside"} {
			if !strings.Contains(body, text) {
				t.Errorf("%q is not in\n%s", text, body)
			}
		}
		if strings.Contains(body, "bob") {
			t.Error("what failed yesterday is shown")
		}
	})
}

// What admins do on the page is refused to others, and turns are their person's and the admins'.
func TestPagesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: signedInAs{}, People: household{}, Turns: adasTurn{}}).Handler()
	for _, c := range []struct {
		person, method, path string
		status               int
		says                 string
	}{
		{"ada", "GET", "/now", http.StatusForbidden, "for admins"},
		{"ada", "GET", "/now/live", http.StatusForbidden, "for admins"},
		{"ada", "POST", "/now/check", http.StatusForbidden, "for admins"},
		{"ada", "POST", "/deliveries/1", http.StatusForbidden, "for admins"},
		{"root", "POST", "/deliveries/1", http.StatusNotFound, "no such thing"}, // it says nothing of what is to be done
		{"root", "GET", "/deliveries/1", http.StatusNotFound, "no such page"},
		{"bob", "GET", "/turns/7", http.StatusNotFound, "not yours"},
		{"bob", "GET", "/turns/7/output/0/0", http.StatusNotFound, "not yours"},
		{"bob", "POST", "/turns/7/cancel", http.StatusNotFound, "not yours"},
		{"ada", "GET", "/turns/7/output/0/0", http.StatusOK, "what it brought"},
		{"root", "GET", "/turns/7/output/0/0", http.StatusOK, "what it brought"},
		{"ada", "GET", "/turns/7/output/0/1", http.StatusNotFound, "no such thing"},
		{"ada", "GET", "/turns/seven", http.StatusNotFound, "no such thing"},
	} {
		w := as(t.Context(), handler, c.person, c.method, c.path, "")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s of %s: %d, want %d with %q\n%s", c.method, c.path, c.person, w.Code, c.status, c.says, w.Body)
		}
	}
}
