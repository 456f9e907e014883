package main_test

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
	"switchboard/router/view"
)

// plannedBy is a rig whose planner is the fake model, and whose people are admins.
func plannedBy(t *testing.T, extra string, think func(llmtest.Request) llmtest.Reply, people ...string) *rig {
	t.Helper()
	r := newRig(t, people, "[router]\nrate_person = \"off\"\n[agent]\nplanner = \"fake/model\"\n"+extra)
	r.model.Handle(think)
	return r
}

// up starts the program and waits until it answers on its socket.
func (r *rig) up() {
	r.t.Helper()
	r.start()
	r.await("the engine is up", 20*time.Second, func() bool {
		r.mustLive()
		return r.alive()
	})
}

// ready is up, and waits until the log has all that is said at a start.
func (r *rig) ready() {
	r.t.Helper()
	r.up()
	r.await("the engine is ready", 20*time.Second, func() bool { return r.log.Has(`"msg":"ready"`) })
}

// ranBefore makes the bot one that was started long ago, so that it answers what is written
// before its next start. The program is down.
func (r *rig) ranBefore() {
	r.t.Helper()
	r.up()
	r.stop(10 * time.Second)
	r.write("UPDATE owners SET started_at = 0")
}

// alive says whether an engine listens in the data folder.
func (r *rig) alive() bool {
	sockets, _ := filepath.Glob(filepath.Join(r.dir, "data", "run", "*.sock"))
	for _, path := range sockets {
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// shown are the texts the platform shows in user's conversation.
func (r *rig) shown(user string) (texts []string) {
	for _, s := range r.platform.SentIn("c" + user) {
		texts = append(texts, strings.TrimSpace(s.Text))
	}
	return texts
}

// ask lets user write and returns the next text that the platform shows them.
func (r *rig) ask(user, text string) string {
	r.t.Helper()
	before := len(r.shown(user))
	r.platform.Say("c"+user, user, text)
	r.await("an answer to "+text, patience, func() bool { return len(r.shown(user)) > before })
	return r.shown(user)[before]
}

// answers lets user write and compares what they are answered.
func (r *rig) answers(user, text, want string) {
	r.t.Helper()
	if got := r.ask(user, text); got != want {
		r.t.Errorf("%s writes %q and reads %q, want %q", user, text, got, want)
	}
}

// reads compares all that the platform shows in user's conversation.
func (r *rig) reads(user string, want ...string) {
	r.t.Helper()
	if got := r.shown(user); !slices.Equal(got, want) {
		r.t.Errorf("%s reads %q, want %q", user, got, want)
	}
}

// gone wants no process with marker in its command line.
func gone(t testing.TB, marker string) {
	t.Helper()
	if left := marked(marker); len(left) > 0 {
		t.Errorf("commands live on: %v", left)
	}
}

// prints runs a command line that ends with code, and whose output holds all of want.
func (r *rig) prints(line string, code int, want ...string) {
	r.t.Helper()
	out, errs, got := r.command(strings.Fields(line)...)
	missing := slices.DeleteFunc(want, func(w string) bool { return strings.Contains(out, w) })
	if got != code || len(missing) > 0 {
		r.t.Errorf("%s: exit %d without %q\n%s%s", line, got, missing, out, errs)
	}
}

// refuses runs a command line that ends with code, prints nothing and says why.
func (r *rig) refuses(line string, code int, why string) {
	r.t.Helper()
	if out, errs, got := r.command(strings.Fields(line)...); got != code || out != "" || !strings.Contains(errs, why) {
		r.t.Errorf("%s: exit %d, stdout %q, stderr %q", line, got, out, errs)
	}
}

// turnOf is the only turn with that text.
func (r *rig) turnOf(text string) view.Turn {
	r.t.Helper()
	var found []view.Turn
	for _, turn := range r.turns() {
		if turn.Text == text {
			found = append(found, turn)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d turns say %q", len(found), text)
	}
	return list[view.Turn](r, "turn", "show", fmt.Sprint(found[0].ID), "--json")
}

// query asks the database file for rows of texts.
func (r *rig) query(query string, args ...any) [][]string {
	r.t.Helper()
	return rowsOf(r.t, "sqlite", "file:"+filepath.Join(r.dir, "data", "switchboard.db")+"?mode=ro&_pragma=busy_timeout(5000)", query, args...)
}

// count asks the database file for one number.
func (r *rig) count(query string, args ...any) int {
	r.t.Helper()
	n, err := strconv.Atoi(r.query(query, args...)[0][0])
	if err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// rowsOf asks a database for rows of texts.
func rowsOf(t testing.TB, driver, url, query string, args ...any) (list [][]string) {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query, args...)
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

// holds lists the files of the database (its log included) in which text stands.
func (r *rig) holds(text string) (files []string) {
	r.t.Helper()
	all, err := filepath.Glob(filepath.Join(r.dir, "data", "switchboard.db*"))
	if err != nil || len(all) == 0 {
		r.t.Fatalf("no database: %v", err)
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil {
			r.t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			files = append(files, filepath.Base(path))
		}
	}
	return files
}

// marked lists the processes with marker in their command line.
func marked(marker string) (pids []int) {
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

// marker names a test's commands among all processes.
func marker() string {
	markers.Lock()
	defer markers.Unlock()
	markers.n++
	return fmt.Sprintf("mark_%d_%d_%d", os.Getpid(), time.Now().UnixNano(), markers.n)
}

var statusLine = regexp.MustCompile(`(?m)^(VmHWM|VmRSS):\s+(\d+) kB$`)

// memory is the program's memory in KB: the most it ever had, and what it has.
func (r *rig) memory() (most, now int) {
	r.t.Helper()
	return memoryOf(r.t, r.cmd.Process.Pid)
}

func memoryOf(t testing.TB, pid int) (most, now int) {
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

// said is what the person wrote, as the planner sees it, without the fence.
func said(req llmtest.Request) string {
	var lines []string
	for line := range strings.Lines(req.Section("New message")) {
		if !strings.HasPrefix(line, "<<<data-") && !strings.HasPrefix(line, "data-") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// doing plans command at first; reviews ok what ended well, and after a replan, or
// as worker, tells how it went.
func doing(command string) func(llmtest.Request) llmtest.Reply {
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
