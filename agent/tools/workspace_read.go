package tools

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"switchboard/agent/tools/workspace"
)

const (
	maxReadBytes   = 64 << 10 // one workspace.read brings at most so much text
	maxListed      = 500      // one workspace.list shows at most so many entries
	defaultDepth   = 3
	binaryLookHead = 8 << 10
)

func (w files) read(ctx context.Context, call Call, args struct {
	Path      string
	FirstLine int `json:"first_line"`
	LastLine  int `json:"last_line"`
},
) Result {
	first, last := cmp.Or(args.FirstLine, 1), cmp.Or(args.LastLine, math.MaxInt)
	if first > last {
		return refused("bad_range", "swap first_line and last_line", "line %d comes after line %d", first, last)
	}
	root, name, fault := enter(call.Workspace, args.Path)
	if fault != nil {
		return *fault
	}
	defer root.Close()
	f, info, fault := openRegular(root, name)
	if fault != nil {
		return *fault
	}
	defer f.Close()
	if fault := w.readable(f, info, name); fault != nil {
		return *fault
	}
	text, err := readLines(ctx, f, info.Size(), first, last)
	if err != nil {
		return ioFault(name, err)
	}
	return Result{End: EndOK, Output: text, Taint: readLedger(call.Workspace).of(name)}
}

// openRegular opens a regular file. A pipe or device that a command left behind
// must neither block nor be read.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, *Result) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, new(ioFault(name, err))
	}
	var res Result
	info, err := f.Stat()
	switch {
	case err != nil:
		res = ioFault(name, err)
	case info.IsDir():
		res = refused("not_a_file", "workspace.list shows its files", "%s is a folder", name)
	case !info.Mode().IsRegular():
		res = refused("not_a_file", "", "%s is not a regular file", name)
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, &res
}

func (w files) readable(f *os.File, info fs.FileInfo, name string) *Result {
	if info.Size() > w.fileLimit {
		return new(refused("file_limit", "use exec with head, tail or grep", "%s has %d bytes; the limit is %d", name, info.Size(), w.fileLimit))
	}
	head := make([]byte, binaryLookHead)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return new(ioFault(name, err))
	}
	if isBinary(head[:n]) {
		return new(refused("binary_file", "use exec with a program for this kind of file", "%s is not a text file", name))
	}
	return nil
}

// readLines returns lines first to last of so many bytes, at most maxReadBytes of
// them, and says how much more there is and where to go on.
func readLines(ctx context.Context, r io.Reader, size int64, first, last int) (string, error) {
	var b strings.Builder
	in := bufio.NewReader(r)
	for number := 1; number <= last; number++ {
		if err := ctx.Err(); err != nil {
			return b.String(), err
		}
		line, err := in.ReadString('\n')
		if number >= first && line != "" {
			if room := maxReadBytes - b.Len(); len(line) > room {
				head := cutHead(line, room)
				b.WriteString(head)
				mark := fmt.Sprintf("%s\n[go on with first_line %d, or use exec with cut for long lines]", truncationMark(size-int64(len(head))), number)
				return joinMark(b.String(), mark, ""), nil
			}
			b.WriteString(line)
		}
		size -= int64(len(line))
		if errors.Is(err, io.EOF) {
			if number < first || number == first && line == "" && first > 1 {
				return fmt.Sprintf("[the file ends before line %d]", first), nil
			}
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (w files) list(ctx context.Context, call Call, args struct {
	Path  string
	Depth int
},
) Result {
	root, name, fault := enter(call.Workspace, cmp.Or(args.Path, "."))
	if fault != nil {
		return *fault
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return ioFault(name, err)
	}
	if !info.IsDir() {
		return refused("not_a_folder", "workspace.read shows a file", "%s is a file", name)
	}
	notes := readLedger(call.Workspace)
	text, err := listing(ctx, root, name, cmp.Or(args.Depth, defaultDepth), notes)
	if errors.Is(err, workspace.ErrTooLarge) {
		return refused("workspace_full", hints["workspace_full"], "%v: list a smaller folder, or less depth", err)
	}
	if err != nil {
		return ioFault(name, err)
	}
	// A name may have been chosen by whoever wrote the content.
	return Result{End: EndOK, Output: text, Taint: notes.any(name)}
}

func listing(ctx context.Context, root *os.Root, dir string, depth int, notes ledger) (string, error) {
	var b strings.Builder
	shown, left := 0, 0
	err := workspace.Walk(ctx, root, dir, func(name string, info fs.FileInfo) error {
		if name == workspace.Hidden {
			if info.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if shown == maxListed {
			left++
		} else {
			shown++
			b.WriteString(entryLine(name, info, notes))
		}
		below := strings.TrimPrefix(name, dir+"/")
		if info.IsDir() && strings.Count(below, "/")+1 >= depth {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	if left > 0 {
		fmt.Fprintf(&b, "[%d more entries; list a folder of it]\n", left)
	}
	if shown == 0 {
		return "(empty)\n", nil
	}
	return b.String(), nil
}

func entryLine(name string, info fs.FileInfo, notes ledger) string {
	line := path.Clean(name)
	if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		line = strconv.Quote(line)
	}
	switch {
	case info.IsDir():
		line += "/"
	case info.Mode()&fs.ModeSymlink != 0:
		line += "  (symbolic link, not followed)"
	default:
		line += fmt.Sprintf("  %d bytes  %s", info.Size(), info.ModTime().UTC().Format("2006-01-02 15:04 UTC"))
	}
	if taint := notes.of(name); taint != Clean {
		line += "  from outside: " + string(taint)
	}
	return line + "\n"
}
