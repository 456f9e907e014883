// Command mutate proves that the tests of docs/promises.md can fail: for each
// live promise it breaks the code as written there, in a scratch copy of the
// repository, and wants the named test red. A test that is red beforehand, a
// mutation that does not compile, and a test that stays green are failures.
//
//	go run ./docs/mutate -run 'P1|L.fence' -j 1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"switchboard/docs/promises"
)

func main() {
	run := flag.String("run", "", "only promises whose id matches this expression")
	list := flag.Bool("list", false, "list the mutations and whether they still apply; run nothing")
	workers := flag.Int("j", 1, "scratch copies at once")
	root := flag.String("root", ".", "root of the repository")
	timeout := flag.String("timeout", "5m", "of one test; a hang counts as red")
	verbose := flag.Bool("v", false, "show the tests' output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := mutate(ctx, *root, *run, *timeout, max(*workers, 1), *list, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// A job is one mutation and what became of it.
type job struct {
	id       string
	mutation promises.Mutation
	result   string
	ok       bool
	took     time.Duration
	output   string
}

func mutate(ctx context.Context, root, filter, timeout string, workers int, list, verbose bool) (bool, error) {
	want, err := regexp.Compile(filter)
	if err != nil {
		return false, fmt.Errorf("-run: %w", err)
	}
	all, err := promises.Read(filepath.Join(root, "docs", "promises.md"))
	if err != nil {
		return false, err
	}
	var jobs []*job
	for _, p := range all {
		if !p.Live() || !want.MatchString(p.ID) {
			continue
		}
		if len(p.Mutations) == 0 {
			jobs = append(jobs, &job{id: p.ID, result: "has no mutation"})
		}
		for _, m := range p.Mutations {
			j := &job{id: p.ID, mutation: m, result: "not run", ok: list}
			if err := m.Check(root); err != nil {
				j.ok, j.result = false, "stale: "+err.Error()
			}
			jobs = append(jobs, j)
		}
	}
	if !list {
		if err := runAll(ctx, root, timeout, workers, jobs); err != nil {
			return false, err
		}
	}
	return report(jobs, verbose), nil
}

func report(jobs []*job, verbose bool) bool {
	good := 0
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROMISE\tFILE\tTEST\tTOOK\tRESULT")
	for _, j := range jobs {
		if j.ok {
			good++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", j.id, j.mutation.File, j.mutation.Test, j.took.Round(time.Second/10), j.result)
	}
	w.Flush()
	fmt.Printf("%d of %d\n", good, len(jobs))
	for _, j := range jobs {
		if (verbose || !j.ok) && j.output != "" {
			fmt.Printf("\n--- %s: %s\n%s", j.id, j.result, j.output)
		}
	}
	return good == len(jobs)
}

// runAll works off the jobs in as many scratch copies as there are workers.
func runAll(ctx context.Context, root, timeout string, workers int, jobs []*job) error {
	queue := make(chan *job)
	faults := make([]error, workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			faults[i] = work(ctx, root, timeout, queue)
			if faults[i] != nil {
				cancel()
			}
		})
	}
	for _, j := range jobs {
		if j.mutation.File == "" || strings.HasPrefix(j.result, "stale") {
			continue
		}
		select {
		case queue <- j:
		case <-ctx.Done():
		}
	}
	close(queue)
	wg.Wait()
	return errors.Join(append(faults, context.Cause(ctx))...)
}

func work(ctx context.Context, root, timeout string, queue <-chan *job) error {
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := copyTree(root, scratch); err != nil {
		return fmt.Errorf("copy the repository: %w", err)
	}
	green := map[string]bool{} // tests seen green without any mutation
	for j := range queue {
		if ctx.Err() != nil {
			return nil
		}
		if err := one(ctx, scratch, timeout, j, green); err != nil {
			return fmt.Errorf("%s: %w", j.id, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", j.id, j.result)
	}
	return nil
}

// one tries a single mutation; an error means that the scratch copy is unusable.
func one(ctx context.Context, scratch, timeout string, j *job, green map[string]bool) error {
	began := time.Now()
	defer func() { j.took = time.Since(began) }()
	if !green[j.mutation.Test] {
		output, err := test(ctx, scratch, timeout, j.mutation.Test)
		if err != nil || strings.Contains(output, "no tests to run") || strings.Contains(output, "[no test files]") {
			j.result, j.output = "its test is red, or absent, without the mutation", output
			return nil
		}
		green[j.mutation.Test] = true
	}
	undo, err := j.mutation.Apply(scratch)
	if err != nil {
		return err
	}
	output, err := test(ctx, scratch, timeout, j.mutation.Test)
	j.output = output
	switch {
	case err == nil:
		j.result = "NOT CAUGHT: the test stayed green"
	case strings.Contains(output, "[build failed]"), strings.Contains(output, "[setup failed]"):
		j.result = "the mutation does not compile"
	case strings.Contains(output, "panic: test timed out"):
		j.ok, j.result = true, "caught (hung)"
	default:
		j.ok, j.result = true, "caught"
	}
	return undo()
}

// test runs go test with the arguments in dir. Red is an error.
func test(ctx context.Context, dir, timeout, args string) (string, error) {
	all := append([]string{"test", "-count=1", "-timeout=" + timeout}, strings.Fields(args)...)
	cmd := exec.CommandContext(ctx, "go", all...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// copyTree copies what a build needs: everything but dot folders, data and
// binaries.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		top := filepath.Dir(rel) == "."
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" || top && d.Name() == "data"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || top && d.Name() == "switchboard":
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
