package tools

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"switchboard/agent/tools/workspace"
	"switchboard/internal/testkit"
)

// put writes a file of a workspace, as a command would.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func loaded(t *testing.T, dir, line string) *Loaded {
	t.Helper()
	l, err := Loads(t.Context(), dir, line, false)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return l
}

// Two large files of the same size and times change places with their folders.
func TestLargeFilesThatChangePlacesChangeTheHash(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	testkit.Await(t, "two files have the same times", time.Minute, func() bool {
		var times []time.Time
		names := []string{"a/run.sh", "b/run.sh"}
		for i, name := range names { // new ones: of a file that was looked at the next time is exact
			_ = os.Remove(at(name))
			put(t, dir, name, []string{"echo good", "echo evil"}[i]+"\nexit\n"+strings.Repeat("#", largestHashed))
		}
		for _, name := range names {
			if err := os.Chtimes(at(name), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range names {
			info, err := os.Stat(at(name))
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, workspace.ChangeTime(info))
		}
		return times[0].Equal(times[1])
	})
	before := loaded(t, dir, "sh a/run.sh").Hash
	for _, names := range [][2]string{{"a", "c"}, {"b", "a"}, {"c", "b"}} {
		if err := os.Rename(at(names[0]), at(names[1])); err != nil {
			t.Fatal(err)
		}
	}
	if now := loaded(t, dir, "sh a/run.sh").Hash; bytes.Equal(now, before) {
		t.Error("the hash is the same")
	}
}

func TestHashIsOfAllThatALineMayLoad(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	put(t, dir, "job.sh", "echo one\n")
	put(t, dir, "lib/x.sh", "echo two\n")
	put(t, dir, "a-large-file", strings.Repeat("x", largestHashed+1))
	if err := os.Symlink("lib/x.sh", filepath.Join(dir, "to")); err != nil {
		t.Fatal(err)
	}
	if l := loaded(t, dir, "ls -l job.sh"); l != nil {
		t.Errorf("a line that loads nothing: %+v", l)
	}
	changed := func(name string) time.Time {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return workspace.ChangeTime(info)
	}
	testkit.Await(t, "the clock of the files goes on", time.Minute, func() bool {
		put(t, dir, "clock", "")
		return changed("clock").After(changed("a-large-file"))
	})
	before := loaded(t, dir, "sh job.sh").Hash
	put(t, dir, ".switchboard/outputs.json", "[]") // made anew before each command
	put(t, dir, "job.sh", "echo one\n")
	if now := loaded(t, dir, "sh job.sh").Hash; !bytes.Equal(now, before) {
		t.Error("another hash, and nothing has changed")
	}
	for what, change := range map[string]func(){
		"its script":           func() { put(t, dir, "job.sh", "echo ONE\n") },
		"what it loads":        func() { put(t, dir, "lib/x.sh", "echo TWO\n") },
		"a new file":           func() { put(t, dir, "lib/y.sh", "") },
		"another name":         func() { _ = os.Rename(filepath.Join(dir, "clock"), filepath.Join(dir, "lib/z.sh")) },
		"a mode":               func() { _ = os.Chmod(filepath.Join(dir, "job.sh"), 0o700) },
		"a link":               func() { _ = os.Remove(filepath.Join(dir, "to")); _ = os.Symlink("job.sh", filepath.Join(dir, "to")) },
		"a file that is large": func() { put(t, dir, "a-large-file", strings.Repeat("y", largestHashed+1)) },
	} {
		change()
		now := loaded(t, dir, "sh job.sh").Hash
		if bytes.Equal(now, before) {
			t.Errorf("the same hash after a change of %s", what)
		}
		before = now
	}
}

// What cannot be looked through cannot be compared.
func TestClosedFolderIsNotCompared(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	put(t, dir, "job.sh", "echo one\n")
	deep := dir
	for range 70 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if l, err := Loads(t.Context(), dir, "sh job.sh", false); err == nil {
		t.Errorf("%+v", l)
	}
}

func TestNamedFilesAreShown(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	put(t, dir, "job.sh", "echo one\n")
	put(t, dir, "sub/long.py", strings.Repeat("é", 700))
	put(t, dir, "run", "\x7fELF\x00")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "to")); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string][]NamedFile{
		"sh job.sh job.sh sub none":  {{Path: "job.sh", Size: 9, Begins: "echo one\n"}},
		"sh ./job.sh":                {{Path: "job.sh", Size: 9, Begins: "echo one\n"}},
		"sh " + dir + "/job.sh":      {{Path: "job.sh", Size: 9, Begins: "echo one\n"}},
		"sh ~/job.sh":                {{Path: "job.sh", Size: 9, Begins: "echo one\n"}},
		"cd sub && python3 long.py":  {{Path: "sub/long.py", Size: 1400, Begins: strings.Repeat("é", 500)}},
		"./run":                      {{Path: "run", Size: 5, Binary: true}},
		"sh to":                      {{Path: "to", Link: "/etc/passwd"}},
		"sh /etc/passwd ../../x x/.": nil,
	} {
		if got := loaded(t, dir, line).Files; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, name := range strings.Fields("a b c d e f g") {
		put(t, dir, name, name)
	}
	if l := loaded(t, dir, "sh job.sh a b c d e f g"); len(l.Files) != mostNamed || l.More != 3 || l.Files[0].Path != "job.sh" {
		t.Errorf("%+v", l)
	}
}
