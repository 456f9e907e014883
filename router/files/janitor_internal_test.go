package files

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestJanitorDeletesOnlyWhatNobodyUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newFileRig(t, "", "")
		r.dir, r.Service.Blobs = dir, folder{dir}
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
		pass := func() {
			_, err := r.Forget(context.Background())
			_, orphans := r.RemoveOrphans(context.Background())
			if err := errors.Join(err, orphans); err != nil {
				t.Error(err)
			}
		}
		pass()
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
		r.rows.bare, r.rows.old = 2*forgetBatch, []string{late} // behind batches with nothing to remove
		r.rows.mu.Unlock()
		if pass(); there(late) {
			t.Error("nothing was removed behind batches with nothing to remove")
		}
	})
}
