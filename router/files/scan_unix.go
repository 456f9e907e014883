//go:build unix

package files

import (
	"os/exec"
	"syscall"
)

// endAll makes cmd's end that of all it started.
func endAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
