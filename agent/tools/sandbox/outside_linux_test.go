package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"switchboard/agent/tools/workspace"
)

func init() {
	probes["datagrams"] = sendDatagrams
}

// sendDatagrams tries each kind of pair of sockets, and to send from it to the socket file outside.
func sendDatagrams() {
	to := &unix.SockaddrUnix{Name: os.Getenv("SOCKET")}
	for name, kind := range map[string]int{
		"stream": unix.SOCK_STREAM, "seqpacket": unix.SOCK_SEQPACKET, "dgram": unix.SOCK_DGRAM, "raw": unix.SOCK_RAW,
		"dgram at exec": unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, "stream at exec": unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK,
	} {
		pair, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err == nil && name != "stream" && name != "seqpacket" && name != "stream at exec" {
			_ = unix.Connect(pair[0], &unix.SockaddrUnix{Name: "\x00"}) // it may leave its pair
			err = fmt.Errorf("made, and sent: %w", unix.Sendto(pair[0], []byte("out"), 0, to))
		}
		fmt.Printf("%s: %v\n", name, err)
	}
	var queue uintptr
	_, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&queue)), 0)
	fmt.Printf("io_setup: %v\n", errno)
}

func TestPairsOfSocketsReachNobody(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := newWorkspace(t)
	copyFile(t, "/proc/self/exe", workspace+"/probe")
	socket := filepath.Join(filepath.Dir(workspace), "s")
	l, err := net.ListenPacket("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(socket, 0o777); err != nil {
		t.Fatal(err)
	}
	res := run(t.Context(), New(Config{}), Command{Line: "./probe | sort", Workspace: workspace, Env: []string{probeEnv + "=datagrams", "SOCKET=" + socket}})
	const want = "dgram at exec: operation not permitted\ndgram: operation not permitted\nio_setup: operation not permitted\n" +
		"raw: operation not permitted\nseqpacket: <nil>\nstream at exec: <nil>\nstream: <nil>\n"
	if res.Output != want {
		t.Errorf("got %+v", res)
	}
	_ = l.SetReadDeadline(time.Now())
	if n, _, err := l.ReadFrom(make([]byte, 10)); err == nil {
		t.Errorf("%d bytes came out", n)
	}
}

