package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A process is one line of the process table.
type process struct {
	pid, parent int
	group       int
	zombie      bool
	holder      int // a thread that shows what the process holds
	threads     int
	resident    int64  // bytes
	started     uint64 // in ticks since the machine did
}

// number is the first one behind what a line of a file begins with.
func number(file, begins string) (n int64, ok bool) {
	text, _ := os.ReadFile(file) // none: neither is the number
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, begins)
		if fields := strings.Fields(rest); found && len(fields) > 0 {
			n, err := strconv.ParseInt(fields[0], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// numbered are the numbers by which entries of a folder of /proc are named.
func numbered(folder string) (ids []int, err error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// kibibytes is what a line of a file about the process says, in bytes, or otherwise.
func (p process) kibibytes(file, line string, otherwise int64) int64 {
	if n, ok := number("/proc/"+strconv.Itoa(p.holder)+"/"+file, line); ok {
		return n << 10
	}
	return otherwise
}

// mappingCost is the most that the kernel keeps for a mapping, in bytes.
//
// Source: /proc/slabinfo of Linux 6.18: vm_area_struct and its part of a maple_node are 208 bytes, an
// anon_vma and its chain 168.
const mappingCost = 400

// mappings counts the mappings of the process, and says whether a file without a name is mapped.
//
// Source: proc_pid_maps(5); memory that is shared without a file is called /dev/zero.
func (p process) mappings() (count int64, nameless bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.holder) + "/maps")
	if err != nil {
		return 0, false
	}
	const gone = " (deleted)\n"
	nameless = bytes.Count(text, []byte(gone)) > bytes.Count(text, []byte(" /dev/zero"+gone))
	return int64(bytes.Count(text, []byte("\n"))), nameless
}

// elders are processes that began before this one, and so are never below it. To read them at every poll
// costs as much as the machine has processes. They are found again each second: an id is used again.
var elders struct {
	sync.Mutex
	ids   map[int]bool
	until time.Time
}

// descendants lists all processes below this one, zombies too.
func descendants() ([]process, error) {
	elders.Lock()
	defer elders.Unlock()
	if now := time.Now(); now.After(elders.until) {
		elders.ids, elders.until = map[int]bool{}, now.Add(time.Second)
	}
	self, _ := readStat(os.Getpid())
	return listed(os.Getpid(), elders.ids, self.started)
}

// listed lists all processes below the one of that id without those in skip, and adds to skip those
// that began before an instant.
func listed(pid int, skip map[int]bool, before uint64) ([]process, error) {
	ids, err := numbered("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, id := range ids {
		if skip[id] {
			continue
		}
		if p, ok := readProcess(id); ok && p.started < before {
			skip[id] = true
		} else if ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	list := children[pid]
	for at := 0; at < len(list); at++ {
		list = append(list, children[list[at].pid]...)
	}
	return list, nil
}

// readProcess reads what is known of a process. One whose first thread has ended lives on
// in the others, and only they show what it holds.
func readProcess(pid int) (process, bool) {
	p, ok := readStat(pid)
	if !ok || !p.zombie || p.threads < 2 {
		return p, ok
	}
	tasks, _ := numbered("/proc/" + strconv.Itoa(pid) + "/task") // none: it is gone
	for _, id := range tasks {
		if other, ok := readStat(id); ok && !other.zombie {
			p.zombie, p.holder, p.resident = false, id, other.resident
			break
		}
	}
	return p, true
}

// readStat reads /proc/ID/stat of a process or thread; the fields after the name, which may hold
// anything, are counted from the last parenthesis.
//
// Source: proc_pid_stat(5).
func readStat(id int) (process, bool) {
	f, err := unix.Open("/proc/"+strconv.Itoa(id)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, false
	}
	var buffer [1024]byte // about 50 numbers and a name of 64 bytes at most
	n, err := unix.Read(f, buffer[:])
	unix.Close(f)
	if err != nil {
		return process{}, false
	}
	text := buffer[:n]
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 22 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, false
	}
	group, _ := strconv.Atoi(fields[2])
	threads, _ := strconv.Atoi(fields[17])
	started, _ := strconv.ParseUint(fields[19], 10, 64)
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return process{
		pid: id, holder: id, parent: parent, group: group, zombie: fields[0] == "Z", threads: threads,
		resident: pages * int64(os.Getpagesize()), started: started,
	}, true
}

// bufferRoom is the most that the sockets of the command could hold, in bytes.
// The kernel does not tell how much pairs of sockets hold, only how many sockets
// there are in a network namespace, those under way in messages too. Without a
// namespace of its own it tells nothing of one command.
//
// Source: proc_pid_net(5), sockstat; socket(7), wmem_default, which commands
// cannot raise.
func (t *tree) bufferRoom() int64 {
	if !t.boxed {
		return 0
	}
	room, _ := number("/proc/sys/net/core/wmem_default", "")
	used, _ := number("/proc/"+strconv.Itoa(t.main)+"/net/sockstat", "sockets: used ")
	return room * used
}
