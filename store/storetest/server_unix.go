//go:build unix

package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// watch starts the server when it is told that the cluster is made, and ends it
// with its folder when standard input closes, which happens however this process
// ends. An initdb that outlives this process fails when its folder goes.
const watch = `
if read -r _; then
	"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c full_page_writes=off \
		-c max_connections=400 -c max_wal_size=256MB -c shared_buffers=64MB -c deadlock_timeout=100ms >"$2/log" 2>&1 &
	pid=$!
	read -r _
	kill -QUIT $pid
	wait $pid
fi
cd /
for i in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$2" 2>/dev/null
	sleep 0.2
	[ -e "$2" ] || break
done
`

// start makes a cluster in a temporary folder and runs it as an unprivileged
// user, reachable by a socket in that folder alone.
func start(bin string) (address string, err error) {
	dir, err := os.MkdirTemp(memory(), "switchboard-pg-")
	if err != nil {
		return "", err
	}
	attr := &syscall.SysProcAttr{Setsid: true} // an interrupt from the terminal is not for the server
	if os.Geteuid() == 0 {
		uid, gid, err := unprivileged()
		if err == nil {
			err = os.Chown(dir, uid, gid)
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	guard := exec.Command("/bin/sh", "-c", watch, "sh", bin, dir)
	guard.SysProcAttr, guard.Dir = attr, dir
	// The pipe's other end stays open as long as this process lives.
	pipe, err := guard.StdinPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	keep = pipe
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"),
		"-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("initdb: %w: %s", err, out), pipe.Close())
	}
	if _, err := io.WriteString(pipe, "go\n"); err != nil {
		return "", fmt.Errorf("start the server: %w", err)
	}
	address = "postgres://postgres@/postgres?sslmode=disable&host=" + url.QueryEscape(dir)
	return address, ready(address, filepath.Join(dir, "log"))
}

// memory is a folder in memory, where the files of a new database are made in a tenth of
// the time; empty, which is the usual one, where that has too little room.
func memory() string {
	const shm, room = "/dev/shm", 4 << 30
	var s syscall.Statfs_t
	if err := syscall.Statfs(shm, &s); err != nil || s.Bavail*uint64(s.Bsize) < room {
		return ""
	}
	return shm
}

// keep holds the pipe: a collected one would be closed.
var keep io.Closer

func unprivileged() (uid, gid int, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ = strconv.Atoi(u.Uid)
		gid, _ = strconv.Atoi(u.Gid)
		return uid, gid, nil
	}
	return 0, 0, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func ready(address, log string) error {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			said, _ := os.ReadFile(log)
			return fmt.Errorf("the server did not start: %w: %s", err, said)
		}
	}
}
