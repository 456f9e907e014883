package scheduler_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/internal/testkit"
	"switchboard/scheduler"
)

// table are the rows below a header in docs/scheduling.md, a cell each.
func table(t *testing.T, header string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(testkit.Read(t, "../docs/scheduling.md"), "\n"+header+"\n")
	if !found {
		t.Fatalf("there is no table %s", header)
	}
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 2 {
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 4 {
		t.Fatalf("below %s are %d rows", header, len(rows))
	}
	return rows[1:]
}

// The examples of times are read as docs/scheduling.md says.
func TestDocumentedTimesAreRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for _, row := range table(t, "| written | understood |") {
		when, err := scheduler.Read(row[0], now, "Europe/Rome")
		got := when.Spec.String()
		if rest := strings.TrimPrefix(when.Rest, "to "); rest != "" {
			got += "; " + rest
		}
		if several, ok := errors.AsType[*scheduler.Ambiguous](err); ok {
			var words []string
			for _, c := range several.Choices {
				words = append(words, c.Words)
			}
			got = "asks: " + strings.Join(words, ", or ")
		} else if err != nil {
			got = "refused"
		}
		if got != row[1] {
			t.Errorf("%q is %q (%v), and the page says %q", row[0], got, err, row[1])
		}
	}
}

// The options that the page lists are all there are, and take what it says.
func TestDocumentedOptionsAreTaken(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	rows := table(t, "| as in | what it is |")
	if len(rows) != len(scheduler.Options) {
		t.Errorf("%d options are listed, and there are %d", len(rows), len(scheduler.Options))
	}
	for i, row := range rows {
		job := scheduler.Job{Payload: scheduler.PayloadHeartbeat, Spec: scheduler.Spec{Cron: "0 * * * *", Zone: "Europe/Rome"}}
		name, value, _ := strings.Cut(row[0], " ")
		if err := job.Set(name, value, now); err != nil || i < len(scheduler.Options) && name != scheduler.Options[i].Name {
			t.Errorf("%s: %v", row[0], err)
		}
	}
}

// What the page says of clock changes is what comes.
func TestDocumentedClockChanges(t *testing.T) {
	t.Parallel()
	for _, row := range table(t, "| written | zone | after | runs at |") {
		after, err := time.Parse(time.RFC3339, row[2])
		if err != nil {
			t.Fatal(err)
		}
		when, err := scheduler.Read(row[0], after, row[1])
		if err != nil {
			t.Errorf("%q: %v", row[0], err)
			continue
		}
		zone, err := scheduler.Zone(row[1])
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(`,\s*`).Split(row[3], -1)
		for i, slot := range when.Spec.Upcoming(after, len(want)) {
			if got := slot.In(zone).Format(time.RFC3339); got != want[i] {
				t.Errorf("%q in %s, run %d: %s, and the page says %s", row[0], row[1], i+1, got, want[i])
			}
		}
	}
}
