package files

import (
	"context"
	"errors"
	"fmt"
	"time"

	"switchboard/retry"
)

const (
	// filesKept is how long an attachment is kept.
	filesKept = 31 * 24 * time.Hour
	// sweepEvery is how often old attachments are looked for. Bytes that nothing
	// refers to, which only a crash leaves, are looked for at the start and once in
	// orphansEvery sweeps.
	sweepEvery   = time.Hour
	orphansEvery = 24
	// orphanAge is how long bytes may lie about before their row is there.
	orphanAge = time.Hour
	// forgetBatch bounds what one transaction forgets, forgetRounds the transactions
	// of one sweep: others want to write as well.
	forgetBatch  = 500
	forgetRounds = 50
)

// Run is the janitor: it forgets old attachments and removes their bytes, at once
// and then hourly, until ctx ends. Every engine runs it, also those that share the files.
func (s *Service) Run(ctx context.Context) {
	for n := 0; ; n++ {
		err := s.forget(ctx, time.Now().Add(-filesKept))
		if n%orphansEvery == 0 {
			err = errors.Join(err, s.removeOrphans(ctx, time.Now().Add(-orphanAge)))
		}
		if err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "old attachments could not be cleared away", "error", err)
		}
		if !retry.Sleep(ctx, sweepEvery) {
			return
		}
	}
}

// forget marks the attachments older than before as gone and removes bytes that
// nothing else refers to.
func (s *Service) forget(ctx context.Context, before time.Time) error {
	for range forgetRounds {
		blobs, marked, err := s.Ledger.Forget(ctx, before, forgetBatch)
		if err != nil {
			return fmt.Errorf("forget attachments: %w", err)
		}
		if err := s.remove(ctx, blobs); err != nil {
			return err
		}
		if marked < forgetBatch {
			return nil
		}
	}
	return nil
}

// removeOrphans removes bytes last used before then whose row never came to be.
func (s *Service) removeOrphans(ctx context.Context, before time.Time) error {
	blobs, err := s.Blobs.List(before)
	if err != nil {
		return fmt.Errorf("list the bytes of attachments: %w", err)
	}
	return s.remove(ctx, blobs)
}

// remove removes those of the blobs that nothing refers to.
func (s *Service) remove(ctx context.Context, blobs []string) error {
	var errs []error
	for _, blob := range blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.removeOne(ctx, blob); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", blob, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Service) removeOne(ctx context.Context, blob string) error {
	s.settling.Lock()
	defer s.settling.Unlock()
	if referred, err := s.Ledger.Referred(ctx, blob); err != nil || referred {
		return err
	}
	return s.Blobs.Remove(blob)
}
