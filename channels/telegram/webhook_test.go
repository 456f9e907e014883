package telegram

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/internal/testkit"
)

// hooked is a rig in mode webhook with its handler served.
func hooked(t *testing.T) (*rig, *httptest.Server) {
	t.Helper()
	r := newRig(t)
	r.c.cfg.Mode, r.c.cfg.WebhookSecret = ModeWebhook, "s3cret"
	served := httptest.NewServer(r.c.Handler())
	t.Cleanup(served.Close)
	r.c.cfg.WebhookURL = served.URL + "/hook"
	return r, served
}

func TestWebhookTakesUpdatesOnceTheyAreCommitted(t *testing.T) {
	t.Parallel()
	r, _ := hooked(t)
	r.Sink.Fail(2)
	r.Say(r.ada.ID, "waited from before")
	r.run(t)
	r.Took(t, 1)
	r.Inject(`{"update_id":UPDATE_ID,"message":{"message_id":{"number":7}}}`)
	r.Say(r.ada.ID, "two")
	album := r.Post(telegramtest.Post{Chat: r.ada.ID, Text: "three pictures", Files: pictures3()})
	events := r.Took(t, 6)
	if diff := cmp.Diff([]string{"waited from before", "", "two", "three pictures", "three pictures", "three pictures"}, r.texts()); diff != "" {
		t.Error(diff)
	}
	if e := events[1]; e.Kind != channels.EventUndecodable {
		t.Errorf("%+v", e)
	}
	if last := events[5]; last.Kind != channels.EventEdited || len(last.Message.Attachments) != 3 || last.Message.ID != messageID(int(album[0].ID)) {
		t.Errorf("the album's last picture makes %+v", last)
	}
	r.settled(t)
	if calls := r.Calls("setWebhook"); len(calls) != 1 || calls[0].Values["secret_token"] != "s3cret" || calls[0].Values["drop_pending_updates"] == "true" {
		t.Errorf("%+v", calls)
	}
	if len(r.Calls("getUpdates")) != 0 {
		t.Error("it polls")
	}
	testkit.Await(t, "the webhook is looked at", patience, func() bool { return len(r.Calls("getWebhookInfo")) > 2 })
}

func TestWebhookHandlerRefusesWhatIsNotThePlatforms(t *testing.T) {
	t.Parallel()
	r, served := hooked(t)
	post := func(method, secret, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, served.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(secretHeader, secret)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	const update = `{"update_id":1,"message":{"message_id":7,"text":"x","from":{"id":5,"first_name":"A"},"chat":{"id":5,"type":"private"}}}`
	if code := post(http.MethodPost, "s3cret", update); code != http.StatusServiceUnavailable {
		t.Errorf("before Run: %d", code)
	}
	r.run(t)
	testkit.Await(t, "it is connected", patience, func() bool { return r.Sink.Frames() > 0 })
	for _, test := range []struct {
		method, secret, body string
		want                 int
	}{
		{http.MethodPost, "", update, http.StatusUnauthorized},
		{http.MethodPost, "s3cre", update, http.StatusUnauthorized},
		{http.MethodPost, "s3cret\x20", update, http.StatusOK}, // a header's spaces are no part of it
		{http.MethodGet, "s3cret", "", http.StatusMethodNotAllowed},
		{http.MethodPost, "s3cret", strings.Repeat("x", maxUpdate+1), http.StatusBadRequest},
		{http.MethodPost, "s3cret", update, http.StatusOK},
		{http.MethodPost, "s3cret", "no JSON", http.StatusOK}, // kept raw
	} {
		if code := post(test.method, test.secret, test.body); code != test.want {
			t.Errorf("%s with %q: %d, want %d", test.method, test.secret, code, test.want)
		}
	}
	r.Sink.Fail(1)
	if code := post(http.MethodPost, "s3cret", strings.Replace(update, `"message_id":7`, `"message_id":8`, 1)); code != http.StatusServiceUnavailable {
		t.Errorf("not accepted: %d", code)
	}
	if n := len(r.Sink.Events()); n != 2 {
		t.Errorf("%d events", n)
	}
}

func TestWebhookOfAnotherEndsRun(t *testing.T) {
	t.Parallel()
	r, _ := hooked(t)
	r.run(t)
	testkit.Await(t, "it is connected", patience, func() bool { return r.Sink.Frames() > 0 })
	other := New("other", Config{Token: channelstest.Literal(r.Token()), Mode: ModeWebhook, APIURL: r.URL(), WebhookURL: "http://127.0.0.1:1/theirs", WebhookSecret: "x"}, slog.New(slog.DiscardHandler))
	t.Cleanup(other.wire.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- other.Run(ctx, r.Sink) }()
	if err := r.Ended(t); !errors.Is(err, channels.ErrElsewhere) {
		t.Errorf("Run returned %v", err)
	}
	cancel()
	<-done
}

func TestWebhookThatNobodyServesIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.c.cfg.Mode = ModeWebhook
	if err := r.c.Run(t.Context(), r.Sink); err == nil || !strings.Contains(err.Error(), "not available in this build") || len(r.Calls()) != 0 {
		t.Errorf("Run returned %v after %d calls", err, len(r.Calls()))
	}
}
