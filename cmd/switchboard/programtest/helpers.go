//go:build linux

package programtest

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look into the file from outside

	"switchboard/agent/llm/llmtest"
	"switchboard/internal/testkit"
	"switchboard/router/turns"
)

// PairCode is how a code looks that people type back.
var PairCode = regexp.MustCompile(`\b[A-Z2-7]{4}-[A-Z2-7]{4}(?:-[A-Z2-7]{4})?\b`)

// Counts waits until a setting is so in the running program.
func (r *Rig) Counts(key, value string) {
	r.T.Helper()
	r.Await(key+" is "+value, 20*time.Second, func() bool {
		out, _, _ := r.Command("config", "get", key)
		return strings.Contains(out, value)
	})
}

// Says finds a line of the doctor's report.
func Says(out, line string) bool { return regexp.MustCompile(`(?m)^` + line).MatchString(out) }

// FillDisk writes until nothing fits any more.
func FillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}

// PlannedBy is a rig whose planner is the fake model, and whose people are admins.
func PlannedBy(t *testing.T, extra string, think func(llmtest.Request) llmtest.Reply, people ...string) *Rig {
	t.Helper()
	r := NewRig(t, people, "[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n"+extra)
	r.Model.Handle(think)
	return r
}

// Up starts the program and waits until it answers on its socket.
func (r *Rig) Up() {
	r.T.Helper()
	r.Start()
	r.Await("the engine is up", 20*time.Second, func() bool {
		r.MustLive()
		return r.Alive()
	})
}

// Ready is up, and waits until the log has all that is said at a start.
func (r *Rig) Ready() {
	r.T.Helper()
	before := r.Server.Ready()
	r.Up()
	r.Await("the engine is ready", 20*time.Second, func() bool { return r.Server.Ready() > before })
}

// RanBefore makes the bot one that was started long ago, so that it answers what is written
// before its next start. The program is down.
func (r *Rig) RanBefore() {
	r.T.Helper()
	r.Up()
	r.Stop(10 * time.Second)
	r.Write("UPDATE owners SET started_at = 0")
}

