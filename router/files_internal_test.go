package router

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
)

const home = "play:home"

// fileRows are the rows of attachments in memory.
type fileRows struct {
	mu      sync.Mutex
	rows    map[int64]Attachment
	session map[int64]string
	sets    int
	old     []string // what the next Forget returns
	used    []string // blobs that something refers to besides
}

func (f *fileRows) add(session string, a Attachment) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows, f.session = map[int64]Attachment{}, map[int64]string{}
	}
	a.ID = int64(len(f.rows) + 1)
	f.rows[a.ID], f.session[a.ID] = a, session
	return fmt.Sprint(a.ID)
}

func (f *fileRows) Attachment(_ context.Context, session string, id int64) (*Attachment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.rows[id]
	if !ok || f.session[id] != session {
		return nil, ErrNotFound
	}
	return &a, nil
}

func (f *fileRows) SetAttachment(_ context.Context, a *Attachment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[a.ID] = *a
	f.sets++
	return nil
}

func (f *fileRows) AddAttachment(_ context.Context, session string, a *Attachment) error {
	f.add(session, *a)
	f.mu.Lock()
	defer f.mu.Unlock()
	a.ID = int64(len(f.rows))
	f.rows[a.ID] = *a
	return nil
}

func (f *fileRows) Forget(context.Context, time.Time, int) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	blobs := f.old
	f.old = nil
	return blobs, nil
}

func (f *fileRows) Referred(_ context.Context, blob string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.rows {
		if a.Blob == blob && a.State != AttachmentGone {
			return true, nil
		}
	}
	return strings.Contains(strings.Join(f.used, " "), blob), nil
}

func (f *fileRows) row(id string) Attachment {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, a := range f.rows {
		if fmt.Sprint(n) == id {
			return a
		}
	}
	return Attachment{}
}

// folder keeps bytes in files named by their hash.
type folder struct{ dir string }

func (d folder) Put(_ context.Context, limit int64, fill func(io.Writer) error) (string, int64, error) {
	f, err := os.CreateTemp(d.dir, "new-*")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	w := &bounded{w: f, left: limit, bounded: limit > 0}
	hash := sha256.New()
	err = fill(io.MultiWriter(w, hash))
	if w.full {
		return "", 0, ErrTooLarge
	}
	if err != nil {
		return "", 0, err
	}
	name := hex.EncodeToString(hash.Sum(nil))
	return name, w.n, os.Rename(f.Name(), d.Path(name))
}

type bounded struct {
	w             io.Writer
	n, left       int64
	bounded, full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.bounded && int64(len(p)) > b.left {
		b.full = true
		return 0, ErrTooLarge
	}
	b.left -= int64(len(p))
	b.n += int64(len(p))
	return b.w.Write(p)
}

func (d folder) Open(blob string) (io.ReadSeekCloser, error) {
	f, err := os.Open(d.Path(blob))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotFound
	}
	return f, err
}

func (d folder) Path(blob string) string  { return filepath.Join(d.dir, blob) }
func (d folder) Remove(blob string) error { return os.RemoveAll(d.Path(blob)) }

func (d folder) List(before time.Time) (names []string, err error) {
	entries, err := os.ReadDir(d.dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// A shelf is a channel that brings files.
type shelf struct {
	channels.Channel
	fetch   func(ctx context.Context, file channels.Attachment, w io.Writer) error
	fetched atomic.Int64
}

func (*shelf) Name() string { return "play" }

func (s *shelf) Fetch(ctx context.Context, file channels.Attachment, w io.Writer) error {
	s.fetched.Add(1)
	return s.fetch(ctx, file, w)
}

type fileRig struct {
	*FileService
	rows  *fileRows
	shelf *shelf
	dir   string
}

func newFileRig(t *testing.T, content string, scan string) *fileRig {
	t.Helper()
	rig := &fileRig{rows: &fileRows{}, dir: t.TempDir(), shelf: &shelf{
		fetch: func(_ context.Context, _ channels.Attachment, w io.Writer) error {
			_, err := io.WriteString(w, content)
			return err
		},
	}}
	rig.FileService = NewFileService(FileDeps{
		Ledger: rig.rows, Blobs: folder{rig.dir}, Channels: []Attached{{Channel: rig.shelf}},
		MaxSize: 1 << 20, ScanCommand: scan, Log: slog.New(slog.DiscardHandler),
	})
	return rig
}

// came is a file that a person sent.
func (r *fileRig) came(name string) string {
	return r.rows.add(home, Attachment{
		Channel: "play", PlatformID: "P1", Kind: channels.Document, Name: name, Type: "application/x-lie", Size: 3, State: AttachmentReferenced,
	})
}

func (r *fileRig) read(id string) (tools.File, string, error) {
	file, bytes, err := r.Open(context.Background(), tools.Session{ID: home}, id)
	if err != nil {
		return file, "", err
	}
	defer bytes.Close()
	text, err := io.ReadAll(bytes)
	return file, string(text), err
}

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

// promise: P4.attachment-of-the-session
func TestAttachmentOfAnotherSession(t *testing.T) {
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

func TestTwoWantOneAttachmentAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newFileRig(t, "", "")
		r.dir, r.FileService.Blobs = dir, folder{dir}
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
		if n := len(r.one.held); n > 0 {
			t.Errorf("%d locks are left", n)
		}
	})
}

