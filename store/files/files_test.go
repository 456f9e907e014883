package files_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/store/storetest"
)

func TestAttachmentsAreReadByTheirSessionAlone(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		e := storetest.WithFile(storetest.Claiming(storetest.Entry("c", "1", "look")), "ref", 5)
		e.Taint = "file"
		ref := h.One(e).Claimed.TurnRef
		id := storetest.Atoi(t, h.Load(ref).Turn.Message.Attachments[0].ID)
		a, err := h.Router.Attachment(h.Ctx, "tg:c", id)
		want := files.Attachment{
			ID: id, Channel: "tg", PlatformID: "ref", Kind: channels.Photo, Name: "p.png", Type: "image/png", Size: 5,
			State: files.AttachmentReferenced, Taint: "file",
		}
		if err != nil || *a != want {
			t.Fatalf("%+v, %v", a, err)
		}
		h.One(storetest.Entry("d", "2", "another session"))
		for session, n := range map[string]int64{"tg:d": id, "tg:nowhere": id, "tg:c": id + 99} {
			if _, err := h.Router.Attachment(h.Ctx, session, n); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%s, %d: %v", session, n, err)
			}
		}
		a.State, a.Reason, a.Blob, a.Type, a.Size = files.AttachmentQuarantined, "it runs", storetest.BlobName("a"), "application/x-elf", 6
		if err := h.Router.SetAttachment(h.Ctx, a); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Router.Attachment(h.Ctx, "tg:c", id); err != nil || *got != *a {
			t.Errorf("%+v, %v", got, err)
		}
		bad := *a
		bad.State = "odd"
		if err := h.Router.SetAttachment(h.Ctx, &bad); !errors.Is(err, core.ErrConflict) {
			t.Errorf("an unknown state: %v", err)
		}
		if bad = *a; bad.ID > 0 {
			bad.ID = 999
		}
		if err := h.Router.SetAttachment(h.Ctx, &bad); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("no such attachment: %v", err)
		}
		h.Exec(fmt.Sprintf("UPDATE attachments SET state = 'gone', blob = '' WHERE id = %d", id)) // while it was fetched
		if err := h.Router.SetAttachment(h.Ctx, a); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("one that was erased: %v", err)
		}
		h.WantCount(1, fmt.Sprintf("SELECT count(*) FROM attachments WHERE id = %d AND state = 'gone' AND blob = ''", id))

		made := files.Attachment{Kind: channels.Document, Name: "out.csv", Type: "text/csv", Size: 3, State: files.AttachmentClean, Blob: storetest.BlobName("b"), Taint: "web"}
		if err := h.Router.AddAttachment(h.Ctx, "tg:nowhere", &made); !errors.Is(err, core.ErrNotFound) || made.ID != 0 {
			t.Errorf("%v", err)
		}
		if err := h.Router.AddAttachment(h.Ctx, "tg:c", &made); err != nil || made.ID == 0 {
			t.Fatalf("%+v, %v", made, err)
		}
		made.Channel = "tg"
		if got, err := h.Router.Attachment(h.Ctx, "tg:c", made.ID); err != nil || *got != made {
			t.Errorf("%+v, %v", got, err)
		}
		// A turn that runs while its conversation moves still finds its files.
		h.Accept(storetest.Moves("c", "c2", "1"))
		for _, session := range []string{"tg:c", "tg:c2"} {
			if _, err := h.Router.Attachment(h.Ctx, session, made.ID); err != nil {
				t.Errorf("%s: %v", session, err)
			}
			if err := h.Router.AddAttachment(h.Ctx, session, &made); err != nil {
				t.Errorf("%s: %v", session, err)
			}
		}
		// Of a stranger's file nobody may have the bytes.
		s := storetest.WithFile(storetest.Entry("s", "3", "virus"), "ref", 5)
		s.Intent, s.Sender.Person = &intake.AuditIntent{Why: intake.AuditStranger}, ""
		h.Accept(s)
		if _, err := h.Router.Attachment(h.Ctx, "tg:s", made.ID+1); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("a stranger's: %v", err)
		}
	})
}

