package telegram

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
)

// knowing is a channel that knows who it is: @helper_bot, number 77.
func knowing() *Client {
	c := client("http://127.0.0.1:1", "77:key-of-the-helper")
	c.self.Store(&self{id: 77, username: "helper_bot"})
	return c
}

// shown is an update as a golden file holds it.
type shown struct {
	ID    int64           `json:"update_id"`
	Event *channels.Event `json:"event"`
	Album string          `json:"album,omitempty"`
	Query string          `json:"query,omitempty"`
}

// promise: P1.rejected-kept
// promise: P4.no-entry-no-service
func TestUpdates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/updates/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	c := knowing()
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		u := c.decode(77, raw)
		if u.event != nil && u.event.Raw != nil {
			u.event.Raw = []byte("as it came")
		}
		got, err := json.MarshalIndent(shown{u.id, u.event, u.album, u.query}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(file, ".json") + ".golden"
		if *formatUpdate {
			if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
			t.Errorf("%s:\n%s", file, diff)
		}
	}
}
