package files

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"switchboard/agent/tools"
	"switchboard/channels"
)

func TestUploadIsCheckedLikeWhatComesFromPlatforms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, state, kind, mediaType string }{
		{"../a.txt", "hello", AttachmentClean, "document", "text/plain"},
		{"p.txt", "\x89PNG\r\n\x1a\n0000", AttachmentClean, "photo", "image/png"},
		{"a.txt", "#!/bin/sh\n", AttachmentQuarantined, "document", "text/plain"},
		{"a.exe", "hello", AttachmentQuarantined, "document", "text/plain"},
	} {
		r := newFileRig(t, "", "")
		a, err := r.Upload(context.Background(), "token:ci", c.name, strings.NewReader(c.content))
		if err != nil || a.ID == 0 || a.State != c.state || a.Kind != channels.AttachmentKind(c.kind) || a.Type != c.mediaType || strings.Contains(a.Name, "/") {
			t.Errorf("%s: %+v, %v", c.name, a, err)
			continue
		}
		found, err := r.Found(context.Background(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := r.Read(context.Background(), found)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text, _ := io.ReadAll(bytes); string(text) != c.content {
			t.Errorf("%s: %q", c.name, text)
		}
		bytes.Close()
	}
	r := newFileRig(t, "", "")
	if _, err := r.Upload(context.Background(), "local", "a", strings.NewReader(strings.Repeat("x", 1<<20+1))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	r.Room = func(context.Context) error { return errors.New("the disk is full") }
	if _, err := r.Upload(context.Background(), "local", "a", strings.NewReader("x")); !errors.Is(err, tools.ErrFileRefused) {
		t.Errorf("no room: %v", err)
	}
}

// What is at its platform is brought here to be read, and held back there if it has to be.
func TestReadBringsWhatIsAtItsPlatform(t *testing.T) {
	t.Parallel()
	for content, state := range map[string]string{"hello": AttachmentClean, "#!/bin/sh\n": AttachmentQuarantined} {
		r := newFileRig(t, content, "")
		r.came("a.txt")
		f, err := r.Found(context.Background(), 1)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := r.Read(context.Background(), f)
		if err != nil || f.State != state || f.Type != "text/plain" {
			t.Errorf("%q: %+v, %v", content, f, err)
			continue
		}
		bytes.Close()
	}
	r := newFileRig(t, "", "")
	r.shelf.fetch = func(context.Context, channels.Attachment, io.Writer) error { return channels.ErrGone }
	r.came("a.txt")
	f, _ := r.Found(context.Background(), 1)
	if _, err := r.Read(context.Background(), f); !errors.Is(err, tools.ErrFileGone) {
		t.Errorf("gone there: %v", err)
	}
}
