package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstPoll = 5 * time.Millisecond   // when a new tree is polled first
	lastPoll  = 100 * time.Millisecond // the pause between polls grows up to this
)

// maxStopped bounds how long kill tries to stop a tree before it kills it.
const maxStopped = 20_000

// A tree is a running command, seen from its helper.
type tree struct {
	main    int                  // the process the helper started
	boxed   bool                 // main is process 1 of a namespace: with it all others die
	ended   chan unix.WaitStatus // how main ended
	gone    chan struct{}        // closed when the helper has no child left
	reports chan stageReport     // what the stages said, all at once
}

func startTree(name string, spec stageSpec, group *os.File) (*tree, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	process, err := startStage(name, spec, cloneAttr(spec, group), w)
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	t := &tree{
		main: process.Pid, boxed: spec.Confined, ended: make(chan unix.WaitStatus, 1), gone: make(chan struct{}),
		reports: make(chan stageReport, 1),
	}
	go t.reap() // both end before watch returns
	go t.listen(r)
	return t, nil
}

// reap waits for every child, the adopted ones too.
func (t *tree) reap() {
	defer close(t.gone)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		case pid == t.main:
			t.ended <- status
		}
	}
}

// listen joins the stages' reports until no stage is left.
func (t *tree) listen(r *os.File) {
	defer r.Close()
	var all stageReport
	for dec := json.NewDecoder(r); dec.Decode(&all) == nil; {
	}
	t.reports <- all
}

// watch returns when nothing of the tree is left, having killed it when there
// was a reason to.
func (t *tree) watch(spec helperSpec, root *os.Root, until *atomic.Pointer[lease], closed <-chan struct{}) Outcome {
	var status unix.WaitStatus
	kind := ""
	timeout := time.NewTimer(spec.Timeout)
	defer timeout.Stop()
	pause := firstPoll
	poll := time.NewTimer(pause)
	defer poll.Stop()
	watching, stop := context.WithCancel(context.Background())
	defer stop()
	over := make(chan string, 1)
	if spec.MaxBytes > 0 {
		go watchSpace(watching, root, spec, over) // ends with the process at the latest
	}
	for done := false; !done; {
		select {
		case status = <-t.ended:
			done = true
		case <-closed:
			kind, done = "closed", true
		case kind = <-over:
			done = true
		case <-timeout.C:
			kind, done = "timeout", true
		case <-poll.C:
			if kind = t.excess(spec); until.Load().passed() {
				kind = "interrupted"
			}
			done = kind != ""
			pause = min(2*pause, lastPoll)
			poll.Reset(pause)
		}
	}
	t.kill()
	said := <-t.reports
	o := Outcome{Kind: kind, Proc: said.Proc}
	switch {
	case kind != "":
	case said.Error != "":
		o.Kind, o.Detail = "sandbox", said.Error
	case said.Status != nil:
		o.settle(*said.Status)
	default:
		o.settle(status)
	}
	return o
}

func (o *Outcome) settle(status unix.WaitStatus) {
	if status.Signaled() {
		sig := status.Signal()
		o.Kind, o.Status = "signal", int(sig)
		o.Detail = strings.TrimSpace(unix.SignalName(sig) + " (" + sig.String() + ")")
		return
	}
	o.Kind, o.Status = "exit_status", status.ExitStatus()
}

// kill ends all descendants and returns when none is left.
func (t *tree) kill() {
	// Of those that fork faster than they can be listed, each one stopped stays
	// below the limit of processes and forks no more. Those that are in one group,
	// as everything a plain shell starts, are all stopped by the first signal.
	for stopped := map[int]bool{}; !t.boxed && len(stopped) < maxStopped; {
		fresh := 0
		for _, p := range signalTree(unix.SIGSTOP, stopped) {
			if !stopped[p.pid] && !p.zombie {
				stopped[p.pid] = true
				fresh++
			}
		}
		if fresh == 0 {
			break
		}
	}
	for {
		signalTree(unix.SIGKILL, nil)
		select {
		case <-t.gone:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// signalTree signals all descendants but those in except, by whole groups,
// which no fork escapes, and returns them. Where process 1 of a namespace is
// among them, killing it kills all others at once.
func signalTree(sig unix.Signal, except map[int]bool) []process {
	list, err := descendants()
	if err != nil {
		return nil
	}
	done := map[int]bool{unix.Getpgrp(): true}
	for _, p := range list {
		if except[p.pid] {
			continue
		}
		if !done[p.group] {
			done[p.group] = true
			_ = unix.Kill(-p.group, sig)
		}
		_ = unix.Kill(p.pid, sig)
	}
	return list
}

// excess says which limit the tree exceeds; empty: none.
func (t *tree) excess(spec helperSpec) string {
	list, err := descendants()
	if err != nil {
		return ""
	}
	processes, threads, resident, kernel := 0, 0, int64(0), t.bufferRoom()
	for _, p := range list {
		if p.zombie {
			continue
		}
		processes++
		threads += p.threads
		resident += p.resident
		kernel += p.kibibytes("status", "VmPTE:", 0)
		if kernel <= spec.MemoryLimit { // it takes long where it matters
			count, _ := p.mappings()
			kernel += count * mappingCost
		}
	}
	if t.boxed {
		processes-- // init is ours
	}
	if processes > spec.MaxProcesses || !t.boxed && threads > spec.MaxTasks {
		return "process_limit"
	}
	// Resident pages that are shared count once a process; only when that is too
	// much does the exact and slower sum decide.
	if resident+kernel > spec.MemoryLimit && proportional(list)+kernel > spec.MemoryLimit {
		return "memory_limit"
	}
	return ""
}

// proportional sums the memory of processes, shared pages divided among those
// who share them.
func proportional(list []process) int64 {
	sum := int64(0)
	for _, p := range list {
		sum += p.kibibytes("smaps_rollup", "Pss:", p.resident)
	}
	return sum
}
