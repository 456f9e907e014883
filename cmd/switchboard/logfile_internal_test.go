package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/configs"
)

func TestLogFileCountsItsWarnings(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"", "switchboard: a warning is in PATH\n", "switchboard: 2 warnings are in PATH\n"} {
		settings := &configs.Settings{DataDir: filepath.Join(t.TempDir(), "data")}
		file, err := openLog(settings)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			file.log.Warn(fmt.Sprint("something ", i))
		}
		file.log.Info("something else")
		var said strings.Builder
		file.close(&said)
		if got := strings.ReplaceAll(said.String(), file.path, "PATH"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