// Alive says whether an engine listens in the data folder.
func (r *Rig) Alive() bool {
	sockets, _ := filepath.Glob(filepath.Join(r.Dir, "data", "run", "*.sock"))
	for _, path := range sockets {
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// Shown are the texts the platform shows in user's conversation.
func (r *Rig) Shown(user string) (texts []string) {
	for _, s := range r.Platform.SentIn("c" + user) {
		texts = append(texts, strings.TrimSpace(s.Text))
	}
	return texts
}

// Ask lets user write and returns the next text that the platform shows them.
func (r *Rig) Ask(user, text string) string {
	r.T.Helper()
	before := len(r.Shown(user))
	r.Platform.Say("c"+user, user, text)
	r.Await("an answer to "+text, Patience, func() bool { return len(r.Shown(user)) > before })
	return r.Shown(user)[before]
}

// Answers lets user write and compares what they are answered.
func (r *Rig) Answers(user, text, want string) {
	r.T.Helper()
	if got := r.Ask(user, text); got != want {
		r.T.Errorf("%s writes %q and reads %q, want %q", user, text, got, want)
	}
}

// Reads compares all that the platform shows in user's conversation.
func (r *Rig) Reads(user string, want ...string) {
	r.T.Helper()
	if got := r.Shown(user); !slices.Equal(got, want) {
		r.T.Errorf("%s reads %q, want %q", user, got, want)
	}
}

// Gone wants no process with marker in its command line.
func Gone(t testing.TB, marker string) {
	t.Helper()
	if left := Marked(marker); len(left) > 0 {
		t.Errorf("commands live on: %v", left)
	}
}

// Prints runs a command line that ends with code, and whose output holds all of want.
func (r *Rig) Prints(line string, code int, want ...string) {
	r.T.Helper()
	out, errs, got := r.Command(strings.Fields(line)...)
	missing := slices.DeleteFunc(want, func(w string) bool { return strings.Contains(out, w) })
	if got != code || len(missing) > 0 {
		r.T.Errorf("%s: exit %d without %q\n%s%s", line, got, missing, out, errs)
	}
}

// Refuses runs a command line that ends with code, prints nothing and says why.
func (r *Rig) Refuses(line string, code int, why string) {
	r.T.Helper()
	if out, errs, got := r.Command(strings.Fields(line)...); got != code || out != "" || !strings.Contains(errs, why) {
		r.T.Errorf("%s: exit %d, stdout %q, stderr %q", line, got, out, errs)
	}
}

// TurnOf is the only turn with that text.
func (r *Rig) TurnOf(text string) turns.Turn {
	r.T.Helper()
	var found []turns.Turn
	for _, turn := range r.Turns() {
		if turn.Text == text {
			found = append(found, turn)
		}
	}
	if len(found) != 1 {
		r.T.Fatalf("%d turns say %q", len(found), text)
	}
	return List[turns.Turn](r, "turn", "show", fmt.Sprint(found[0].ID), "--json")
}

// Query asks the database file for rows of texts.
func (r *Rig) Query(query string, args ...any) [][]string {
	r.T.Helper()
	return RowsOf(r.T, "sqlite", "file:"+filepath.Join(r.Dir, "data", "switchboard.db")+"?mode=ro&_pragma=busy_timeout(5000)", query, args...)
}

// Count asks the database file for one number.
func (r *Rig) Count(query string, args ...any) int {
	r.T.Helper()
	n, err := strconv.Atoi(r.Query(query, args...)[0][0])
	if err != nil {
		r.T.Fatalf("%s: %v", query, err)
	}
	return n
}

// kept are the tests' own connections to servers: a new one costs the server more than most questions.
var kept struct {
	sync.Mutex
	list map[keeper]*sql.DB
}

type keeper struct {
	t   testing.TB
	url string
}

// keep is the connection of a test to a server, which is kept until the test ends.
func keep(t testing.TB, url string) *sql.DB {
	t.Helper()
	kept.Lock()
	defer kept.Unlock()
	k := keeper{t, url}
	if db := kept.list[k]; db != nil {
		return db
	}
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(1)
	if kept.list == nil {
		kept.list = map[keeper]*sql.DB{}
	}
	kept.list[k] = db
	t.Cleanup(func() {
		kept.Lock()
		defer kept.Unlock()
		delete(kept.list, k)
		db.Close()
	})
	return db
}

// RowsOf asks a database for rows of texts.
func RowsOf(t testing.TB, driver, url, query string, args ...any) (list [][]string) {
	t.Helper()
	var db *sql.DB
	if driver == "postgres" {
		db = keep(t, url)
	} else {
		var err error
		if db, err = sql.Open(driver, url); err != nil {
			t.Fatal(err)
		}
		defer db.Close()
	}
	rows, err := db.Query(query, args...)
	if err != nil && driver == "postgres" { // the connection may be one that did not outlive a server
		rows, err = db.Query(query, args...)
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return list
}

// Holds lists the files of the database (its log included) in which text stands.
func (r *Rig) Holds(text string) (files []string) {
	r.T.Helper()
	all, err := filepath.Glob(filepath.Join(r.Dir, "data", "switchboard.db*"))
	if err != nil || len(all) == 0 {
		r.T.Fatalf("no database: %v", err)
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil {
			r.T.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			files = append(files, filepath.Base(path))
		}
	}
	return files
}

// Marked lists the processes with marker in their command line.
func Marked(marker string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), marker) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

var markers struct {
	sync.Mutex
	n int
}

// Marker names a test's commands among all processes.
func Marker() string {
	markers.Lock()
	defer markers.Unlock()
	markers.n++
	return fmt.Sprintf("mark_%d_%d_%d", os.Getpid(), time.Now().UnixNano(), markers.n)
}

var statusLine = regexp.MustCompile(`(?m)^(VmHWM|VmRSS):\s+(\d+) kB$`)

// Memory is the program's memory in KB: the most it ever had, and what it has.
func (r *Rig) Memory() (most, now int) {
	r.T.Helper()
	return MemoryOf(r.T, r.Cmd.Process.Pid)
}

// MemoryOf is the memory of a process in KB: the most it ever had, and what it has.
func MemoryOf(t testing.TB, pid int) (most, now int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range statusLine.FindAllStringSubmatch(string(data), -1) {
		n, _ := strconv.Atoi(m[2])
		if m[1] == "VmHWM" {
			most = n
		} else {
			now = n
		}
	}
	return most, now
}

// Said is what the person wrote, as the planner sees it, without the fence.
func Said(req llmtest.Request) string {
	var lines []string
	for line := range strings.Lines(req.Section("New message")) {
		if !strings.HasPrefix(line, "<<<data-") && !strings.HasPrefix(line, "data-") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Doing plans command at first; reviews ok what ended well, and after a replan, or
// as worker, tells how it went.
func Doing(command string) func(llmtest.Request) llmtest.Reply {
	return func(req llmtest.Request) llmtest.Reply {
		switch {
		case req.Role == "planner" && req.Section("What failed") != "":
			return llmtest.Text(llmtest.Plan("be honest", llmtest.Answer("It was cut off.")))
		case req.Role == "planner":
			return llmtest.Text(llmtest.Plan("run it", llmtest.Exec(command, "it ends well"), llmtest.Msg("Say that it is done.")))
		case req.Role == "reviewer" && strings.Contains(req.Section("Output"), "Ended: ok"):
			return llmtest.Text(llmtest.ReviewOK())
		case req.Role == "reviewer":
			return llmtest.Text(llmtest.Replan("it did not end well"))
		}
		return llmtest.Text("It is done.")
	}
}

// Bare is a rig with nothing set: the offline model, SQLite, no file.
func Bare(t *testing.T) *Rig {
	t.Helper()
	Build(t)
	dir := t.TempDir()
	r := &Rig{Server: newServer(t, "", program.path, dir, filepath.Join(dir, "switchboard.toml"))}
	testkit.Write(t, r.Config, fmt.Sprintf("data_dir = %q\n", filepath.Join(dir, "data")))
	return r
}

// Write changes rows of the database file, of which there have to be some.
func (r *Rig) Write(query string, args ...any) {
	r.T.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.Dir, "data", "switchboard.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		r.T.Fatal(err)
	}
	defer db.Close()
	done, err := db.Exec(query, args...)
	if err != nil {
		r.T.Fatal(err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		r.T.Fatalf("%s: %d rows, %v", query, n, err)
	}
}

// Says waits until the log has it so often.
func (r *Rig) Says(what string, times int) {
	r.T.Helper()
	r.Await(fmt.Sprintf("%d times in the log: %s", times, what), 20*time.Second, func() bool { return strings.Count(r.Log.String(), what) >= times })
}
