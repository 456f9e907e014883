// Command mutate shows that the tests of docs/promises.md can fail. It copies the last commit to a
// temporary folder, breaks one promise at a time with its patch in docs/mutations, and wants the
// test that the page names to be green before and red after.
//
//	go run ./docs/mutate -run '^P[12]\.'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// row is a promise in the table of the page: its ID, words, package and test.
var row = regexp.MustCompile(`(?m)^\| (P[\w.-]+) \| (.+) \| (\S+) \| (Test\w+) \|$`)

func main() {
	run := flag.String("run", "", "only promises whose ID matches this `regexp`")
	list := flag.Bool("list", false, "list the promises; run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mutate(ctx, *run, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// mutate is called at the root of the repository.
func mutate(ctx context.Context, run string, list bool) error {
	want, err := regexp.Compile(run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	page, err := os.ReadFile("docs/promises.md")
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if !list {
		if err := git(ctx, ".", "clone", "--quiet", "--shared", ".", scratch); err != nil {
			return err
		}
	}
	green, red, all := map[string]bool{}, 0, 0
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		id, words, pkg, test := m[1], m[2], m[3], m[4]
		if !want.MatchString(id) || ctx.Err() != nil {
			continue
		}
		all++
		if list {
			fmt.Printf("%-28s %s %s\n    %s\n", id, pkg, test, words)
			continue
		}
		began := time.Now()
		if err := breaks(ctx, scratch, id, pkg, test, green); err != nil {
			fmt.Printf("FAIL  %-28s %v\n", id, err)
			continue
		}
		red++
		fmt.Printf("red   %-28s %s %s in %s\n", id, pkg, test, time.Since(began).Round(time.Second/10))
	}
	if red < all && !list {
		return fmt.Errorf("%d of %d mutations were not red", all-red, all)
	}
	return ctx.Err()
}

// breaks is nil if the test is green, and red with the patch of that promise. Tests that were seen
// green are noted in green.
func breaks(ctx context.Context, scratch, id, pkg, test string, green map[string]bool) (err error) {
	goTest := func() (string, error) {
		cmd := exec.CommandContext(ctx, "go", "test", "./"+pkg, "-run", "^"+test+"$", "-count", "1", "-timeout", "1m") // what hangs is red
		cmd.Dir = scratch
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if !green[pkg+" "+test] {
		if out, err := goTest(); err != nil || strings.Contains(out, "no tests to run") {
			return fmt.Errorf("%s is not green without the patch:\n%s", test, out)
		}
		green[pkg+" "+test] = true
	}
	patch, err := filepath.Abs(filepath.Join("docs/mutations", id+".patch"))
	if err != nil {
		return err
	}
	if err := git(ctx, scratch, "apply", patch); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, git(context.WithoutCancel(ctx), scratch, "apply", "-R", patch)) }()
	out, err := goTest()
	if err == nil || strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") {
		return fmt.Errorf("%s stays green with the patch, or does not compile:\n%s", test, out)
	}
	return ctx.Err()
}

func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return nil
}
