package live

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
	// filePoll is how often the settings file is read, to see whether it changed, and fileQuiet
	// for how long it has to read the same before it is taken: it may be half written.
	filePoll  = 2 * time.Second
	fileQuiet = 500 * time.Millisecond
)

// Reload has the program go by its file and by what was changed at run time, as they are now. Where they
// have faults the former settings stay, and the admins are notified: that is no error, which another
// try would fix.
func (l *Settings) Reload(ctx context.Context) error {
	err := l.reread(ctx)
	if _, is := errors.AsType[*brokenError](err); is {
		return nil
	}
	return err
}

// A brokenError says that settings cannot be used, and the former ones stay.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// reread is Reload that returns a *brokenError with what is wrong.
func (l *Settings) reread(ctx context.Context) error {
	l.reloading.Lock()
	defer l.reloading.Unlock()
	if err := l.readSecrets(ctx); err != nil { // a setting may name one that is new
		return err
	}
	versions, err := l.db.Router().SettingsCounting(ctx, versionsTried)
	if err != nil {
		return err
	}
	if len(versions) > 0 && versions[0].Waiting() && versions[0].Secret() != "" && l.unusable != nil { // so that it cannot be confirmed
		return fmt.Errorf("the secret %s cannot be used: %w", versions[0].Secret(), l.unusable)
	}
	was := l.Now()
	var ready *change
	prepare := func(s *configs.Settings) (err error) {
		ready, err = l.prepare(ctx, s)
		return err
	}
	next, broken := newest(versions, was.Again, prepare)
	if broken != nil {
		l.notifyBroken(ctx, broken)
		// What was changed at run time counts, whatever became of the file.
		if next, err = newest(versions, was.With, prepare); err != nil || maps.Equal(next.Settings.Changes(), was.Changes()) {
			return &brokenError{broken}
		}
	} else if l.broken != "" {
		l.broken = ""
		l.log.InfoContext(ctx, "the settings can be used again")
	}
	l.noteSkipped(ctx, next)
	for _, w := range next.warnings {
		l.log.WarnContext(ctx, "settings", "warning", w.String())
	}
	if err := l.apply(ctx, ready); err != nil {
		return err
	}
	if broken != nil {
		return &brokenError{broken}
	}
	return nil
}

// notifyBroken says what is wrong with settings: once, while it stays the same.
func (l *Settings) notifyBroken(ctx context.Context, err error) {
	if err.Error() == l.broken {
		l.log.WarnContext(ctx, "the settings are broken still, and the former ones stay")
		return
	}
	l.broken = err.Error()
	faults := strings.Split(l.broken, "\n")
	for _, fault := range faults {
		l.log.ErrorContext(ctx, "the settings have a fault, and the former ones stay", "fault", fault)
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
	l.program.Notify(ctx, outbox.NoticeBrokenSettings, l.broken, text.String())
}

// Watch reloads when the settings file reads otherwise, until ctx ends. It looks at the text, since
// editors write files in many ways.
func (l *Settings) Watch(ctx context.Context) {
	known, _ := l.Now().Print()
	read := known
	for l.Now().File != "" && retry.Sleep(ctx, filePoll) {
		is, now := l.Now().Print()
		if is != read { // something else had it read meanwhile
			read, known = is, is
		}
		for former := known; now != former; _, now = l.Now().Print() {
			if former = now; !retry.Sleep(ctx, fileQuiet) {
				return
			}
		}
		if now == known {
			continue
		}
		if err := l.Reload(ctx); err != nil {
			l.log.ErrorContext(ctx, "the settings file was changed, and cannot be taken now; it is tried again", "error", err)
			continue
		}
		known = now
	}
}

// ReloadOnHangup reloads at each SIGHUP until ctx ends.
func (l *Settings) ReloadOnHangup(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		l.log.InfoContext(ctx, "the settings are read again, as SIGHUP asks for")
		if err := l.Reload(ctx); err != nil {
			l.log.ErrorContext(ctx, "the settings cannot be read again", "error", err)
		}
	}
}
