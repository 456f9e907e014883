package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lmittmann/tint"
)

// What is said again and again is said at its begin, now and then with a count, and at
// its end; what differs is said each time.
func TestRepeatedLogLinesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := newLog(&text, "json", tint.Options{}).With("engine", 1)
		began := time.Now()
		for range 80 {
			log.Warn("renewing failed", "error", errors.New("no server"))
			time.Sleep(time.Second)
		}
		log.Warn("renewing failed", "error", errors.New("another"))
		log.With("engine", 2).Warn("renewing failed", "error", errors.New("no server"))
		time.Sleep(5 * time.Minute)
		log.Warn("renewing failed", "error", errors.New("no server"))
		time.Sleep(5 * time.Minute)
		var got []string
		for line := range strings.Lines(text.String()) {
			var l struct {
				Time                                 time.Time
				Level, Msg, Warning, Error, Duration string
				Repeated                             int
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s %s|%s|%s|%s %d", l.Time.Sub(began), l.Level, l.Msg, l.Warning, l.Error, l.Duration, l.Repeated))
		}
		want := []string{
			"0s WARN renewing failed||no server| 0",
			"30s WARN renewing failed||no server| 30",
			"1m0s WARN renewing failed||no server| 30",
			"1m20s WARN renewing failed||another| 0",
			"1m20s WARN renewing failed||no server| 0",
			"1m49s INFO a warning does not come any more|renewing failed|no server|1m19s 79",
			"6m20s WARN renewing failed||no server| 0",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("said\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
