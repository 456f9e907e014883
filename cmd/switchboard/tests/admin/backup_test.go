package admin_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchboard/agent/llm/llmtest"
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/router/turns"
	"switchboard/store/backup"
	"switchboard/store/storetest"
)

// on is a rig over a database of that kind, with the people u1 to u4.
func on(t *testing.T, kind string) *programtest.Rig {
	t.Helper()
	extra := "files = 4\nbuttons = true\n[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n[policy.exec]\nask = [\"echo *\"]\n"
	if kind == "postgres" {
		extra += fmt.Sprintf("[store]\nurl = %q\n", storetest.PostgresURL(t))
	}
	r := programtest.NewRig(t, []string{"u1", "u2", "u3", "u4"}, extra)
	r.Empty()
	r.Model.Handle(func(req llmtest.Request) llmtest.Reply {
		switch {
		case req.Section("What failed") != "":
			return llmtest.Text(llmtest.Plan("be honest", llmtest.Answer("It was cut off.")))
		case req.Role != "planner" && !strings.Contains(req.Section("Task"), "Say that you ran"), strings.Contains(programtest.Said(req), "read it"):
			return programtest.Filer(req)
		}
		return programtest.Clerk(req)
	})
	return r
}

// data is the path of something in the data folder.
func data(r *programtest.Rig, path ...string) string {
	return filepath.Join(append([]string{r.Dir, "data"}, path...)...)
}

