package storetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// ownMounts is set in a process that may mount because its namespace is its own.
const ownMounts = "STORETEST_OWN_MOUNTS"

// SmallDisk mounts a file system in memory at dir until the test ends; options are
// those of tmpfs, for instance "size=3m". Who is not root may not mount: the test is
// run again in a mount namespace of its own, fails here when it fails there, and is
// skipped here when it passed. Where that is not possible either it is skipped loudly.
func SmallDisk(t testing.TB, dir, options string) {
	t.Helper()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options)
	if errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 && os.Getenv(ownMounts) == "" {
		mountElsewhere(t)
	}
	if err == nil {
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		return
	}
	fmt.Fprintf(os.Stderr, "\n*** THE FULL DISK IS NOT TESTED: a small tmpfs cannot be mounted: %v ***\n\n", err)
	if os.Getenv("CI") == "true" && os.Geteuid() == 0 {
		t.Fatal("no tmpfs")
	}
	t.Skip("no tmpfs")
}

// ReadOnly makes what SmallDisk mounted at dir read-only.
func ReadOnly(t testing.TB, dir string) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

// mountElsewhere runs the test in a namespace and ends it here; it returns where there
// can be none.
func mountElsewhere(t testing.TB) {
	t.Helper()
	unshare := []string{"--user", "--map-current-user", "--keep-caps", "--mount"}
	if exec.CommandContext(t.Context(), "unshare", append(unshare, "true")...).Run() != nil {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	again := exec.CommandContext(t.Context(), "unshare", append(unshare, self, "-test.run="+name, "-test.v")...)
	again.Env = append(os.Environ(), ownMounts+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("in a mount namespace: %v\n%s", err, out)
	}
	t.Skip("it passed in a mount namespace of its own")
}
