package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/channels"
	"switchboard/channels/api"
	"switchboard/channels/web"
	"switchboard/router/core"
)

// rootOnce is an admin until they are not.
type rootOnce struct{ demoted atomic.Bool }

func (r *rootOnce) Named(name string) *core.Person {
	if r.demoted.Load() {
		return &core.Person{Name: name, Role: core.RoleUser}
	}
	return &core.Person{Name: name, Role: core.RoleAdmin}
}

func (adasChat) Events(context.Context, string, int64, int) ([]channels.SessionEvent, error) {
	return nil, nil
}

func (adasChat) Buttons(context.Context, ...int64) (map[int64][]channels.Button, error) {
	return nil, nil
}

// Who is an admin no more reads no further in what somebody else says, also on a page that is open.
func TestReadingOnEndsWithTheRole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		channel := api.NewChannel("web", web.Kind, web.Features, slog.New(slog.DiscardHandler))
		var activity core.Activity
		people := new(rootOnce)
		handler := web.New(web.Deps{
			Log: slog.New(slog.DiscardHandler), Channel: channel, Browsers: signedInAs{}, People: people, Chats: adasChat{}, Changer: noJobs{}, Program: web.Program{Activity: &activity},
		}).Handler()
		call := func(method, path string) int { return as(ctx, handler, "root", method, path, "").Code }
		var running sync.WaitGroup
		running.Go(func() { _ = channel.Run(ctx, nil) })
		const live = "/c/web:ada%2Fx/live?after=0"
		if status := call("GET", live); status != http.StatusNotFound {
			t.Errorf("without a word before: %d", status)
		}
		call("POST", "/c/web:ada%2Fx/read")
		var over atomic.Bool
		running.Go(func() { call("GET", live); over.Store(true) })
		time.Sleep(time.Minute)
		if over.Load() {
			t.Error("an admin who said so cannot read")
		}
		people.demoted.Store(true)
		activity.Note()
		time.Sleep(time.Minute)
		if !over.Load() {
			t.Error("it goes on for a user")
		}
		cancel()
		running.Wait()
	})
}