// elsewhere returns a workspace that does not lie in /tmp, so that its commands have a /tmp of their own.
func elsewhere(t *testing.T) string {
	t.Helper()
	above, err := os.MkdirTemp("/var/tmp", "switchboard-test-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(above) })
		err = os.Mkdir(above+"/workspace", 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return above + "/workspace"
}

func TestNothingOutsideHasAName(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	workspace := elsewhere(t)
	above := filepath.Dir(workspace)
	if err := os.Mkdir(filepath.Join(above, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret.key", "other/file"} {
		if err := os.WriteFile(filepath.Join(above, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(above, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	temporary, err := os.CreateTemp("/tmp", "switchboard-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(temporary.Name())
	defer temporary.Close()
	outside := []string{
		above + "/secret.key", above + "/other", above + "/other/file", above + "/socket", temporary.Name(),
		"/run", "/var/lib", "/var/tmp/*/other", "/root", "/home", "/sys", "/boot", "/etc/shadow", "/etc/hostname", "/proc/1/root/etc/shadow", "/dev/shm",
	}
	mine := fmt.Sprintf("/tmp/switchboard-mine-%d", os.Getpid())
	res := run(t.Context(), New(Config{}), Command{Workspace: workspace, Env: []string{"MINE=" + mine}, Line: fmt.Sprintf(`
		for f in '%s'; do ! [ -e "$f" ] || echo "seen: $f"; done
		(echo x > /new) 2>/dev/null; (mkdir ../beside) 2>/dev/null; [ -e /new -o -e ../beside ] && echo "made outside"
		echo kept > $MINE && cat $MINE; echo x > /dev/null; [ -L /dev/stdout ] && echo out; pwd; echo "$HOME $TMPDIR" | grep -c "^$(pwd) $(pwd)/"`, strings.Join(outside, "' '"))})
	if want := "kept\nout\n" + workspace + "\n1\n"; res.Output != want || !res.ok() {
		t.Errorf("got %+v, want %q", res, want)
	}
	if _, err := os.Stat(mine); err == nil {
		t.Errorf("%s is outside", mine)
	}
	if left, _ := filepath.Glob(workspace + "/.switchboard/tmp-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWorkspaceLimitHoldsForTemporaryFiles(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	s := New(Config{Space: &workspace.Space{Bytes: 20 << 20}, Timeout: time.Minute})
	res := run(t.Context(), s, Command{
		Workspace: elsewhere(t),
		Line:      "for i in 1 2 3; do head -c 9M /dev/zero > /tmp/$i; done; sleep 30",
	})
	if res.Kind != "workspace_full" {
		t.Errorf("got %+v", res)
	}
}

// Programs that people expect of a command work in it. Go says first that it has no session for its telemetry.
func TestLanguagesWork(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	for _, c := range []struct{ name, needs, line, want string }{
		{"node", "node", `cat > a.js <<'end'
			const { execFileSync, fork } = require('child_process'), fs = require('fs'), os = require('os'), path = require('path')
			const { Worker, isMainThread, parentPort } = require('worker_threads')
			if (process.argv[2]) { process.send('child'); process.exit() }
			if (!isMainThread) { parentPort.postMessage('worker'); return }
			fs.writeFileSync(path.join(os.tmpdir(), 'a'), 'x')
			const shared = new Int32Array(new SharedArrayBuffer(4)); Atomics.add(shared, 0, 1)
			const said = [execFileSync('echo', ['echo']).toString().trim(), shared[0]]
			new Worker(__filename).on('message', m => { said.push(m); fork(__filename, ['c']).on('message', m => {
				said.push(m); fetch('http://127.0.0.1:1').catch(() => console.log(said.join(' '))) }) })
end
			node a.js`, "echo 1 worker child\n"},
		{"python", "python3", `cat > a.py <<'end'
import asyncio, subprocess, tempfile, threading, mmap, os
async def main():
    p = await asyncio.create_subprocess_exec('echo', 'async', stdout=subprocess.PIPE)
    return (await p.communicate())[0].decode().strip()
with tempfile.TemporaryFile() as f: f.write(b'x')
t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()
print(asyncio.run(main()), subprocess.check_output(['echo', 'sub']).decode().strip(), os.path.exists('/tmp'))
end
			python3 a.py`, "thread\nasync sub True\n"},
		{"git", "git", `git init -q r && cd r && git config user.name a && git config user.email a@b && echo x > f && git add f && git commit -qm one &&
			git gc -q && git clone -q . ../c && git -C ../c log --format=%s`, "one\n"},
		{"gcc", "gcc", `printf '#include <stdio.h>\nint main(){puts("built");}' > a.c && gcc -O1 -o a a.c && ./a`, "built\n"},
		{"go", "go", `mkdir m && cd m && printf 'module m\n\ngo 1.20\n' > go.mod && printf 'package main\n\nfunc main() { println("built") }\n' > main.go &&
			GOFLAGS=-p=1 GOTOOLCHAIN=local go build -o ../b . && ../b`, "built\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line := c.line
			if res := run(t.Context(), New(Config{}), Command{Line: "command -v " + c.needs, Workspace: newWorkspace(t)}); !res.ok() {
				at, err := exec.LookPath(c.needs)
				if err == nil {
					at, err = filepath.EvalSymlinks(at)
				}
				if err != nil || !strings.HasPrefix(at, "/usr/") {
					t.Skipf("NOT TRIED: %s is not installed where commands see it", c.needs)
				}
				line = "PATH=$PATH:" + filepath.Dir(at) + "; " + line
			}
			const most = 10 * time.Minute // Go builds its library first
			ctx, stop := context.WithTimeout(t.Context(), most)
			defer stop()
			res := run(ctx, New(Config{Timeout: most}), Command{Line: line, Workspace: newWorkspace(t)})
			if !res.ok() || !strings.HasSuffix(res.Output, c.want) {
				t.Errorf("got %+v", res)
			}
		})
	}
}
