package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"switchboard/configs"
	"switchboard/files"
)

// scannerTimeout bounds the doctor's one scan.
const scannerTimeout = 30 * time.Second

// checkScanner lets the scan command look at an empty file: one that cannot be run, or
// refuses even that, holds back every file that comes in.
func (a *app) checkScanner(settings *configs.Settings) []finding {
	words := strings.Fields(settings.Files.ScanCommand)
	if len(words) == 0 {
		return nil
	}
	f := finding{Check: "files", Mend: "see [files] scan_command: it is run with the file's path as last argument, and exit status 0 means clean; until it works every file is held back"}
	program, err := exec.LookPath(words[0])
	if err != nil {
		f.Text = fmt.Sprintf("scan_command: %v", err)
		return []finding{f}
	}
	took, reason, err := a.tryScanner(settings)
	switch {
	case err != nil:
		f.Text = fmt.Sprintf("scan_command: %s: %v", program, err)
	case reason != "":
		f.Text = fmt.Sprintf("scan_command: %s: an empty file would be held back: %s", program, reason)
	default:
		f.OK, f.Text = true, fmt.Sprintf("scan_command: %s: an empty file is clean, said in %s", program, took.Round(time.Millisecond))
	}
	return []finding{f}
}

// tryScanner scans an empty file where those that come in are scanned, in the data
// folder: what may not read there is of no use.
func (a *app) tryScanner(settings *configs.Settings) (took time.Duration, reason string, err error) {
	dir, _ := nearest(settings.DataDir)
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(a.ctx, scannerTimeout)
	defer cancel()
	began := time.Now()
	reason, err = files.TryScanner(ctx, settings.Files.ScanCommand, file.Name())
	if ctx.Err() != nil && a.ctx.Err() == nil {
		reason, err = fmt.Sprintf("the scanner did not come to an end within %s", scannerTimeout), nil
	}
	return time.Since(began), reason, err
}
