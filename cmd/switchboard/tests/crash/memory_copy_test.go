package crash_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// A replica is a second bot that is fed with the memory of the first, over a line that is killed all the time, as it is itself.
type replica struct {
	*programtest.Rig
	first   *programtest.Rig
	query   func(string, ...any) [][]string // the second's
	stopped chan struct{}
	ended   sync.WaitGroup
}

// newReplica makes one over a database; empty: SQLite.
func newReplica(t *testing.T, first *programtest.Rig, url string) *replica {
	t.Helper()
	p := &replica{Rig: programtest.Bare(t), first: first, stopped: make(chan struct{})}
	p.query = p.Query
	if url != "" {
		p.Append(fmt.Sprintf("[store]\nurl = %q\n", url))
		p.query = func(query string, args ...any) [][]string {
			return programtest.RowsOf(t, "postgres", url, query, args...)
		}
	}
	p.Ready()
	return p
}

// line runs "memory follow" of the first into "memory import" of the second.
func (p *replica) line(from string) (kill func()) {
	r, w, err := os.Pipe()
	if err != nil {
		p.T.Error(err)
		return func() {}
	}
	run := func(of *programtest.Rig, in, out *os.File, args ...string) *exec.Cmd {
		cmd := exec.Command(programtest.Build(p.T), append([]string{"--config", of.Config, "memory"}, args...)...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = of.Dir, programtest.Environ(), &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Stderr = of.Log
		if in != nil {
			cmd.Stdin = in
		}
		if out != nil {
			cmd.Stdout = out
		}
		if err := cmd.Start(); err != nil {
			p.T.Error(err)
		}
		return cmd
	}
	both := []*exec.Cmd{run(p.first, nil, w, "follow", "--from", from), run(p.Rig, r, nil, "import", "--records", "-")}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		p.T.Error(err)
	}
	return func() {
		for _, i := range rand.Perm(2) {
			_ = both[i].Process.Kill()
			_ = both[i].Wait()
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		}
	}
}

// at is up to which record it is, 0 where it has not all memories yet.
func (p *replica) at() (n string) {
	for _, row := range p.query("SELECT n FROM memory_copy WHERE come_to = -1") {
		n = row[0]
	}
	return n
}

// follow feeds it until stop, with kills of the line and of itself.
func (p *replica) follow() (stop func()) {
	p.ended.Go(func() {
		for {
			from := "0"
			if at := p.at(); at != "" && rand.IntN(3) > 0 {
				var n int64
				_, _ = fmt.Sscan(at, &n)
				from = fmt.Sprint(n + 1)
			}
			kill := p.line(from)
			select {
			case <-p.stopped:
				kill()
				return
			case <-time.After(time.Duration(500+rand.IntN(3000)) * time.Millisecond):
			}
			if rand.IntN(3) == 0 {
				p.Kill()
				p.Start()
			}
			kill()
		}
	})
	return func() { close(p.stopped); p.ended.Wait() }
}

// sameMemories are all columns in which the second is as the first, and what is found.
var sameMemories = []string{
	`SELECT id, kind, scope, category, key, text, state, outcome, person, source, CAST(confidence * 1000 AS integer), taint, kept = TRUE, always = TRUE,
		coalesce(superseded_by, 0), created_at, updated_at, expires_at, aged_at FROM memories ORDER BY id`,
	`SELECT ref, scope, mark, words FROM recalled WHERE kind = 'memory' ORDER BY ref`,
}

// wantSame lets the line run until the second is as far as the first, and wants the same in both.
func (p *replica) wantSame(first func(string, ...any) [][]string) {
	p.T.Helper()
	kill := p.line("0")
	defer kill()
	p.Await("the second bot has all records", time.Minute, func() bool { return p.at() == first("SELECT max(n) FROM memory_wal")[0][0] })
	for _, query := range sameMemories {
		a, b := first(query), p.query(query)
		if len(a) == 0 || fmt.Sprint(a) != fmt.Sprint(b) {
			p.T.Errorf("the second bot has %d rows, the first %d:\n%s\n\n%s", len(b), len(a), lined(b), lined(a))
		}
	}
	p.Stop(20 * time.Second)
}

func lined(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(strings.Join(row, " | ") + "\n")
	}
	return b.String()
}
