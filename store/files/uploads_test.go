package files_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

// An upload becomes the file of the first message that it comes with, and a copy goes with the next.
func TestUploadsComeWithMessages(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		up := files.Attachment{Kind: channels.Document, Name: "a.txt", Type: "text/plain", Size: 3, State: files.AttachmentClean, Blob: storetest.BlobName("a")}
		if err := h.Router.AddUpload(h.Ctx, "token:ci", &up); err != nil || up.ID == 0 {
			t.Fatalf("%+v, %v", up, err)
		}
		if f, err := h.Router.Found(h.Ctx, up.ID); err != nil || *f != (files.Found{Attachment: up, Uploader: "token:ci"}) {
			t.Fatalf("%+v, %v", f, err)
		}
		if _, err := h.Router.Found(h.Ctx, up.ID+99); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("one that is not there: %v", err)
		}
		var ref core.TurnRef
		with := func(key string) *core.TurnData {
			e := storetest.Claiming(storetest.Entry("c", key, "look"))
			e.Taint = "file"
			e.Event.Message.Metadata = json.RawMessage(`{"n":1.0,"a":"<b>"}`)
			e.Event.Message.Attachments = []channels.Attachment{{Upload: up.ID, Kind: up.Kind, Name: up.Name, Type: up.Type, Size: up.Size}}
			ref = h.One(e).Claimed.TurnRef
			return h.Load(ref)
		}
		data := with("1")
		want := []agent.Attachment{{ID: fmt.Sprint(up.ID), Kind: "document", Name: "a.txt", Type: "text/plain", Size: 3}}
		if got := data.Turn.Message.Attachments; !slices.Equal(got, want) {
			t.Fatalf("the turn has %+v, want %+v", got, want)
		}
		f, err := h.Router.Found(h.Ctx, up.ID)
		if err != nil || f.Session != "tg:c" || f.Taint != "file" || f.Channel != "tg" || f.State != files.AttachmentClean {
			t.Errorf("attached: %+v, %v", f, err)
		}
		h.Commit(ref, storetest.End("done", "answered"))
		data = with("2")
		again := data.Turn.Message.Attachments
		if len(again) != 1 || again[0].ID == want[0].ID || again[0].Name != "a.txt" {
			t.Fatalf("the next turn has %+v", again)
		}
		if a, err := h.Router.Attachment(h.Ctx, "tg:c", storetest.Atoi(t, again[0].ID)); err != nil || a.Blob != up.Blob || a.State != files.AttachmentClean || a.Taint != "file" {
			t.Errorf("the copy: %+v, %v", a, err)
		}

		link := "see [a](attachment:" + want[0].ID + ") and [none](attachment:999)"
		h.Commit(ref, agent.Step{Say: []agent.Say{{Text: link, Position: -1}}}, outbox.Reply{Text: link, Parts: []channels.Body{{Text: link}}})
		events, err := h.Router.Events(h.Ctx, "tg:c", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		seen := []string{}
		for _, e := range events {
			if m := e.Message; m != nil {
				line := m.Direction + " " + string(m.Metadata)
				for _, a := range m.Attachments {
					line += " " + fmt.Sprint(a.ID) + " " + a.Name + " " + a.State
				}
				seen = append(seen, line)
			}
		}
		meta := `in {"n":1.0,"a":"<b>"} `
		if want := []string{meta + want[0].ID + " a.txt clean", meta + again[0].ID + " a.txt clean", "out  " + want[0].ID + " a.txt clean"}; !slices.Equal(seen, want) {
			t.Errorf("events have %q, want %q", seen, want)
		}
	})
}

func TestUploadsWithoutMessageAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		start := time.Now()
		at := start
		h.DB.Now = func() time.Time { return at }
		add := func(name string) *files.Attachment {
			a := &files.Attachment{Kind: channels.Document, Name: name, State: files.AttachmentClean, Blob: storetest.BlobName(name)}
			if err := h.Router.AddUpload(h.Ctx, "local", a); err != nil {
				t.Fatal(err)
			}
			return a
		}
		used, unused := add("a"), add("b")
		e := storetest.Claiming(storetest.Entry("c", "1", "look"))
		e.Event.Message.Attachments = []channels.Attachment{{Upload: used.ID, Kind: channels.Document}}
		h.One(e)
		at = start.Add(2 * time.Hour)
		add("c")
		blobs, n, err := h.Router.ForgetUploads(h.Ctx, start.Add(time.Hour), 10)
		if err != nil || n != 1 || !slices.Equal(blobs, []string{unused.Blob}) {
			t.Errorf("%q, %d, %v", blobs, n, err)
		}
		if f, err := h.Router.Found(h.Ctx, unused.ID); err != nil || f.State != files.AttachmentGone || f.Blob != "" {
			t.Errorf("%+v, %v", f, err)
		}
	})
}

// What is left of metadata out of which a credential was taken is JSON all the same.
func TestMetadataStaysJSON(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.Entry("c", "1", "look")
		e.Event.Message.Metadata = json.RawMessage(`{"pin":[redacted]}`)
		h.One(e)
		events, err := h.Router.Events(h.Ctx, "tg:c", 0, 100)
		if err != nil || string(events[0].Message.Metadata) != `"[redacted]"` {
			t.Errorf("%+v, %v", events, err)
		}
	})
}