func TestForgetNamesWhatNobodyRefersTo(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		start := time.Now()
		at := start
		h.DB.Now = func() time.Time { return at }
		ref := h.Begun("c", "1")
		add := func(blob string) int64 {
			a := files.Attachment{Name: blob, State: files.AttachmentClean, Blob: blob}
			if blob == "" {
				a.State = files.AttachmentReferenced
			}
			if err := h.Router.AddAttachment(h.Ctx, "tg:c", &a); err != nil {
				t.Fatal(err)
			}
			return a.ID
		}
		old := add(storetest.BlobName("a")) // only here
		add(storetest.BlobName("a"))
		add(storetest.BlobName("b")) // younger elsewhere
		add(storetest.BlobName("c")) // on its way out
		add("")                      // never fetched
		used := add(storetest.BlobName("d"))
		step := agent.Step{Say: []agent.Say{{Text: "x", Position: -1}}}
		h.Commit(ref, step, outbox.Reply{Text: "x", Parts: []channels.Body{{Files: []channels.File{{Blob: storetest.BlobName("c"), Name: "c"}}}}})
		at = start.Add(2 * time.Hour)
		add(storetest.BlobName("b"))
		a, err := h.Router.Attachment(h.Ctx, "tg:c", used)
		if err != nil || h.Router.SetAttachment(h.Ctx, a) != nil {
			t.Fatal(err)
		}

		if blobs, n, err := h.Router.Forget(h.Ctx, start.Add(time.Hour), 0); err != nil || blobs != nil || n != 0 {
			t.Errorf("none: %v, %v", blobs, err)
		}
		blobs, n, err := h.Router.Forget(h.Ctx, start.Add(time.Hour), 1)
		if err != nil || len(blobs) != 0 || n != 1 {
			t.Errorf("the same bytes elsewhere: %v, %d, %v", blobs, n, err)
		}
		if a, err := h.Router.Attachment(h.Ctx, "tg:c", old); err != nil || a.State != files.AttachmentGone || a.Blob != "" || a.Name == "" {
			t.Errorf("%+v, %v", a, err)
		}
		if blobs, n, err = h.Router.Forget(h.Ctx, start.Add(time.Hour), 100); err != nil || !slices.Equal(blobs, []string{storetest.BlobName("a")}) || n != 4 {
			t.Errorf("%v, %d, %v", blobs, n, err)
		}
		if blobs, n, err = h.Router.Forget(h.Ctx, start.Add(time.Hour), 100); err != nil || len(blobs) != 0 || n != 0 {
			t.Errorf("again: %v, %d, %v", blobs, n, err)
		}
		for blob, want := range map[string]bool{
			storetest.BlobName("a"): false, storetest.BlobName("b"): true, storetest.BlobName("c"): true, storetest.BlobName("d"): true, "": false, "%": false, "odd": false,
		} {
			if got, err := h.Router.Referred(h.Ctx, blob); err != nil || got != want {
				t.Errorf("%s: %v, %v", blob, got, err)
			}
		}
		hold := h.Hold()
		h.Settle(hold, h.Begin(hold, "c"), outbox.Settlement{State: outbox.DeliverySent})
		if got, err := h.Router.Referred(h.Ctx, storetest.BlobName("c")); err != nil || got {
			t.Errorf("sent: %v, %v", got, err)
		}
	})
}

func TestRecentLinesNameTheirFiles(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ref := h.One(storetest.WithFile(storetest.Claiming(storetest.Entry("c", "1", "")), "ref", 5)).Claimed.TurnRef
		own := h.Load(ref).Turn.Message.Attachments
		h.Commit(ref, storetest.End("done", "answered"))
		recent := h.Load(h.Begun("c", "2")).State.Recent
		if len(recent) != 1 || fmt.Sprint(recent[0].Attachments) != fmt.Sprint(own) || recent[0].Attachments[0].Kind != "photo" {
			t.Errorf("%+v, want %+v", recent, own)
		}
	})
}
