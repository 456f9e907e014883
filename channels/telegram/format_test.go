package telegram

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/telegram/telegramtest"
)

var formatUpdate = flag.Bool("update", false, "rewrite the golden files")

// formatted renders markdown in parts of at most limit units.
func formatted(markdown string, limit int) []channels.Body {
	return format(render.Parse(markdown), channels.Features{MaxText: limit, Measure: formatUnits})
}

// formatFatal is what fails a test, a fuzz case or a property.
type formatFatal interface {
	Helper()
	Fatalf(string, ...any)
}

// checkFormat holds every part against the rules of the platform, and returns the
// entities by part.
func checkFormat(t formatFatal, bodies []channels.Body, limit int) [][]telegramtest.Entity {
	t.Helper()
	if len(bodies) == 0 {
		t.Fatalf("no part")
	}
	all := make([][]telegramtest.Entity, len(bodies))
	for i, b := range bodies {
		if b.Rich != nil {
			if err := json.Unmarshal(b.Rich, &all[i]); err != nil {
				t.Fatalf("part %d: %v", i, err)
			}
		}
		if err := telegramtest.CheckText(b.Text, all[i], limit); err != nil {
			t.Fatalf("part %d is refused: %v\n%q\n%s", i, err, b.Text, b.Rich)
		}
		if len(all[i]) > formatMaxEntities {
			t.Fatalf("part %d has %d entities", i, len(all[i]))
		}
		for n, e := range all[i] {
			switch e.Type {
			case "bold", "italic", "strikethrough", "spoiler", "code", "pre", "text_link", "blockquote":
			default:
				t.Fatalf("part %d has an entity of type %s", i, e.Type)
			}
			if n > 0 && e.Offset < all[i][n-1].Offset {
				t.Fatalf("the entities of part %d are not sorted: %s", i, b.Rich)
			}
			if shown := entityText(b.Text, e); strings.TrimSpace(shown) == "" || strings.TrimRight(shown, " \n") != shown {
				t.Fatalf("part %d: entity %+v is %q", i, e, shown)
			}
		}
	}
	return all
}

// entityText is what e marks.
func entityText(text string, e telegramtest.Entity) string {
	units := utf16.Encode([]rune(text))
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}

// described is a part as the golden files have it.
func described(b channels.Body, entities []telegramtest.Entity) string {
	var out strings.Builder
	out.WriteString(b.Text + "\n")
	for _, e := range entities {
		fmt.Fprintf(&out, "-- %d+%d %s%s%s %q\n", e.Offset, e.Length, e.Type,
			strings.TrimSuffix(" "+e.URL, " "), strings.TrimSuffix(" "+e.Language, " "), entityText(b.Text, e))
	}
	return out.String()
}

func TestFormatGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/format/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			limit := 4096
			if strings.HasPrefix(filepath.Base(file), "long_") {
				limit = 400
			}
			bodies := formatted(string(source), limit)
			var parts []string
			for i, entities := range checkFormat(t, bodies, limit) {
				parts = append(parts, described(bodies[i], entities))
			}
			got := strings.Join(parts, "======\n")
			golden := strings.TrimSuffix(file, ".md") + ".golden"
			if *formatUpdate {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
