package admin_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/channels/platformtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// A follower does what a page says, as somebody who knows nothing else: commands of a shell, and
// words in a chat.
type follower struct {
	t     *testing.T
	dir   string
	path  string // where "switchboard" is found
	words map[string]string
	chats map[string]*programtest.Page
	last  *programtest.Page // where was written last
	seen  map[string]bool   // messages that were there before that, with their texts
	log   *testkit.Log      // of the bot
	made  int               // versions of the settings
	print string            // what the last command of a shell printed
}

// docs/administration.md, word by word.
func TestAdministrationIsFollowedLiterally(t *testing.T) {
	t.Parallel()
	follow(t, "administration.md")
}

// docs/scheduling.md; the tables of times are read by tests of scheduler.
func TestSchedulingIsFollowedLiterally(t *testing.T) {
	t.Parallel()
	follow(t, "scheduling.md")
}

// docs/memory.md.
func TestMemoryIsFollowedLiterally(t *testing.T) {
	t.Parallel()
	follow(t, "memory.md")
}

// follow does what a page in docs says, until something is not as it says.
func follow(t *testing.T, name string) {
	t.Helper()
	f := &follower{t: t, dir: t.TempDir(), words: map[string]string{}, chats: map[string]*programtest.Page{}, seen: map[string]bool{}}
	f.path = filepath.Join(f.dir, "bin")
	if err := os.Mkdir(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(programtest.Build(t), filepath.Join(f.path, "switchboard")); err != nil {
		t.Fatal(err)
	}
	text := testkit.Read(t, filepath.Join(programtest.Root, "docs", name))
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		if block[1] == "toml" {
			testkit.Write(t, filepath.Join(f.dir, "example.toml"), block[2])
			if f.shell("switchboard --config example.toml config check"); strings.Contains(f.print, "warning") {
				t.Errorf("of these settings it warns:\n%s\n%s", block[2], f.print)
			}
			continue
		}
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSpace(line)
			for word, is := range f.words {
				line = strings.ReplaceAll(line, word, is)
			}
			if t.Logf("%s", line); block[1] == "chat" {
				f.chat(line)
			} else {
				f.shell(line)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// shell does a line of a shell. What goes on for ever is left to go on.
func (f *follower) shell(line string) {
	f.t.Helper()
	switch fields := strings.Fields(line); {
	case slices.Equal(fields[:2], []string{"switchboard", "dev"}):
		log := programtest.DevStarted(f.t, f.dir, append(fields[2:], "--listen", "127.0.0.1:0")...)
		at := regexp.MustCompile(`A fake \w+ is on this machine at (\S+)`).FindStringSubmatch(log.String())[1]
		for _, u := range programtest.DevView(f.t, at, "", "").Users {
			name, _, _ := strings.Cut(u.Name, " ")
			f.chats[name] = &programtest.Page{T: f.t, At: at, User: u.ID, Chat: programtest.DevView(f.t, at, u.ID, "").Chats[0].ID}
			f.words[strings.ToUpper(name)+"_ID"] = u.ID
		}
	case slices.Equal(fields, []string{"switchboard", "serve"}):
		f.log = programtest.Run(f.t, f.dir, "serve")
		for _, p := range f.chats {
			testkit.Await(f.t, "the bot listens", time.Minute, func() bool { return programtest.DevView(f.t, p.At, "", "").Connected })
		}
	default:
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = f.dir, append(programtest.Environ(), "HOME="+f.dir, "XDG_DATA_HOME=", "PATH="+f.path+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if f.print = string(out); err != nil {
			f.t.Errorf("%s: %v\n%s", line, err, out)
		}
		if code := regexp.MustCompile(`claim code (\S+)`).FindStringSubmatch(f.print); code != nil {
			f.words["CODE"] = code[1]
		}
	}
}

// chat does a line of a chat: who writes, "NAME presses BUTTON", or what the bot answers.
func (f *follower) chat(line string) {
	f.t.Helper()
	who, text, said := strings.Cut(line, ": ")
	if presser, label, ok := strings.Cut(line, " presses "); ok && !said {
		p := f.chats[presser]
		f.writesAt(p)
		p.Presses(p.Found(""), label)
		return
	}
	if p := f.chats[who]; p != nil {
		f.writesAt(p)
		p.Writes(text)
		return
	}
	if name, ok := strings.CutPrefix(who, "bot to "); ok {
		f.last = f.chats[name]
	} else if who != "bot" {
		f.t.Fatalf("nobody is called %q", who)
	}
	f.reads(text)
}

// writesAt notes what is there before somebody writes.
func (f *follower) writesAt(p *programtest.Page) {
	f.last = p
	for _, p := range f.chats {
		for _, m := range programtest.DevView(f.t, p.At, p.User, p.Chat).Messages {
			f.seen[p.User+m.ID+m.Text] = true
		}
	}
}

// reads waits for a message of the bot, new or changed since the last was written, with all the pieces of text between "…".
func (f *follower) reads(text string) {
	f.t.Helper()
	var shown []platformtest.Message
	holds := func(m platformtest.Message) bool {
		rest := m.Text
		for piece := range strings.SplitSeq(text, "…") {
			_, after, ok := strings.Cut(rest, strings.TrimSpace(piece))
			if !ok {
				return false
			}
			rest = after
		}
		return m.Bot
	}
	deadline := time.Now().Add(programtest.Patience)
	for time.Now().Before(deadline) {
		shown = slices.DeleteFunc(programtest.DevView(f.t, f.last.At, f.last.User, f.last.Chat).Messages, func(m platformtest.Message) bool {
			return f.seen[f.last.User+m.ID+m.Text]
		})
		if i := slices.IndexFunc(shown, holds); i >= 0 {
			f.t.Logf("\t%s", shown[i].Text)
			if strings.Contains(shown[i].Text, "of the settings.") { // who has read that confirms it once it counts
				f.made++
				testkit.Await(f.t, "the change counts", programtest.Patience, func() bool { return strings.Count(f.log.String(), "other settings count now") >= f.made })
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	var b strings.Builder
	for _, m := range shown {
		fmt.Fprintf(&b, "- %s\n", m.Text)
	}
	f.t.Errorf("the bot does not say %q but\n%s", text, b.String())
}
