package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"switchboard/agent/tools/workspace"
)

// probe finds out once under which ID commands can be confined here, by running one
// that tries whether the kernel counts its tasks. Success is kept; a failure is tried again at
// the next use, since its cause may have been fixed. It runs in the workspace of
// the command that needs it, or, when that is empty, in a folder of its own.
func (s *Sandbox) probe(ctx context.Context, dir string) (*layers, error) {
	select {
	case s.probing <- struct{}{}:
		defer func() { <-s.probing }()
	case <-ctx.Done(): // others may have to wait for it one after another
		return nil, ctx.Err()
	}
	if s.layers != nil || ctx.Err() != nil {
		return s.layers, ctx.Err()
	}
	ctx = context.WithoutCancel(ctx) // what is learned serves other turns too
	if dir == "" {
		folder, err := os.MkdirTemp("", "switchboard-probe-")
		if err != nil {
			return nil, fmt.Errorf("probe the sandbox: %w", err)
		}
		defer os.RemoveAll(folder)
		dir = folder
	}
	ids := []int{os.Geteuid()}
	if os.Geteuid() == 0 {
		ids = []int{workspace.CommandID, 0} // 0 is not the host's root in some containers, and counted then
	}
	groups, why := s.groups()
	if groups != "" {
		found, err := s.tryAll(ctx, dir, ids, groups, "the kernel counts it, in a control group of each command")
		if err == nil || errors.Is(err, ErrNoAnswer) {
			s.layers = found
			return found, err
		}
		why = err
	}
	found, err := s.tryAll(ctx, dir, ids, "", fmt.Sprintf("it is measured up to ten times a second, because %v", why))
	s.layers = found
	return found, err
}

// tryAll runs the probe under each ID until it succeeds; memory says how memory is counted.
func (s *Sandbox) tryAll(ctx context.Context, dir string, ids []int, groups, memory string) (*layers, error) {
	id, o, err := firstThatWorks(ids, func(id int) (Outcome, string) { return s.tryProbe(ctx, dir, id, newGroup(groups)) })
	if err != nil {
		return nil, err
	}
	return &layers{uid: id, groups: groups, list: describeLayers(id, s.cfg.MaxTasks, o.Proc, memory)}, nil
}

// firstThatWorks is the first ID under which the probe succeeds. Where one comes to no end, no weaker way is taken for that.
func firstThatWorks(ids []int, probe func(id int) (Outcome, string)) (id int, o Outcome, err error) {
	var errs []error
	for _, id := range ids {
		o, text := untilItEnds(func() (Outcome, string) { return probe(id) })
		switch {
		case o.Kind == "exit_status" && o.Status == 0:
			return id, o, nil
		case o.Kind == "timeout", o.Kind == "helper_failed" && o.Detail == "":
			return 0, o, fmt.Errorf("%w as user %d: %s", ErrNoAnswer, id, o.Kind)
		}
		why := o.Detail
		if why == "" {
			why = fmt.Sprintf("%s %d %.200s", o.Kind, o.Status, text)
		}
		errs = append(errs, fmt.Errorf("as user %d: %s", id, why))
	}
	return 0, o, errors.New(strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; "))
}

const (
	// probeTries is how often the probe is made while Go's runtime ends it: it may need a thread just
	// while the kernel is to refuse one, see tryCount.
	probeTries   = 5
	runtimeEnded = 2 // the exit status of a program that its runtime ended
	// probeTime is how long it may take: it waits for its turn on a busy machine as commands do.
	probeTime = time.Minute
)

// untilItEnds makes the probe until it ends by itself.
func untilItEnds(probe func() (Outcome, string)) (o Outcome, text string) {
	for range probeTries {
		if o, text = probe(); o.Kind != "exit_status" || o.Status != runtimeEnded {
			break
		}
	}
	return o, text
}

// tryProbe runs the probe once as a user, and returns what it printed.
func (s *Sandbox) tryProbe(ctx context.Context, dir string, uid int, group string) (Outcome, string) {
	var text strings.Builder
	o := s.supervise(ctx, helperSpec{
		stageSpec: stageSpec{Line: ":", Workspace: dir, Confined: true, UID: uid, MaxTasks: s.cfg.MaxTasks, Probe: true},
		Timeout:   probeTime, MemoryLimit: s.cfg.MemoryLimit, Group: group, MaxProcesses: s.cfg.MaxProcesses,
	}, &text)
	return o, text.String()
}

// Layers says which parts of the confinement work on this machine. It runs the
// probe when there was none yet.
func (s *Sandbox) Layers(ctx context.Context) []Layer {
	found, err := s.probe(ctx, "")
	if err != nil {
		return []Layer{
			{Name: "files", Works: landlockABI() >= minABI, Detail: fmt.Sprintf("Landlock ABI %d", landlockABI()), Fix: fixSandbox},
			{Name: "commands", Detail: err.Error(), Fix: "until this is fixed I run no commands; " + fixSandbox},
		}
	}
	return append([]Layer(nil), found.list...)
}

func describeLayers(id, tasks int, ownProc bool, memory string) []Layer {
	spaces := "user, process, mount, network and IPC namespaces"
	if !ownProc {
		spaces += "; no /proc of its own, commands see none"
	}
	return []Layer{
		{Name: "commands", Works: true, Detail: "when a command ends or is stopped, all processes that it started are killed"},
		{Name: "files", Works: true, Detail: fmt.Sprintf("Landlock ABI %d", landlockABI())},
		{Name: "network", Works: true, Detail: "a seccomp filter refuses every socket"},
		{Name: "namespaces", Works: true, Detail: spaces},
		{Name: "processes", Works: true, Detail: fmt.Sprintf("the kernel lets a command have %d tasks at once; it runs as user ID %d of this machine", tasks, id)},
		{Name: "memory", Works: true, Detail: memory},
	}
}
