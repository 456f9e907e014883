package files

import (
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
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
)

// rows are the rows of attachments in memory.
type rows struct {
	mu      sync.Mutex
	rows    map[int64]Attachment
	session map[int64]string
	sets    int
	bare    int      // how many rows without bytes of their own Forget marks first
	old     []string // what Forget returns then
	used    []string // blobs that something refers to besides
}

func (f *rows) add(session string, a Attachment) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows, f.session = map[int64]Attachment{}, map[int64]string{}
	}
	a.ID = int64(len(f.rows) + 1)
	f.rows[a.ID], f.session[a.ID] = a, session
	return fmt.Sprint(a.ID)
}

func (f *rows) Attachment(_ context.Context, session string, id int64) (*Attachment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.rows[id]
	if !ok || f.session[id] != session {
		return nil, core.ErrNotFound
	}
	return &a, nil
}

func (f *rows) SetAttachment(_ context.Context, a *Attachment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[a.ID] = *a
	f.sets++
	return nil
}

func (f *rows) AddAttachment(_ context.Context, session string, a *Attachment) error {
	f.add(session, *a)
	f.mu.Lock()
	defer f.mu.Unlock()
	a.ID = int64(len(f.rows))
	f.rows[a.ID] = *a
	return nil
}

func (f *rows) Forget(_ context.Context, _ time.Time, limit int) ([]string, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bare >= limit {
		f.bare -= limit
		return nil, limit, nil
	}
	blobs, marked := f.old, f.bare+len(f.old)
	f.bare, f.old = 0, nil
	return blobs, marked, nil
}

func (f *rows) ForgetUploads(context.Context, time.Time, int) ([]string, int, error) {
	return nil, 0, nil
}

func (f *rows) AddUpload(_ context.Context, _ string, a *Attachment) error {
	return f.AddAttachment(context.Background(), "", a)
}

func (f *rows) Found(_ context.Context, id int64) (*Found, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.rows[id]
	if !ok {
		return nil, core.ErrNotFound
	}
	return &Found{Attachment: a, Session: f.session[id]}, nil
}

func (f *rows) Referred(_ context.Context, blob string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.rows {
		if a.Blob == blob && a.State != AttachmentGone {
			return true, nil
		}
	}
	return strings.Contains(strings.Join(f.used, " "), blob), nil
}

func (f *rows) row(id string) Attachment {
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
		return nil, core.ErrNotFound
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

type rig struct {
	*Service
	rows  *rows
	shelf *shelf
	dir   string
}

func newFileRig(t *testing.T, content string, scan string) *rig {
	t.Helper()
	rig := &rig{rows: &rows{}, dir: t.TempDir(), shelf: &shelf{
		fetch: func(_ context.Context, _ channels.Attachment, w io.Writer) error {
			_, err := io.WriteString(w, content)
			return err
		},
	}}
	rig.Service = New(Deps{
		Store: rig.rows, Blobs: folder{rig.dir}, Channel: func(name string) channels.Channel { return map[string]channels.Channel{"play": rig.shelf}[name] },
		Limits: Limits{MaxSize: 1 << 20, ScanCommand: scan}, Log: slog.New(slog.DiscardHandler),
	})
	return rig
}

// came is a file that a person sent.
func (r *rig) came(name string) string {
	return r.rows.add(home, Attachment{
		Channel: "play", PlatformID: "P1", Kind: channels.Document, Name: name, Type: "application/x-lie", Size: 3, State: AttachmentReferenced,
	})
}

func (r *rig) read(id string) (tools.File, string, error) {
	file, bytes, err := r.Open(context.Background(), tools.Session{ID: home}, id)
	if err != nil {
		return file, "", err
	}
	defer bytes.Close()
	text, err := io.ReadAll(bytes)
	return file, string(text), err
}
