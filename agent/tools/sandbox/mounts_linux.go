package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// makeRoot makes another root folder for all processes of this mount namespace: an empty file system
// with the places that the command may read, its workspace and its own /tmp at their usual paths. Nothing
// else has a name there, so no stat and no socket file leads to what is others'. All but the
// workspace and /tmp is read-only: Landlock leaves modes, owners and attributes of files alone.
// It says whether /proc shows the command's own processes.
func makeRoot(spec stageSpec) (ownProc bool, err error) {
	if err := misplaced(spec.Workspace); err != nil {
		return false, err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return false, fmt.Errorf("make mounts private: %w", err)
	}
	workspace, temp, err := ownTrees(spec)
	if err != nil {
		return false, fmt.Errorf("open the workspace: %w", err)
	}
	unix.Umask(0o022)
	root := spec.Workspace
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=64k"); err != nil {
		return false, fmt.Errorf("mount a root folder: %w", err)
	}
	if ownProc, err = fill(root); err != nil {
		return false, err
	}
	own := map[string]int{spec.Workspace: workspace}
	if ownTemp(spec) {
		own["/tmp"] = temp
	}
	for place, tree := range own {
		if err := put(tree, root+place); err != nil {
			return false, fmt.Errorf("mount %s: %w", place, err)
		}
	}
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, root, unix.AT_RECURSIVE, readOnly); err != nil {
		return false, fmt.Errorf("make mounts read-only: %w", err)
	}
	writable := &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	for place := range own {
		if err := unix.MountSetattr(unix.AT_FDCWD, root+place, unix.AT_RECURSIVE, writable); err != nil {
			return false, fmt.Errorf("make %s writable: %w", place, err)
		}
	}
	return ownProc, enterRoot(root)
}

// ownTemp says that the command has a /tmp of its own. A workspace that lies in /tmp
// would be in its own folder for temporary files.
func ownTemp(spec stageSpec) bool { return !inside(spec.Workspace, "/tmp") }

// fill gives a root folder the system's part.
func fill(root string) (ownProc bool, err error) {
	if ownProc, err = mountProc(root); err != nil {
		return false, fmt.Errorf("mount /proc: %w", err)
	}
	for _, place := range slices.Concat(readablePlaces, writableDevices) {
		if inside(place, "/proc") {
			continue
		}
		if err := show(root, place); err != nil {
			return false, fmt.Errorf("mount %s: %w", place, err)
		}
	}
	for name, target := range map[string]string{"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink("/proc/self/"+target, root+"/dev/"+name); err != nil {
			return false, err
		}
	}
	return ownProc, nil
}

// ownTrees opens copies of the two mounts that the command may write to. Another command
// of the same workspace may be running: no link of its own leads out.
func ownTrees(spec stageSpec) (workspace, temp int, err error) {
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	if workspace, err = unix.OpenTree(unix.AT_FDCWD, spec.Workspace, flags); err != nil {
		return 0, 0, err
	}
	folder, err := unix.Openat2(workspace, spec.Temp, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return 0, 0, err
	}
	temp, err = unix.OpenTree(folder, "", flags|unix.AT_EMPTY_PATH)
	return workspace, temp, err
}

// put mounts a tree at a path, whose folders it makes.
func put(tree int, path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// show binds a file or folder of the system to the same path below root. One that is not there,
// or that this program may not see, needs none.
func show(root, place string) error {
	info, err := os.Stat(place)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	at, folder := root+place, root+place
	if !info.IsDir() {
		folder = filepath.Dir(at)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if !info.IsDir() {
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return err
		}
	}
	return unix.Mount(place, at, "", unix.MS_BIND|unix.MS_REC, "")
}

// mountProc mounts a /proc that shows the command's own processes. Where parts of /proc are hidden, as in
// containers, the kernel refuses; then it is the one of this program, of which Landlock leaves the
// command a few files.
func mountProc(root string) (own bool, err error) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY
	if err := os.Mkdir(root+"/proc", 0o755); err != nil {
		return false, err
	}
	if unix.Mount("proc", root+"/proc", "proc", flags, "") == nil {
		return true, nil
	}
	return false, show(root, "/proc")
}

// enterRoot makes a folder the root of all processes in this mount namespace and forgets all
// other mounts.
//
// Source: pivot_root(2), "pivot_root(".", ".")".
func enterRoot(root string) error {
	err := unix.Chdir(root)
	if err == nil {
		err = unix.PivotRoot(".", ".")
	}
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	if err != nil {
		return fmt.Errorf("enter the root folder: %w", err)
	}
	return nil
}