// attachments are the names of the files that the data folder has, each with the bytes that its name says.
func attachments(r *programtest.Rig) (names []string) {
	r.T.Helper()
	err := filepath.WalkDir(data(r, "attachments"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (d.IsDir() || strings.HasPrefix(d.Name(), ".")) {
			return nil
		}
		if err != nil {
			return err
		}
		bytes, err := os.ReadFile(path)
		if sum := sha256.Sum256(bytes); hex.EncodeToString(sum[:]) != d.Name() {
			r.T.Errorf("the bytes of %s are others", d.Name())
		}
		names = append(names, d.Name())
		return err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return names
}

// load lets four people write, with files now and then, until it is ended. Each waits for an answer to the
// last, for as long as a slow machine takes: what is not answered by then is answered after a restore.
func load(r *programtest.Rig) (end func()) {
	done, over := make(chan struct{}), sync.WaitGroup{}
	for i := range 4 {
		user := fmt.Sprintf("u%d", 1+i)
		over.Go(func() {
			for ; ; i += 4 {
				before := answers(r, user)
				if i%8 == 0 {
					file := r.Platform.Upload(channels.Attachment{Kind: channels.Document, Name: "list.txt", Type: "text/plain"}, fmt.Appendf(nil, "milk\nbread\n%d\n", i))
					r.Platform.Write(scripted.Message{Conversation: "c" + user, User: user, Text: "read it", Attachments: []channels.Attachment{file}})
				} else {
					r.Platform.Say("c"+user, user, fmt.Sprintf("message %d", i))
				}
				for answers(r, user) == before {
					select {
					case <-done:
						return
					case <-time.After(50 * time.Millisecond):
					}
				}
			}
		})
	}
	return sync.OnceFunc(func() { close(done); over.Wait() })
}

// answers is how many somebody reads.
func answers(r *programtest.Rig, user string) (n int) {
	for _, text := range r.Shown(user) {
		if text != "" {
			n++
		}
	}
	return n
}

// finished are the turns that have ended and the deliveries that were sent, which stay as they are.
func finished(r *programtest.Rig) (all []any) {
	r.T.Helper()
	for _, t := range r.Turns() {
		if t.State == "done" {
			all = append(all, t)
		}
	}
	for _, d := range r.Deliveries() {
		if d.State == "sent" {
			all = append(all, d)
		}
	}
	return all
}

// Beside a program that answers, each turn, delivery and file of one moment is backed up, and
// restored into the other database, where the program goes on.
func TestBackupUnderLoadIsRestoredIntoTheOtherDatabase(t *testing.T) {
	t.Parallel()
	for kind, other := range map[string]string{"sqlite": "postgres", "postgres": "sqlite"} {
		t.Run(kind+" to "+other, func(t *testing.T) {
			t.Parallel()
			r, file := on(t, kind), filepath.Join(t.TempDir(), "backup")
			r.Up()
			end := load(r)
			defer end()
			r.Await("much was answered", programtest.Patience, func() bool { return len(r.Platform.Sent()) > 60 })
			before, files := finished(r), attachments(r)
			if len(before) < 60 || len(files) < 2 {
				t.Fatalf("before the backup there are %d turns and deliveries, and %d files", len(before), len(files))
			}
			sent := len(r.Platform.Sent())
			made := programtest.List[backup.Manifest](r, "backup", file, "--json")
			r.Await("it went on", programtest.Patience, func() bool { return len(r.Platform.Sent()) > sent+4 })
			end()
			r.Stop(20 * time.Second)

			back := on(t, other)
			testkit.Write(t, back.Config, strings.ReplaceAll(testkit.Read(t, back.Config), back.Addr, r.Addr))
			back.Platform = r.Platform
			if restored := programtest.List[backup.Manifest](back, "restore", file, "--json"); !reflect.DeepEqual(restored, made) {
				t.Errorf("backed up: %+v\nrestored: %+v", made, restored)
			}
			if again := programtest.List[backup.Manifest](back, "backup", file, "--force", "--json"); !slices.Equal(again.Tables, made.Tables) {
				t.Errorf("backed up: %+v\nof what was restored: %+v", made, again)
			}
			has := finished(back)
			for _, had := range before {
				if !slices.ContainsFunc(has, func(h any) bool { return reflect.DeepEqual(h, had) }) {
					t.Errorf("this is lost, or another: %+v", had)
				}
			}
			for _, name := range files {
				if !slices.Contains(attachments(back), name) {
					t.Errorf("file %s is lost", name)
				}
			}
			back.Prints("audit verify", 0, "")
			back.Up()
			back.Platform.Say("cu1", "u1", "hello again")
			back.Await("it goes on", programtest.Patience, func() bool { return slices.Contains(back.Shown("u1"), "heard: hello again") })
			back.Await("what was not over is", programtest.Patience, func() bool {
				return !slices.ContainsFunc(back.Turns(), func(t turns.Turn) bool { return t.State != "done" && t.State != "merged" })
			})
			back.Stop(20 * time.Second)
		})
	}
}

// turnsIn is how many turns the database of a rig has; 0: it is not there, or has no table yet.
func turnsIn(r *programtest.Rig, kind string) (n int) {
	r.T.Helper()
	address := "file:" + data(r, "switchboard.db") + "?mode=ro"
	if kind == "postgres" {
		address = regexp.MustCompile(`postgres://[^"]*`).FindString(testkit.Read(r.T, r.Config))
	} else if _, err := os.Stat(data(r, "switchboard.db")); err != nil {
		return 0
	}
	db, err := sql.Open(kind, address)
	if err != nil {
		r.T.Fatal(err)
	}
	defer db.Close()
	_ = db.QueryRowContext(r.T.Context(), "SELECT count(*) FROM turns").Scan(&n)
	return n
}

// A restore that is killed leaves nothing or all, and is run again.
func TestRestoreThatIsKilledLeavesNothingOrAll(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "backup")
	source := on(t, "sqlite")
	storetest.Before(t, "sqlite", data(source))
	made := programtest.List[backup.Manifest](source, "backup", file, "--json")
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, nothing, whole := on(t, kind), 0, 0
			again := func(r *programtest.Rig) { // the backup is of an older schema, to which migrations are added at the end
				t.Helper()
				out, errs, _ := r.Command("restore", file)
				if !strings.Contains(out, "restored already") && !strings.Contains(errs, "it is whole, and can be started") {
					t.Errorf("restored again: %s%s", out, errs)
				}
			}
			for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && (nothing < 12 || whole < 1); {
				cmd := exec.CommandContext(t.Context(), programtest.Build(t), "--config", r.Config, "restore", file)
				cmd.Dir, cmd.Env = r.Dir, programtest.Environ()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				kill := time.AfterFunc(rand.N(time.Duration(80+20*nothing)*time.Millisecond), func() { _ = cmd.Process.Kill() })
				err := cmd.Wait()
				kill.Stop()
				switch n := turnsIn(r, kind); {
				case n == 0 && err != nil:
					nothing++
				case n == made.Count("turns"):
					whole++
					again(r)
					r = on(t, kind)
				default:
					t.Fatalf("%d turns of %d, %v", n, made.Count("turns"), err)
				}
			}
			t.Logf("killed with nothing: %d, whole: %d", nothing, whole)
			r.Prints("restore "+file, 0, "restored, every row compared")
			again(r)
			if n := turnsIn(r, kind); n != made.Count("turns") {
				t.Errorf("%d turns", n)
			}
		})
	}
}

var allowOnce = regexp.MustCompile(`"label":"Allow once","code":"([^"]+)"`)

