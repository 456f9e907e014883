package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
)

const home = "play:home"

func TestAttachmentIsFetchedWhenWanted(t *testing.T) {
	t.Parallel()
	r := newFileRig(t, "a,b\n1,2\n", "")
	id := r.came("table.csv")
	for range 2 {
		file, text, err := r.read(id)
		if want := (tools.File{ID: id, Name: "table.csv", Type: "text/csv", Size: 8, Taint: "file"}); err != nil || file != want || text != "a,b\n1,2\n" {
			t.Fatalf("got %+v, %q, %v; want %+v", file, text, err, want)
		}
	}
	if n := r.shelf.fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if a := r.rows.row(id); a.State != AttachmentClean || a.Blob == "" || a.Type != "text/csv" || a.Size != 8 {
		t.Errorf("row %+v", a)
	}
	out, err := r.Outgoing(context.Background(), home, id)
	if err != nil || out.Name != "table.csv" || out.Type != "text/csv" || out.Size != 8 {
		t.Errorf("goes out as %+v, %v", out, err)
	}
	bytes, err := r.Bytes(out)
	if err != nil {
		t.Fatal(err)
	}
	defer bytes.Close()
	if text, _ := io.ReadAll(bytes); string(text) != "a,b\n1,2\n" {
		t.Errorf("goes out with %q", text)
	}
	// Bytes that were lost are fetched again.
	if err := os.Remove(filepath.Join(r.dir, out.Blob)); err != nil {
		t.Fatal(err)
	}
	if _, text, err := r.read(id); err != nil || text != "a,b\n1,2\n" {
		t.Errorf("after the loss: %q, %v", text, err)
	}
}

func TestAttachmentOfAnotherSessionIsNotFound(t *testing.T) {
	t.Parallel()
	r := newFileRig(t, "secret", "")
	id := r.rows.add("play:elsewhere", Attachment{Channel: "play", PlatformID: "P1", State: AttachmentReferenced})
	for _, id := range []string{id, "99", "0", "-1", "", "1 OR 1", "99999999999999999999", "\x00"} {
		if _, _, err := r.read(id); !errors.Is(err, tools.ErrNoFile) {
			t.Errorf("id %q: %v", id, err)
		}
		if _, err := r.Outgoing(context.Background(), home, id); !errors.Is(err, tools.ErrNoFile) {
			t.Errorf("out, id %q: %v", id, err)
		}
	}
	if r.shelf.fetched.Load() > 0 {
		t.Error("another session's file was fetched")
	}
}

// One file has one name, so that a message does not send it twice.
func TestAttachmentHasOneID(t *testing.T) {
	t.Parallel()
	r := newFileRig(t, "words", "")
	id := r.rows.add(home, Attachment{Channel: "play", PlatformID: "P1", State: AttachmentReferenced})
	for _, other := range []string{"0" + id, "+" + id, "-" + id, " " + id} {
		if _, err := r.Outgoing(context.Background(), home, other); !errors.Is(err, tools.ErrNoFile) {
			t.Errorf("id %q: %v", other, err)
		}
	}
	if _, err := r.Outgoing(context.Background(), home, id); err != nil {
		t.Error(err)
	}
}

func TestAttachmentWantedByManyAtOnceIsFetchedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newFileRig(t, "", "")
		r.dir, r.Service.Blobs = dir, folder{dir}
		id := r.came("a.txt")
		r.shelf.fetch = func(_ context.Context, _ channels.Attachment, w io.Writer) error {
			time.Sleep(time.Second)
			_, err := io.WriteString(w, "slow")
			return err
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, text, err := r.read(id); err != nil || text != "slow" {
					t.Errorf("%q, %v", text, err)
				}
			})
		}
		// Who gives up does not take the others along.
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			time.Sleep(time.Millisecond)
			if _, _, err := r.Open(ctx, tools.Session{ID: home}, id); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("gave up with %v", err)
			}
		})
		all.Wait()
		if n := r.shelf.fetched.Load(); n != 1 {
			t.Errorf("fetched %d times", n)
		}
	})
}

