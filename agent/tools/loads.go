package tools

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"

	"switchboard/agent/tools/command"
	"switchboard/agent/tools/workspace"
)

const (
	// mostNamed is how many files that a line names are shown, and beginsWith how much of each, in bytes.
	mostNamed, beginsWith = 5, 1000
	// mostHashed is how much of a workspace is read to compare it, and largestHashed how much of a
	// file, in bytes. What is beyond goes by what the kernel says of the file, its number and time of
	// change included, which no command can set.
	mostHashed, largestHashed = 32 << 20, 1 << 20
)

// Loaded is what a command may run or load of its workspace.
type Loaded struct {
	Files []NamedFile // those that the line names, in its order; at most mostNamed
	More  int         // named files that are not among Files
	Hash  []byte      // of all that lies in the workspace
}

// A NamedFile is a file of the workspace that a command line names.
type NamedFile struct {
	Path   string
	Size   int64  // bytes
	Begins string // valid UTF-8, at most 1000 bytes; empty too where Link or Binary
	Link   string // where it leads; empty: it is no symbolic link
	Binary bool
	Taint  Taint
}

// Loads returns what a line may run or load of the workspace dir, and nil where what it does
// depends on its words alone. A line that is lifted runs without the sandbox. The error says
// why the files cannot be compared; such a line must not run on an approval.
func Loads(ctx context.Context, dir, line string, lifted bool) (*Loaded, error) {
	names, loads := command.Loads(line, lifted)
	if !loads {
		return nil, nil
	}
	root, err := workspace.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be opened: %w", plain(err))
	}
	defer root.Close()
	var l Loaded
	if l.Hash, err = hashed(ctx, root); err != nil {
		return nil, plain(err)
	}
	notes, seen := readLedger(dir), map[string]bool{}
	for _, name := range names {
		name = strings.TrimPrefix(strings.TrimPrefix(name, dir+"/"), "~/")
		name, fault := cleanPath(name)
		if fault != nil || seen[name] {
			continue
		}
		seen[name] = true
		file, ok := nameFile(root, name)
		switch {
		case !ok:
		case len(l.Files) == mostNamed:
			l.More++
		default:
			file.Taint = notes.of(name)
			l.Files = append(l.Files, file)
		}
	}
	return &l, nil
}

// nameFile reads the beginning of a file; false: there is none.
func nameFile(root *os.Root, name string) (file NamedFile, ok bool) {
	file.Path = name
	if info, err := root.Lstat(name); err != nil || info.IsDir() {
		return file, false
	}
	if to, err := root.Readlink(name); err == nil {
		file.Link = to
		return file, true
	}
	f, info, fault := openRegular(root, name)
	if fault != nil {
		return file, false
	}
	defer f.Close()
	file.Size = info.Size()
	head, err := io.ReadAll(io.LimitReader(f, binaryLookHead))
	if file.Binary = err != nil || isBinary(head); !file.Binary {
		file.Begins = strings.ToValidUTF8(cutHead(string(head), beginsWith), "")
	}
	return file, true
}

// hashed is the hash of all names and contents below root, but for the folder of ours, which is
// emptied before each command.
func hashed(ctx context.Context, root *os.Root) ([]byte, error) {
	sum, left := sha256.New(), int64(mostHashed)
	err := workspace.Walk(ctx, root, ".", func(name string, info fs.FileInfo) error {
		if name == workspace.Hidden {
			if info.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		fmt.Fprintf(sum, "%q %v ", name, info.Mode())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := root.Readlink(name)
			fmt.Fprintf(sum, "%q\n", to)
			return err
		case !info.Mode().IsRegular():
		case info.Size() <= min(left, largestHashed) && addContent(sum, root, name):
			left -= info.Size()
		default:
			fmt.Fprintf(sum, "%d %d %d %d ", workspace.Inode(info), info.Size(), info.ModTime().UnixNano(), workspace.ChangeTime(info).UnixNano())
		}
		fmt.Fprintln(sum)
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		err = errors.New("a folder in the workspace is closed to me")
	}
	return sum.Sum(nil), err
}

// addContent adds the hash of what is in a file; false: it cannot be read.
func addContent(sum hash.Hash, root *os.Root, name string) bool {
	f, _, fault := openRegular(root, name)
	if fault != nil {
		return false
	}
	defer f.Close()
	content := sha256.New()
	if _, err := io.Copy(content, io.LimitReader(f, largestHashed)); err != nil {
		return false
	}
	sum.Write(content.Sum(nil))
	return true
}
