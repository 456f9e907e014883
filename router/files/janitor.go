package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"switchboard/router/core"
)

const (
	// filesKept is how long an attachment is kept.
	filesKept = 31 * 24 * time.Hour
	// unusedKept is how long an upload is kept that comes with no message.
	unusedKept = 24 * time.Hour
	// orphanAge is how long bytes may lie about before their row is there.
	orphanAge = time.Hour
	// forgetBatch bounds what one transaction forgets, forgetRounds the transactions
	// of one sweep: others want to write as well.
	forgetBatch  = 500
	forgetRounds = 50
)

// Forget marks old attachments as gone and removes bytes that nothing else refers to. It returns how many it forgot.
func (s *Service) Forget(ctx context.Context) (forgotten int64, err error) {
	forgotten, err = s.forget(ctx, s.Store.Forget, filesKept)
	unused, more := s.forget(ctx, s.Store.ForgetUploads, unusedKept)
	return forgotten + unused, errors.Join(err, more)
}

func (s *Service) forget(ctx context.Context, mark func(context.Context, time.Time, int) ([]string, int, error), kept time.Duration) (forgotten int64, err error) {
	before := time.Now().Add(-kept)
	for range forgetRounds {
		blobs, marked, err := mark(ctx, before, forgetBatch)
		if err != nil {
			return forgotten, fmt.Errorf("forget attachments: %w", err)
		}
		forgotten += int64(marked)
		if _, err := s.remove(ctx, blobs); err != nil {
			return forgotten, err
		}
		if marked < forgetBatch {
			break
		}
	}
	return forgotten, nil
}

// RemoveOrphans removes bytes whose row never came to be, which only a crash leaves, and returns how many.
func (s *Service) RemoveOrphans(ctx context.Context) (removed int64, err error) {
	blobs, err := s.Blobs.List(time.Now().Add(-orphanAge))
	if err != nil {
		return 0, fmt.Errorf("list the bytes of attachments: %w", err)
	}
	return s.remove(ctx, blobs)
}

// remove removes those of the blobs that nothing refers to, and returns how many.
func (s *Service) remove(ctx context.Context, blobs []string) (removed int64, err error) {
	var errs []error
	for _, blob := range blobs {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		gone, err := s.removeOne(ctx, blob)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", blob, err))
		} else if gone {
			removed++
		}
	}
	return removed, errors.Join(errs...)
}

func (s *Service) removeOne(ctx context.Context, blob string) (removed bool, err error) {
	s.settling.Lock()
	defer s.settling.Unlock()
	if referred, err := s.Store.Referred(ctx, blob); err != nil || referred {
		return false, err
	}
	return true, s.Blobs.Remove(blob)
}

// Discard removes bytes that nothing refers to now. *core.StateError: a backup holds them.
func (s *Service) Discard(ctx context.Context, blob string) error {
	removed, err := s.removeOne(ctx, blob)
	if err != nil || !removed {
		return err
	}
	if _, err := os.Stat(s.Blobs.Path(blob)); err == nil {
		return &core.StateError{Sentence: "A backup is being made: please try again when it is done."}
	}
	return nil
}
