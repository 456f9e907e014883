// Package testkit is what tests of every package share: to wait, to read a log while it
// is written, to write and read files. A store is in store/storetest, a platform in
// channels/channelstest, a model in agent/llm/llmtest.
package testkit

import (
	"flag"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs a package's tests, so many at once unless -parallel says it, and fails when
// goroutines are left.
func Main(m *testing.M, atOnce int, except ...goleak.Option) {
	AtOnce(atOnce)
	goleak.VerifyTestMain(m, except...)
}

// ClosingConnections excepts that database/sql closes connections in the background.
var ClosingConnections = goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener")

// AtOnce sets how many tests run at once, for a TestMain whose tests mostly wait, unless
// -parallel says it.
func AtOnce(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}

// Patience is the least time that anything is waited for: a busy machine is no fault. It is less than the two
// minutes that a command may take, and commands that must not come to their end sleep longer than that: one that nobody ends is seen.
const Patience = 90 * time.Second

// Await waits until cond holds, which it asks now and then, and ends the test when it
// does not hold within that time, or within Patience if that is more.
func Await(t testing.TB, what string, within time.Duration, cond func() bool) {
	t.Helper()
	within = max(within, Patience)
	for deadline := time.Now().Add(within); ; {
		asked := time.Now()
		if cond() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		Pause(time.Since(asked))
	}
}

// Pause waits before something is asked once more that took so long: what starts a process for
// each answer is to leave the machine to what it waits for.
func Pause(took time.Duration) {
	time.Sleep(min(max(10*time.Millisecond, 5*took), 400*time.Millisecond))
}

// Within fails a test in which something took longer than most, which is far above what it
// takes and below what only the fault under test takes: a busy machine is no fault.
func Within(t testing.TB, took, most time.Duration) {
	t.Helper()
	if took > most {
		t.Errorf("it took %s, and may take %s", took, most)
		return
	}
	t.Logf("it took %s", took.Round(time.Millisecond))
}

// Write writes a file that only its owner may read.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Program writes a file that everybody may run, a script with "#!" for one. No other process is started meanwhile:
// it would hold the file open for writing, and what is so cannot be run.
func Program(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

// Read reads a file that is there.
func Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// FreeAddress is an address of this machine on which nobody listens. Its port is below those that
// Linux gives to whoever asks for any, so that none of them has it meanwhile: a server that stops can start
// there again.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(12000+rand.IntN(20000))))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}
