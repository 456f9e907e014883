package command

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

func (r *reading) destroy(what string) { r.destroys = cmp.Or(r.destroys, what) }

// roots are folders that a system, or a person, does not survive the loss of.
var roots = strings.Fields(`bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var
	Applications Library System Users Volumes private`)

// programs that are looked for where a name is written with a glob, such as /bin/r?.
var programs = strings.Fields("rm dd mkfs chmod chown chgrp shred shutdown reboot halt poweroff mv find")

// isRoot says that what a name stands for is a root, or all that is in one.
func isRoot(name string) bool {
	name = strings.TrimPrefix(name, "file://")
	for _, all := range []string{"/*", "/.*", "/.", "/?*", "/.[!.]*", "/{*,.*}"} {
		name = strings.TrimSuffix(name, all)
	}
	if strings.HasPrefix(name, "~") { // anybody's home, or what it is in
		_, below, _ := strings.Cut(name, "/")
		below = path.Clean("./" + below)
		return below == "." || below == ".." || strings.HasPrefix(below, "../")
	}
	if !path.IsAbs(name) {
		return name == ""
	}
	name = strings.TrimPrefix(path.Clean(name), "/")
	return name == "" || slices.ContainsFunc(roots, func(root string) bool {
		ok, err := path.Match(name, root)
		return err == nil && ok
	})
}

// rooted says that a word names a root, seen from where the line is or from a folder that
// it goes to.
func (r *reading) rooted(name string) bool {
	if name == "" {
		return false
	}
	return isRoot(name) || !path.IsAbs(name) && slices.ContainsFunc(r.folders, func(folder string) bool {
		return isRoot(strings.TrimSuffix(folder, "/") + "/" + name)
	})
}

// isDevice says that writing to a file goes past the file system, or to the kernel.
func isDevice(name string) bool {
	name = path.Clean(name)
	if name == "/proc/sysrq-trigger" || name == "/proc/kcore" {
		return true
	}
	rest, ok := strings.CutPrefix(name, "/dev/")
	return ok && strings.ContainsAny(rest, "*?[") || ok && slices.ContainsFunc(strings.Fields("sd hd vd xvd nvme mmcblk disk rdisk mapper/ dm- md loop mem kmem port nbd zd bcache"), func(device string) bool {
		return strings.HasPrefix(rest, device)
	})
}

// destruction looks whether a command is one of those that are always refused. Words that
// are unknown count as what is known of them, and as none where that is nothing: a variable
// that nobody set vanishes.
func (r *reading) destruction(words []word) {
	if !r.affords(words) {
		return
	}
	var texts []string
	for _, w := range words {
		text := w.text
		if len(texts) == 0 {
			text = strings.ReplaceAll(text, gap, "")
		}
		if w.known {
			texts = append(texts, text)
		} else { // it is split, where it is not in quotes
			texts = append(texts, strings.Fields(text)...)
		}
	}
	if len(texts) == 0 {
		return
	}
	name, args := path.Base(texts[0]), texts[1:]
	if strings.ContainsAny(name, "*?[") {
		for _, program := range programs {
			if ok, err := path.Match(name, program); err == nil && ok {
				name = program
				break
			}
		}
	}
	if what := r.harm(name, args); what != "" {
		r.destroy(what)
	}
}

// harm says what a program with these arguments destroys.
func (r *reading) harm(name string, args []string) string {
	var operands []string
	recursive, short := false, ""
	for i, arg := range args {
		switch {
		case arg == "--no-preserve-root":
			return "works on the root of the file system"
		case strings.HasPrefix("--recursive", arg) && len(arg) > 4: // an unambiguous beginning is enough
			recursive = true
		case strings.HasPrefix(arg, "--"):
		case strings.HasPrefix(arg, "-") && !slices.Contains(args[:i], "--"):
			short += arg[1:]
		default:
			operands = append(operands, arg)
		}
	}
	recursive = recursive || strings.ContainsAny(short, "rR")
	has := func(words ...string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(words, arg) })
	}
	root := slices.IndexFunc(operands, r.rooted)
	device := slices.IndexFunc(args, func(arg string) bool { return isDevice(strings.TrimPrefix(arg, "of=")) })
	switch {
	case name == "cd" || name == "pushd":
		r.folders = append(r.folders, operands...)
		if len(operands) == 0 {
			r.folders = append(r.folders, "~")
		}
	case slices.Contains([]string{"rm", "chmod", "chown", "chgrp"}, name) && recursive && root >= 0:
		return "changes or removes all of " + operands[root]
	case name == "mv" && root >= 0 && root < max(1, len(operands)-1):
		return "moves " + operands[root] + " away"
	case name == "dd" && device >= 0 && strings.HasPrefix(args[device], "of="),
		slices.Contains([]string{"tee", "cp", "mv", "install", "shred", "truncate", "wipefs", "blkdiscard", "mkswap"}, name) && device >= 0:
		return "writes to " + strings.TrimPrefix(args[device], "of=")
	case (name == "mkfs" || strings.HasPrefix(name, "mkfs.") || name == "mke2fs") && len(operands) > 0,
		slices.Contains([]string{"fdisk", "sfdisk", "sgdisk", "parted"}, name) && device >= 0 && !has("-l", "--list", "print"):
		return "makes a disk anew"
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff", "killall5"}, name),
		(name == "init" || name == "telinit") && has("0", "6"),
		name == "systemctl" && has("poweroff", "reboot", "halt", "kexec", "emergency", "rescue"):
		return "stops the machine"
	case name == "kill" && len(args) > 1 && args[len(args)-1] == "-1":
		return "ends every process"
	}
	return ""
}
