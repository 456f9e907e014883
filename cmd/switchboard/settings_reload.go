package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"switchboard/channels/render"
	"switchboard/configs"
	"switchboard/internal/retry"
	"switchboard/router/outbox"
)

const (
	// filePoll is how often it is looked whether the settings file reads otherwise, and fileQuiet
	// for how long it has to read the same before it is taken: it may be half written.
	filePoll  = 2 * time.Second
	fileQuiet = 500 * time.Millisecond
)

// reload has the engine go by its file and by what was changed at run time, as they are now. Where they
// have faults the former settings stay, and the admins are notified: that is no error, which another
// try would mend.
func (e *engine) reload(ctx context.Context) error {
	err := e.reread(ctx)
	if _, is := errors.AsType[*brokenError](err); is {
		return nil
	}
	return err
}

// A brokenError says that settings cannot be used, and the former ones stay.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// reread is reload that returns a *brokenError with what is wrong.
func (e *engine) reread(ctx context.Context) error {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	if err := e.readSecrets(ctx); err != nil { // a setting may name one that is new
		return err
	}
	versions, err := e.db.Router().SettingsCounting(ctx, versionsTried)
	if err != nil {
		return err
	}
	if len(versions) > 0 && versions[0].Waiting() && versions[0].Secret() != "" && e.unusable != nil { // so that it cannot be confirmed
		return fmt.Errorf("the secret %s cannot be used: %w", versions[0].Secret(), e.unusable)
	}
	was := e.settings()
	var ready *change
	prepare := func(s *configs.Settings) (err error) {
		ready, err = e.prepare(ctx, s)
		return err
	}
	next, broken := newestOf(versions, was.Again, prepare)
	if broken != nil {
		e.tellBroken(ctx, broken)
		// What was changed at run time counts, whatever became of the file.
		if next, err = newestOf(versions, was.With, prepare); err != nil || maps.Equal(next.settings.Changes(), was.Changes()) {
			return &brokenError{broken}
		}
	} else if e.broken != "" {
		e.broken = ""
		e.log.InfoContext(ctx, "the settings can be used again")
	}
	e.noteSkipped(ctx, next)
	for _, w := range next.warnings {
		e.log.WarnContext(ctx, "settings", "warning", w.String())
	}
	if err := e.apply(ctx, ready); err != nil {
		return err
	}
	if broken != nil {
		return &brokenError{broken}
	}
	return nil
}

// tellBroken says what is wrong with settings: once, while it stays the same.
func (e *engine) tellBroken(ctx context.Context, err error) {
	if err.Error() == e.broken {
		e.log.WarnContext(ctx, "the settings are broken still, and the former ones stay")
		return
	}
	e.broken = err.Error()
	faults := strings.Split(e.broken, "\n")
	for _, fault := range faults {
		e.log.ErrorContext(ctx, "the settings have a fault, and the former ones stay", "fault", fault)
	}
	var text strings.Builder
	text.WriteString("The settings were changed and have faults, so I go on with the former ones:")
	const most = 5
	for i, fault := range faults {
		if i == most {
			fmt.Fprintf(&text, "\n- and %d more: \"switchboard config check\" lists them", len(faults)-most)
			break
		}
		text.WriteString("\n- " + render.Escape(fault))
	}
	e.router.Lines.Notify(ctx, outbox.NoticeBrokenSettings, e.broken, text.String())
}

// watchFile reloads when the settings file reads otherwise, until ctx ends. It looks at the text, since
// editors write files in many ways.
func (e *engine) watchFile(ctx context.Context) {
	known, _ := e.settings().Print()
	read := known
	for e.settings().File != "" && retry.Sleep(ctx, filePoll) {
		is, now := e.settings().Print()
		if is != read { // something else had it read meanwhile
			read, known = is, is
		}
		for former := known; now != former; _, now = e.settings().Print() {
			if former = now; !retry.Sleep(ctx, fileQuiet) {
				return
			}
		}
		if now == known {
			continue
		}
		if err := e.reload(ctx); err != nil {
			e.log.ErrorContext(ctx, "the settings file was changed, and cannot be taken now; it is tried again", "error", err)
			continue
		}
		known = now
	}
}

// reloadOnHangup reloads at each SIGHUP until ctx ends.
func (e *engine) reloadOnHangup(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		e.log.InfoContext(ctx, "the settings are read anew, as SIGHUP asks for")
		if err := e.reload(ctx); err != nil {
			e.log.ErrorContext(ctx, "the settings cannot be read anew", "error", err)
		}
	}
}
