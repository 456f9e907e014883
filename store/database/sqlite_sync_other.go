//go:build !linux

package database

import "os"

func datasync(f *os.File) error { return f.Sync() }
