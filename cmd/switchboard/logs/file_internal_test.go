package logs

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
		file, err := Open(settings)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			file.Log.Warn(fmt.Sprint("something ", i))
		}
		file.Log.Info("something else")
		var said strings.Builder
		file.Close(&said)
		if got := strings.ReplaceAll(said.String(), file.Path, "PATH"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
