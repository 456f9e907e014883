package telegram

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// withoutZeros is v as JSON has it, without what is empty.
func withoutZeros(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	var tree any
	if err := in.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return pruned(tree)
}

func pruned(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			if tree[key] = pruned(value); tree[key] == nil {
				delete(tree, key)
			}
		}
		if len(tree) > 0 {
			return tree
		}
	case []any:
		for i := range tree {
			tree[i] = pruned(tree[i])
		}
		if len(tree) > 0 {
			return tree
		}
	case string:
		if zero, err := time.Parse(time.RFC3339, tree); tree != "" && (err != nil || !zero.IsZero()) {
			return tree
		}
	case json.Number:
		if tree != "0" {
			return tree
		}
	case bool:
		if tree {
			return tree
		}
	}
	return nil
}

func TestUpdatesBecomeTheEventsBesideThem(t *testing.T) {
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
		u := c.reader().decode(raw)
		if u.event != nil && u.event.Raw != nil {
			u.event.Raw = []byte("as it came")
		}
		got, err := json.MarshalIndent(withoutZeros(t, shown{u.id, u.event, u.album, u.query}), "", " ")
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
