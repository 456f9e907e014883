package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/turns"
)

// shelf has files of ada's token and of nobody, and one tool.
type shelf struct{}

var shelved = []files.Found{
	{Attachment: files.Attachment{ID: 1, Name: "ä.html", Type: "text/html", State: files.AttachmentClean}, Uploader: "token:ada's"},
	{Attachment: files.Attachment{ID: 2, Name: "p.png", Type: "image/png", State: files.AttachmentClean}, Uploader: "token:ada's"},
	{Attachment: files.Attachment{ID: 3, Name: "p.svg", Type: "image/svg+xml", State: files.AttachmentClean}, Uploader: "token:ada's"},
	{Attachment: files.Attachment{ID: 4, Name: "p.png", Type: "image/png", State: files.AttachmentQuarantined, Reason: "it runs"}, Uploader: "token:ada's"},
	{Attachment: files.Attachment{ID: 5, Name: "a.txt", Type: "text/plain", State: files.AttachmentGone}, Uploader: "token:ada's"},
	{Attachment: files.Attachment{ID: 6, Name: "a.txt", Type: "text/plain", State: files.AttachmentClean}, Uploader: "token:bob"},
}

func (shelf) MaxSize() int64 { return 1000 }

func (shelf) Upload(_ context.Context, _, name string, r io.Reader) (*files.Attachment, error) {
	text, err := io.ReadAll(r)
	if len(text) > 1000 {
		err = files.ErrTooLarge
	}
	return &files.Attachment{ID: 7, Name: name, Size: int64(len(text)), State: files.AttachmentClean}, err
}

func (shelf) Found(_ context.Context, id int64) (*files.Found, error) {
	for _, f := range shelved {
		if f.ID == id {
			return &f, nil
		}
	}
	return nil, core.ErrNotFound
}

func (shelf) Read(_ context.Context, f *files.Found) (io.ReadSeekCloser, error) {
	if f.State == files.AttachmentGone {
		return nil, tools.ErrFileGone
	}
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader([]byte("content")), io.NopCloser(nil)}, nil
}

func (shelf) Tools() []tools.Tool {
	return []tools.Tool{{Name: "time", Summary: "The time.", Schema: json.RawMessage(`{"type":"object"}`), Effect: tools.EffectRead}}
}
func (shelf) Usable(string, string) []string { return []string{"time"} }

func (shelf) Typed(string, json.RawMessage) (json.RawMessage, string, error) { return nil, "", nil }

func (shelf) Turn(context.Context, int64, bool) (*turns.Turn, error) {
	return &turns.Turn{State: "done", Plans: []turns.Plan{{Tasks: []turns.Task{{State: "failed", Outcome: "refused person.tools", Reason: "it is not hers"}}}}}, nil
}

func TestFilesAreHandedOutWithCare(t *testing.T) {
	t.Parallel()
	h, _ := newTestAPI(t)
	for path, want := range map[string]string{
		"/v1/attachments/1": "200 attachment; filename*=utf-8''%C3%A4.html",
		"/v1/attachments/2": "200 inline; filename=p.png",
		"/v1/attachments/3": "200 attachment; filename=p.svg",
		"/v1/attachments/4": "403 ",
		"/v1/attachments/5": "404 ",
		"/v1/attachments/6": "404 ",
		"/v1/attachments/9": "404 ",
	} {
		w := ask(h, http.MethodGet, path, "ada's", "")
		if got := fmt.Sprint(w.Code, " ", w.Header().Get("Content-Disposition")); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		if w.Code == 200 && (w.Header().Get("Content-Security-Policy") != "sandbox" || w.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
}

func TestInternalFilesNeedTheirToken(t *testing.T) {
	t.Parallel()
	h, _ := newTestAPI(t)
	for token, status := range map[string]int{"": 401, "wrong": 401, "inside": 200} {
		if w := ask(h, http.MethodGet, "/internal/attachments/4/binary", "ada's", "", internalHeader, token); w.Code != status {
			t.Errorf("%q: %d %s", token, w.Code, w.Body)
		}
	}
	closed := New(Deps{Log: slog.New(slog.DiscardHandler), Files: shelf{}, Tools: shelf{}}, nil).TCP(Door{InternalToken: func() string { return "" }})
	if w := ask(closed, http.MethodGet, "/internal/attachments/4/binary", "", "", internalHeader, ""); w.Code != 404 {
		t.Errorf("closed: %d", w.Code)
	}
}

func TestUploadsAreMeasured(t *testing.T) {
	t.Parallel()
	h, _ := newTestAPI(t)
	for size, status := range map[int]int{0: 201, 1000: 201, 1001: 413} {
		if w := ask(h, http.MethodPost, "/v1/uploads?name=a", "ada's", strings.Repeat("x", size)); w.Code != status {
			t.Errorf("%d bytes: %d %s", size, w.Code, w.Body)
		}
	}
}

func TestFaultSaysWhy(t *testing.T) {
	t.Parallel()
	turn, _ := shelf{}.Turn(t.Context(), 1, false)
	if got := fault("time", turn); got.Code != "person.tools" || got.Message != "it is not hers" {
		t.Errorf("%+v", got)
	}
	turn.Plans[0].Tasks[0] = turns.Task{State: "failed", Outcome: "error exit_status", Output: "out"}
	if got := fault("exec", turn); got.Code != "exit_status" || got.Message != "exec did not work: exit status" {
		t.Errorf("%+v", got)
	}
	if got := fault("exec", &turns.Turn{State: "cancelled"}); got.Code != "cancelled" {
		t.Errorf("%+v", got)
	}
}