func TestTooLargeAttachmentIsRefused(t *testing.T) {
	t.Parallel()
	told := newFileRig(t, "never", "")
	id := told.rows.add(home, Attachment{Channel: "play", PlatformID: "P1", Size: 2 << 20, State: AttachmentReferenced})
	if _, _, err := told.read(id); !errors.Is(err, tools.ErrFileRefused) || told.shelf.fetched.Load() > 0 {
		t.Errorf("told to be large: %v, fetched %d times", err, told.shelf.fetched.Load())
	}

	liar := newFileRig(t, "", "")
	id = liar.came("small.txt") // says 3 bytes
	sent := 0
	liar.shelf.fetch = func(_ context.Context, _ channels.Attachment, w io.Writer) error {
		for chunk := bytes.Repeat([]byte("x"), 64<<10); ; sent += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return fmt.Errorf("download: %v", err) // an adapter that tells it in its own words
			}
			if sent > 64<<20 {
				return errors.New("nobody stops it")
			}
		}
	}
	for range 2 {
		_, _, err := liar.read(id)
		if !errors.Is(err, tools.ErrFileRefused) || !strings.Contains(err.Error(), "larger than the 1 MB") {
			t.Errorf("read: %v", err)
		}
	}
	if n := liar.shelf.fetched.Load(); n != 1 || sent > 1<<20 {
		t.Errorf("fetched %d times, %d bytes", n, sent)
	}
	if left, _ := os.ReadDir(liar.dir); len(left) > 0 {
		t.Errorf("left on the disk: %v", left)
	}
	if _, err := liar.Publish(context.Background(), tools.Session{ID: home}, "big", "", strings.NewReader(strings.Repeat("x", 2<<20))); !errors.Is(err, tools.ErrFileRefused) {
		t.Errorf("published: %v", err)
	}
}

func TestProgramsAreHeldBack(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"holiday.jpg": "\x7fELF\x02\x01\x01", "report.pdf": "MZ\x90\x00\x03\x00", "notes.txt": "#!/bin/sh\nrm -rf ~\n",
		"setup.exe": "not even one", "Invoice.pdf.SCR": "x", "run.bat. ": "echo", "a/b\\c.PS1": "x", "photo.png": "\xfe\xed\xfa\xcf1",
		"\u202egpj.exe": "x",
	} {
		r := newFileRig(t, content, "")
		id := r.came(name)
		for range 2 {
			if _, _, err := r.read(id); !errors.Is(err, tools.ErrFileRefused) || !strings.Contains(err.Error(), "not taken") {
				t.Errorf("%q: %v", name, err)
			}
		}
		if _, err := r.Outgoing(context.Background(), home, id); !errors.Is(err, tools.ErrFileRefused) {
			t.Errorf("%q goes out: %v", name, err)
		}
		if a := r.rows.row(id); a.State != AttachmentQuarantined || a.Reason == "" || r.shelf.fetched.Load() != 1 {
			t.Errorf("%q: row %+v, fetched %d times", name, a, r.shelf.fetched.Load())
		}
	}
	for name, content := range map[string]string{"MZ.txt": "MZ is short for something", "code.py": "print(1)", "none": "", "#!": "# !"} {
		r := newFileRig(t, content, "")
		if _, text, err := r.read(r.came(name)); err != nil || text != content {
			t.Errorf("%q: %q, %v", name, text, err)
		}
	}
}

func TestContentTypeFollowsTheBytes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, head, want string }{
		{"a.txt", "hello", "text/plain"},
		{"a.CSV", "a,b", "text/csv"},
		{"a.csv", "%PDF-1.7", "application/pdf"},
		{"a.pdf", "hello", "text/plain"},
		{"a.jpg", "<html><script>", "text/html"},
		{"a.docx", "PK\x03\x04....", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"a.json", "PK\x03\x04....", "application/zip"},
		{"a.json", `{"a":1}`, "application/json"},
		{"a.png", "\x89PNG\r\n\x1a\n", "image/png"},
		{"", "", "text/plain"},
		{"a.csv", "\x00\x01\x02", "application/octet-stream"},
	} {
		if got := contentType(tc.name, []byte(tc.head)); got != tc.want {
			t.Errorf("%s %q: %s, want %s", tc.name, tc.head, got, tc.want)
		}
	}
}

