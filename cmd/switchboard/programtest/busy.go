//go:build linux

package programtest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// busyPlaces is how many tests may keep the machine busy at once.
const busyPlaces = 3

// Busy has a test wait for its place among the few that keep the machine busy as long as they run;
// beside them there is room for those that mostly wait. Packages run side by side, each in its own
// process, so the places are locked files: a process that ends leaves its own.
func Busy(t testing.TB) {
	t.Helper()
	var places []*os.File
	for i := range busyPlaces {
		path := filepath.Join(os.TempDir(), fmt.Sprintf("switchboard-test-busy-%d-%d", os.Getuid(), i))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		places = append(places, f)
	}
	for {
		for _, f := range places {
			if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}
