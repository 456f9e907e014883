package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockMounts makes all but the workspace read-only. Landlock leaves modes,
// owners and attributes of files alone; a read-only mount does not.
func lockMounts(spec stageSpec) error {
	workspace := spec.Workspace
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount(workspace, workspace, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind the workspace: %w", err)
	}
	if spec.UID != os.Geteuid() {
		if err := openWay(workspace); err != nil {
			return fmt.Errorf("open the way to the workspace: %w", err)
		}
	}
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, readOnly); err != nil {
		return fmt.Errorf("make mounts read-only: %w", err)
	}
	writable := &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, workspace, unix.AT_RECURSIVE, writable); err != nil {
		return fmt.Errorf("make the workspace writable: %w", err)
	}
	return nil
}

// openWay makes the workspace's path passable to whoever has no right to a folder on
// it: the first such folder is covered by an empty one that leads to the workspace
// alone.
func openWay(workspace string) error {
	closed, err := firstClosed(filepath.Dir(workspace))
	if err != nil || closed == "" {
		return err
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, workspace, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := unix.Mount("tmpfs", closed, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=64k"); err != nil {
		return err
	}
	if err := os.MkdirAll(workspace, 0o755); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, workspace, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// firstClosed returns the highest folder on the way to dir, or dir, that not
// everybody may pass; empty: there is none.
func firstClosed(dir string) (string, error) {
	if dir != "/" {
		if above, err := firstClosed(filepath.Dir(dir)); err != nil || above != "" {
			return above, err
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode()&0o001 != 0 {
		return "", err
	}
	return dir, nil
}

// ownProc mounts a /proc that shows the command's own processes. Where parts of
// /proc are hidden, as in containers, the kernel refuses; then commands see none.
func ownProc() bool {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY
	return unix.Mount("proc", "/proc", "proc", flags, "") == nil
}