// promise: P5.files-bounded
func TestAttachmentThatIsTooLarge(t *testing.T) {
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

// promise: P4.files-checked
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

func TestContentType(t *testing.T) {
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

func TestPlatformThatRefuses(t *testing.T) {
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

// promise: P5.taint-inherits
func TestPublish(t *testing.T) {
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
	if _, _, err := r.FileService.Open(context.Background(), tools.Session{ID: "play:elsewhere"}, page.ID); !errors.Is(err, tools.ErrNoFile) {
		t.Errorf("another session reads it: %v", err)
	}
	broken := errors.New("disk")
	if _, err := r.Publish(context.Background(), tools.Session{ID: home}, "a", "", io.MultiReader(strings.NewReader("x"), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// promise: P4.files-checked
func TestScanner(t *testing.T) {
	t.Parallel()
	script := func(body string) string {
		file := filepath.Join(t.TempDir(), "scan")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	looks := script("grep -q EVIL \"$2\" || exit 0\necho\necho \"$1: Evil.Test\tFOUND\"; echo more >&2; exit 1\n")
	for name, tc := range map[string]struct {
		command, content, why string
	}{
		"clean":        {looks + " --quick", "good", ""},
		"found":        {looks + " --quick", "EVIL", "the scanner says: --quick: Evil.Test FOUND"},
		"silent":       {script("exit 3"), "x", "without a word (exit status 3)"},
		"killed":       {script("kill -9 $$"), "x", "without a word (signal: killed)"},
		"missing":      {"/nowhere/scan", "x", "could not be run"},
		"no shell":     {"/bin/true;exit", "x", "could not be run"},
		"hangs":        {script("sleep 60 & sleep 60"), "x", "did not come to an end within 300ms"},
		"no variables": {script(`test -z "$(env | grep -v -E '^(PATH|HOME|LANG|TZ|TMPDIR|PWD|OLDPWD|SHLVL|_)=')"`), "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFileRig(t, tc.content, tc.command)
			if name == "hangs" {
				r.scanner.timeout = 300 * time.Millisecond
			}
			id := r.came("a.txt")
			began := time.Now()
			_, text, err := r.read(id)
			if time.Since(began) > 10*time.Second {
				t.Errorf("took %s", time.Since(began))
			}
			if tc.why == "" {
				if err != nil || text != tc.content {
					t.Errorf("read %q, %v", text, err)
				}
				return
			}
			if !errors.Is(err, tools.ErrFileRefused) || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("read: %v, want %q", err, tc.why)
			}
			if a := r.rows.row(id); a.State != AttachmentQuarantined || !strings.Contains(a.Reason, tc.why) {
				t.Errorf("row %+v", a)
			}
			if _, err := r.Publish(context.Background(), tools.Session{ID: home}, "a", "", strings.NewReader(tc.content)); !errors.Is(err, tools.ErrFileRefused) {
				t.Errorf("published: %v", err)
			}
		})
	}
}

// A stop of the engine says nothing of the file.
func TestScanBrokenOff(t *testing.T) {
	t.Parallel()
	r := newFileRig(t, "x", "/bin/sleep 60")
	r.scanner.command = []string{"/bin/sh", "-c", "sleep 60"}
	id := r.came("a.txt")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := r.Open(ctx, tools.Session{ID: home}, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if a := r.rows.row(id); a.State != AttachmentReferenced {
		t.Errorf("row %+v", a)
	}
}

func TestJanitor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newFileRig(t, "", "")
		r.dir, r.FileService.Blobs = dir, folder{dir}
		put := func(content string, age time.Duration) string {
			blob, _, err := r.Blobs.Put(context.Background(), 0, func(w io.Writer) error {
				_, err := io.WriteString(w, content)
				return err
			})
			at := time.Now().Add(-age)
			if err := errors.Join(err, os.Chtimes(r.Blobs.Path(blob), at, at)); err != nil {
				t.Fatal(err)
			}
			return blob
		}
		old, shared, sent := put("old", 0), put("shared", 0), put("sent", 48*time.Hour)
		orphan, fresh, kept := put("orphan", 2*time.Hour), put("fresh", time.Minute), put("kept", 48*time.Hour)
		r.rows.add(home, Attachment{State: AttachmentClean, Blob: kept})
		r.rows.add(home, Attachment{State: AttachmentClean, Blob: shared}) // came again since
		r.rows.old, r.rows.used = []string{old, shared}, []string{sent}
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { r.Run(ctx) })
		synctest.Wait()
		there := func(blob string) bool {
			_, err := os.Stat(r.Blobs.Path(blob))
			return err == nil
		}
		for blob, want := range map[string]bool{old: false, shared: true, sent: true, orphan: false, fresh: true, kept: true} {
			text, _ := os.ReadFile(r.Blobs.Path(blob))
			if there(blob) != want {
				t.Errorf("%s (%s) is there: %v, want %v", blob, text, !want, want)
			}
		}
		late := put("late", 0)
		r.rows.mu.Lock()
		r.rows.old = []string{late}
		r.rows.mu.Unlock()
		time.Sleep(sweepEvery + time.Second)
		synctest.Wait()
		if there(late) {
			t.Error("an hour later nobody swept")
		}
		cancel()
		wg.Wait()
	})
}
