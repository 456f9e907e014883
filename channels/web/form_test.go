package web_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"switchboard/agent/tools"
	"switchboard/channels/api"
	"switchboard/channels/web"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/sessions"
)

// adasChat is the only session.
type adasChat struct{ web.Chats }

func (adasChat) SessionInfo(context.Context, string) (sessions.Info, error) {
	return sessions.Info{Session: "web:ada/x", Person: "ada"}, nil
}

func (adasChat) Pin(context.Context, string, string, bool) error { return core.ErrNotFound }

// smallFiles keeps none.
type smallFiles struct{ api.Files }

func (smallFiles) MaxSize() int64 { return 64 << 20 }

// What a form brings beside files is bounded before it is in memory, and forms that take no files leave none behind.
func TestFormsAreBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	channel := api.NewChannel("web", web.Kind, web.Features, slog.New(slog.DiscardHandler))
	handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: signedInAs{}, People: household{}, Chats: adasChat{}, Channel: channel, Files: smallFiles{}}).Handler()
	form := func(file bool) (string, io.Reader) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormField("text")
		if file {
			part, err = w.CreateFormFile("code", "large")
		}
		if err == nil {
			_, err = part.Write(make([]byte, 40<<20))
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return w.FormDataContentType(), &b
	}
	post := func(path, kind string, body io.Reader) (int, string) {
		r := httptest.NewRequest(http.MethodPost, path, body)
		r.Header.Set("Content-Type", kind)
		r.AddCookie(&http.Cookie{Name: "switchboard", Value: "ada"})
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const path, plain = "/c/web:ada%2Fx", "application/x-www-form-urlencoded"
	text := "text=" + strings.Repeat("a", 2<<20)
	if status, body := post(path+"/messages", plain, strings.NewReader(text)); status != http.StatusConflict || !strings.Contains(body, "too large") {
		t.Errorf("a plain form: %d %s", status, body)
	}
	kind, body := form(false)
	if status, body := post(path+"/messages", kind, body); status != http.StatusConflict || !strings.Contains(body, "too large") {
		t.Errorf("a form with parts: %d %s", status, body)
	}
	kind, body = form(true)
	post(path+"/pin", kind, body)
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// noJobs takes every job, and keeps none.
type noJobs struct {
	web.Jobs
	api.Changer
}

func (noJobs) Add(context.Context, string, bool, tools.NewJob) (*jobs.Change, error) {
	return &jobs.Change{}, nil
}

func (noJobs) Change(context.Context, core.Change, core.Actor) error { return nil }

// A new job has no page of its own to lead back to, whatever its form says.
func TestNewJobLeadsToTheList(t *testing.T) {
	t.Parallel()
	handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: signedInAs{}, People: household{}, Jobs: noJobs{}, Changer: noJobs{}}).Handler()
	w := as(t.Context(), handler, "ada", http.MethodPost, "/jobs", "kind=reminder&when=at+9&text=x&whole=1")
	if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != "/jobs" {
		t.Errorf("%d, %q", w.Code, at)
	}
}

// Somebody may have so many streams open and no more; others have theirs.
func TestStreamsOfOnePersonAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		handler := web.New(web.Deps{Log: slog.New(slog.DiscardHandler), Browsers: signedInAs{}, People: household{}, Setup: claimsNothing{}}).Handler()
		var running sync.WaitGroup
		statuses := make(chan int, 200)
		for range 101 {
			running.Go(func() { statuses <- as(ctx, handler, "root", http.MethodGet, "/setup/live", "").Code })
		}
		synctest.Wait()
		if n := len(statuses); n != 1 || <-statuses != http.StatusTooManyRequests {
			t.Errorf("%d are over", n)
		}
		cancel()
		running.Wait()
		if n := len(statuses); n != 100 {
			t.Errorf("%d had one", n)
		}
	})
}

// claimsNothing waits for somebody to claim a channel.
type claimsNothing struct{ web.Setup }

func (claimsNothing) State() web.SetupState {
	return web.SetupState{Channels: []web.SetupChannel{{Name: "play"}}}
}

func (claimsNothing) PeopleChange() <-chan struct{} { return nil }