func TestFetchThatFailsIsRefusedGoneOrTemporary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want error // nil: temporary
	}{
		"too big there": {&channels.RefusedError{Op: "getFile", Reason: "file is too\nbig"}, tools.ErrFileRefused},
		"ill":           {&channels.RefusedError{Op: "getFile", Reason: "bad gateway", Temporary: true}, nil},
		"gone":          {channels.ErrGone, tools.ErrFileGone},
		"no connection": {channels.ErrNotConnected, nil},
	} {
		r := newFileRig(t, "", "")
		id := r.came("a.txt")
		r.shelf.fetch = func(_ context.Context, _ channels.Attachment, w io.Writer) error {
			io.WriteString(w, "half of")
			return fmt.Errorf("fetch: %w", tc.err)
		}
		_, _, err := r.read(id)
		permanent := errors.Is(err, tools.ErrFileRefused) || errors.Is(err, tools.ErrFileGone) || errors.Is(err, tools.ErrNoFile)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || tc.want == nil && permanent {
			t.Errorf("%s: %v", name, err)
		}
		if a := r.rows.row(id); a.State != AttachmentReferenced {
			t.Errorf("%s: row %+v", name, a)
		}
		if left, _ := os.ReadDir(r.dir); len(left) > 0 {
			t.Errorf("%s: left on the disk: %v", name, left)
		}
	}
	r := newFileRig(t, "", "")
	id := r.rows.add(home, Attachment{Channel: "removed", PlatformID: "P1", State: AttachmentReferenced})
	if _, _, err := r.read(id); !errors.Is(err, tools.ErrFileGone) || !strings.Contains(err.Error(), "removed") {
		t.Errorf("a channel that is no more: %v", err)
	}
	id = r.rows.add(home, Attachment{Channel: "play", PlatformID: "P1", State: AttachmentGone})
	if _, _, err := r.read(id); !errors.Is(err, tools.ErrFileGone) {
		t.Errorf("forgotten: %v", err)
	}
	id = r.rows.add(home, Attachment{Blob: "lost", State: AttachmentClean})
	if _, _, err := r.read(id); !errors.Is(err, tools.ErrFileGone) {
		t.Errorf("published and lost: %v", err)
	}
}

func TestPublishedFileIsReadBackWithItsTaint(t *testing.T) {
	t.Parallel()
	r := newFileRig(t, "", "")
	publish := func(name string, taint tools.Taint, content string) (tools.File, error) {
		return r.Publish(context.Background(), tools.Session{ID: home}, name, taint, strings.NewReader(content))
	}
	script, err := publish("dir/backup.sh", tools.Clean, "#!/bin/sh\n")
	if want := (tools.File{ID: "1", Name: "backup.sh", Type: "text/plain", Size: 10}); err != nil || script != want {
		t.Errorf("published %+v, %v; want %+v", script, err, want)
	}
	if file, text, err := r.read(script.ID); err != nil || file != script || text != "#!/bin/sh\n" {
		t.Errorf("read back %+v, %q, %v", file, text, err)
	}
	page, err := publish("page.html", "web", "<html>")
	if err != nil || page.Taint != "web" || r.rows.row(page.ID).Taint != "web" {
		t.Errorf("published %+v, %v", page, err)
	}
	if _, err := publish("page.sh", "web", "x"); !errors.Is(err, tools.ErrFileRefused) {
		t.Errorf("a program from outside went out again: %v", err)
	}
	if _, _, err := r.Service.Open(context.Background(), tools.Session{ID: "play:elsewhere"}, page.ID); !errors.Is(err, tools.ErrNoFile) {
		t.Errorf("another session reads it: %v", err)
	}
	broken := errors.New("disk")
	if _, err := r.Publish(context.Background(), tools.Session{ID: home}, "a", "", io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }
