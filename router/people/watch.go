package people

import (
	"context"
	"log/slog"

	"switchboard/internal/retry"
	"switchboard/router/core"
)

// A Watch keeps a roster as the database has it, whichever engine changes it. Its methods may be
// called from several goroutines at once.
type Watch struct {
	Roster *Roster
	// Read is called once the people are read again, Learned once one is.
	Read, Learned func()
	Wakes         core.Wakes // nil: no other engine shares the database
	Log           *slog.Logger

	changed chan struct{}
}

// NewWatch makes w ready.
func NewWatch(w Watch) *Watch {
	w.changed = make(chan struct{}, 1)
	return &w
}

// Changed has every engine read the people again.
func (w *Watch) Changed(ctx context.Context) {
	if err := w.Roster.Reload(ctx); err != nil {
		w.failed(err)
		retry.Signal(w.changed)
	}
	w.Wake()
	w.Read()
}

// Learn reads somebody again, now or as soon as the database lets it.
func (w *Watch) Learn(ctx context.Context, name string) {
	if err := w.Roster.Learn(ctx, name); err != nil {
		w.Log.ErrorContext(ctx, "a new person is not known yet", "person", name, "error", err)
		retry.Signal(w.changed)
	}
	w.Learned()
}

// Poll has the people read again by Run.
func (w *Watch) Poll() { retry.Signal(w.changed) }

// Wake has the other engines read the people again.
func (w *Watch) Wake() {
	if w.Wakes != nil {
		w.Wakes.Wake(core.Wake{Kind: core.WakePeople})
	}
}

// Run reads the people again when they were changed elsewhere, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	retry.Whenever(ctx, w.changed, func(ctx context.Context) error {
		err := w.Roster.Reload(ctx)
		if err == nil {
			w.Read()
		}
		return err
	}, w.failed)
}

func (w *Watch) failed(err error) { w.Log.Error("cannot read the people again", "error", err) }

// Load reads who has become a person on other engines.
func (w *Watch) Load(ctx context.Context) {
	if w.Wakes == nil {
		return
	}
	if err := w.Roster.Reload(ctx); err != nil && ctx.Err() == nil {
		w.failed(err)
	}
}
