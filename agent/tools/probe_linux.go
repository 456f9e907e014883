package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// probe finds out once how commands can be confined here, by running one in
// each way, the strictest first. Success is kept; a failure is tried again at
// the next use, since its cause may have been mended. It runs in the workspace of
// the command that needs it, or, when that is empty, in a folder of its own.
func (e *Exec) probe(ctx context.Context, workspace string) (*layers, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.layers != nil {
		return e.layers, nil
	}
	// What is learned serves other turns too, so the caller's end is not ours.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	if workspace == "" {
		folder, err := os.MkdirTemp("", "switchboard-probe-")
		if err != nil {
			return nil, fmt.Errorf("probe the sandbox: %w", err)
		}
		defer os.RemoveAll(folder)
		workspace = folder
	}
	ways := []namespaces{nsUser, nsNone}
	if os.Geteuid() == 0 {
		ways = []namespaces{nsPlain, nsUser, nsNone}
	}
	var errs []error
	for _, way := range ways {
		o, text := e.supervise(ctx, helperSpec{
			Line: ":", Workspace: workspace, Confined: true, Namespaces: way,
			Timeout: 10 * time.Second, MemoryLimit: e.cfg.MemoryLimit, MaxProcesses: e.cfg.MaxProcesses,
		})
		if o.Kind == "exit" && o.Status == 0 {
			e.layers = &layers{namespaces: way, list: describeLayers(way, o.Proc, errors.Join(errs...))}
			return e.layers, nil
		}
		errs = append(errs, probeFault(way, o, text))
	}
	return nil, oneLine(errs[len(errs)-1])
}

func probeFault(way namespaces, o outcome, text string) error {
	if o.Detail != "" {
		return fmt.Errorf("namespaces %s: %s", way, o.Detail)
	}
	return fmt.Errorf("namespaces %s: %s %d %s", way, o.Kind, o.Status, cutHead(text, 200))
}

func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// Layers says which parts of the confinement work on this machine. It runs the
// probe when there was none yet.
func (e *Exec) Layers(ctx context.Context) []Layer {
	found, err := e.probe(ctx, "")
	if err != nil {
		return []Layer{
			{Name: "files", Works: landlockABI() >= minABI, Detail: fmt.Sprintf("Landlock ABI %d", landlockABI()), Mend: mendSandbox},
			{Name: "commands", Detail: err.Error(), Mend: "until this is mended commands are refused; " + mendSandbox},
		}
	}
	return append([]Layer(nil), found.list...)
}

func describeLayers(way namespaces, ownProc bool, why error) []Layer {
	abi := landlockABI()
	list := []Layer{
		{Name: "commands", Works: true, Detail: "a helper kills each command's whole tree"},
		{Name: "files", Works: true, Detail: fmt.Sprintf("Landlock ABI %d", abi)},
		{Name: "network", Works: true, Detail: "a seccomp filter refuses every socket"},
	}
	if way != nsNone {
		detail := fmt.Sprintf("network, process, mount and IPC namespaces (%s)", way)
		if !ownProc {
			detail += "; no /proc of its own, commands see none"
		}
		return append(list, Layer{Name: "namespaces", Works: true, Detail: detail})
	}
	detail := "none, so commands cannot change modes and owners of files"
	if abi < scopeABI {
		detail += " nor send signals"
	}
	return append(list, Layer{
		Name: "namespaces", Detail: detail + ": " + oneLine(why).Error(),
		Mend: "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces) for the full set",
	})
}
