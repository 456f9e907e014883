package tools

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"time"

	"switchboard/agent/tools/workspace"
)

// A trace carries taint over a command: what a command writes in a tainted
// turn, or could have copied from a tainted file, is tainted afterwards, names
// of files and folders too, and a tainted file that it renames stays tainted.
//
// While such a command runs, all of its workspace counts as tainted. So it stays
// when the engine dies meanwhile, or when the command leaves more than can be
// looked through.
type trace struct {
	workspace string
	root      *os.Root
	before    ledger
	inodes    map[uint64]Taint // of the tainted files and folders
	taint     Taint            // what the command's files inherit
	output    Taint            // what its output inherits: it may have printed a tainted file
	start     time.Time        // by the clock of the files
}

// traceTime is how long looking through a workspace may take, before and after
// a command each.
const traceTime = 5 * time.Second

// outputsName is what the agent writes before each command of a turn, so no
// taint of it outlasts the command.
const outputsName = workspace.Hidden + "/outputs.json"

// beginTrace marks the workspace as tainted when the command's files will be. The
// caller calls end.
func beginTrace(ctx context.Context, cmd Command) (*trace, error) {
	root, err := workspace.Open(cmd.Workspace)
	if err != nil {
		return nil, err
	}
	before := readLedger(cmd.Workspace)
	t := &trace{workspace: cmd.Workspace, root: root, before: before, inodes: map[uint64]Taint{}, output: before.any(".")}
	t.taint = cmd.Taint.Join(t.output)
	if t.taint == Clean {
		return t, nil
	}
	if err := t.mark(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *trace) mark(ctx context.Context) error {
	enough := time.Now().Add(traceTime)
	for name, taint := range t.before {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Now().After(enough) {
			t.before[everything] = t.output
			break
		}
		if info, err := t.root.Lstat(name); err == nil && name != everything && workspace.Inode(info) != 0 {
			t.inodes[workspace.Inode(info)] = taint
		}
	}
	err := changeLedger(ctx, t.workspace, func(l ledger) { l[everything] = l[everything].Join(t.taint) })
	if err != nil {
		return err
	}
	// The ledger lies next to the workspace: its time is by the same clock.
	info, err := os.Stat(ledgerFile(t.workspace))
	if err != nil {
		return err
	}
	t.start = workspace.ChangeTime(info)
	return nil
}

func (t *trace) close() { _ = t.root.Close() }

// end stores what the command's files inherited and returns the taint of its
// output. It does so also when ctx has ended, in bounded time.
func (t *trace) end(ctx context.Context) (Taint, error) {
	defer t.close()
	if t.taint == Clean {
		return Clean, nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), traceTime)
	defer stop()
	want, err := t.inherit(ctx)
	if err != nil {
		return t.output, nil //nolint:nilerr // what cannot be looked through stays tainted as a whole
	}
	return t.output, changeLedger(ctx, t.workspace, func(l ledger) {
		for name, taint := range l {
			if name != everything && t.before[name] != taint { // noted while the command ran
				want[name] = want[name].Join(taint)
			}
		}
		clear(l)
		maps.Copy(l, want)
	})
}

// inherit returns the database as it has to be: what was tainted before and is
// still there, what changed since the start, and what is a tainted file under
// another name.
func (t *trace) inherit(ctx context.Context) (ledger, error) {
	want := ledger{}
	err := workspace.Walk(ctx, t.root, ".", func(name string, info fs.FileInfo) error {
		if name == workspace.Hidden && info.IsDir() || name == outputsName && info.Mode().IsRegular() {
			return nil
		}
		want[everything] = t.before[everything]
		taint := t.before[name].Join(t.inodes[workspace.Inode(info)])
		if !workspace.ChangeTime(info).Before(t.start) {
			taint = taint.Join(t.taint)
		}
		want[name] = taint
		return nil
	})
	return want, err
}