// A database of the build before, which was killed in the middle of its work, is opened by this
// one, which goes on with all of it.
func TestProgramGoesOnWithTheDatabaseOfTheBuildBefore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := on(t, "sqlite")
			r.Append("[retention]\nturns = \"876000h\"\nsessions = \"876000h\"\n") // it is older each day
			url := storetest.Before(t, kind, data(r))
			if kind == "postgres" {
				r.Append(fmt.Sprintf("[store]\nurl = %q\n", url))
			}
			for range 200 { // those that it has had would be taken for the same
				r.Platform.Say("cmallory", "mallory", "let me in")
			}
			r.Up()
			reads := func(user, text string) {
				t.Helper()
				r.Await(user+" reads "+text, programtest.Patience, func() bool {
					return slices.ContainsFunc(r.Shown(user), func(got string) bool { return strings.Contains(got, text) })
				})
			}
			reads("u1", "This comes late") // which it does
			reads("u1", "ran: sleep 50")
			reads("u1", "“after it”\n\nShall I still do it?")
			r.Platform.Say("cu2", "u2", "hello")
			reads("u2", "heard: hello")
			address := url // the question is not good for ever
			if kind == "sqlite" {
				address = "file:" + data(r, "switchboard.db") + "?mode=ro"
			}
			question := programtest.RowsOf(t, kind, address, "SELECT platform_id, extra FROM deliveries WHERE extra LIKE '%Allow once%' ORDER BY id DESC LIMIT 1")[0]
			r.Platform.PressCode("cu2", "u2", question[0], allowOnce.FindStringSubmatch(question[1])[1])
			r.Await("what was asked before is decided", programtest.Patience, func() bool {
				return !slices.ContainsFunc(r.Turns(), func(t turns.Turn) bool { return t.State == "waiting" })
			})
			if n := len(r.Turns()); n < 35 {
				t.Errorf("%d turns are left", n)
			}
			r.Stop(20 * time.Second)
		})
	}
}

// What is asked of backup and restore wrongly is refused with what to do, and nothing is changed.
func TestBackupAndRestoreRefuse(t *testing.T) {
	t.Parallel()
	r := on(t, "sqlite")
	r.Refuses("backup x", 1, "there is nothing in")
	storetest.Before(t, "sqlite", data(r))
	r.Refuses("backup x --with-key", 1, "secret.key is not there")
	r.Prints("backup x", 0, "backed up")
	if info, err := os.Stat(filepath.Join(r.Dir, "x")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	r.Refuses("backup x", 1, "--force replaces it")
	r.Refuses("backup nowhere/x", 1, "no such file or directory")
	r.Refuses("restore x", 1, "is there already; move it away")
	r.Refuses("restore switchboard.toml", 1, "is no backup, or is not as it was written")
	left, err := filepath.Glob(filepath.Join(r.Dir, "x.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}

	// The key goes along if it is wished, and never over another.
	_, _, code := r.CommandWith("a secret value", "secret", "set", "one")
	out, errs, _ := r.Command("backup", "with", "--with-key")
	if code != 0 || !strings.Contains(errs, "whoever has the file can read them") {
		t.Fatalf("%d %s%s", code, out, errs)
	}
	_, errs, _ = r.Command("backup", "without")
	if !strings.Contains(errs, "The key of the secrets is not in it: keep a copy of "+data(r, "secret.key")) {
		t.Errorf("%s", errs)
	}
	back := on(t, "sqlite")
	testkit.Write(t, filepath.Join(back.Dir, "with"), testkit.Read(t, filepath.Join(r.Dir, "with")))
	if err := os.MkdirAll(data(back), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, data(back, "secret.key"), "another")
	back.Refuses("restore with", 1, "is another key than the one in the backup")
	if err := os.Remove(data(back, "secret.key")); err != nil {
		t.Fatal(err)
	}
	back.Prints("restore with", 0, "restored")
	if testkit.Read(t, data(back, "secret.key")) != testkit.Read(t, data(r, "secret.key")) {
		t.Error("the key is another")
	}
	if info, err := os.Stat(data(back, "secret.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	// A pipe from one to the other, beside a running engine; a running target is refused.
	r.Up()
	piped := on(t, "sqlite")
	packed, errs, code := r.Command("backup", "-")
	if code != 0 || !strings.Contains(errs, "backed up") {
		t.Fatalf("%d %s", code, errs)
	}
	if out, errs, code := piped.CommandWith(packed, "restore", "-"); code != 0 || !strings.Contains(out, "restored") || !strings.Contains(errs, "The key of the secrets was not in it") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	r.Refuses("restore with", 1, "an engine is running on this database")
	r.Stop(20 * time.Second)
}
