package scheduler

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/phrases.tsv
var phrases string

// How many of the 300 phrases are understood at once, at least.
const phrasesUnderstood = 255

// TestPhrases reads what people write who do not know the grammar. None is taken for another time than was meant, or for
// another text; what is not understood is asked about, and what is no time is neither.
func TestPhrases(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC)
	understood := 0
	for line := range strings.Lines(phrases) {
		if line[0] == '#' {
			continue
		}
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(field) != 4 {
			t.Fatalf("not four columns: %q", line)
		}
		when, err := Find(field[1], now, "Europe/Rome")
		if when.Timed == (field[0] == "none") && field[0] != "ru" {
			t.Errorf("%s: timed is %v", field[1], when.Timed)
		}
		if field[0] == "none" {
			if !errors.Is(err, ErrNoTime) {
				t.Errorf("no time: %s\n\tis %s | %s, %v", field[1], &when.Spec, when.Rest, err)
			}
			continue
		}
		asked := slices.Contains(strings.Split(field[2], " | "), "ask")
		if err != nil {
			if !asked {
				t.Logf("asked: %s\n\t%v; means %s", field[1], err, field[2])
			} else {
				understood++
			}
			continue
		}
		meant := false
		for want := range strings.SplitSeq(field[2], " | ") {
			ok, err := means(&when.Spec, want, now)
			if err != nil {
				t.Fatalf("%q: %v", field[2], err)
			}
			meant = meant || ok
		}
		text := strings.Replace(field[3], "-", "", map[bool]int{true: 1}[field[3] == "-"])
		if !meant || when.Rest != text {
			t.Errorf("by half: %s\n\tis %s | %s, means %s | %s", field[1], &when.Spec, when.Rest, field[2], text)
			continue
		}
		understood++
	}
	if understood < phrasesUnderstood {
		t.Errorf("%d understood, want at least %d", understood, phrasesUnderstood)
	}
}

// means says that a spec has the slots that somebody meant.
func means(s *Spec, want string, now time.Time) (bool, error) {
	kind, want, _ := strings.Cut(want, " ")
	zone := "Europe/Rome"
	if before, after, ok := strings.Cut(want, " ["); ok {
		name, rest, _ := strings.Cut(after, "]")
		zone, want = name, before+rest
	}
	loc, err := Zone(zone)
	if err != nil {
		return false, err
	}
	wanted := Spec{Zone: zone}
	for _, bound := range []struct {
		word string
		at   *time.Time
		days int
	}{{" until ", &wanted.Until, 1}, {" from ", &wanted.From, 0}} {
		if before, day, ok := strings.Cut(want, bound.word); ok {
			at, err := time.ParseInLocation(time.DateOnly, day, loc)
			if err != nil {
				return false, err
			}
			*bound.at = at.AddDate(0, 0, bound.days).Add(-time.Duration(bound.days) * time.Second)
			want = before
		}
	}
	part := strings.Fields(want)
	switch {
	case kind == "ask", kind == "none":
		return false, nil
	case kind == "once" && len(part) == 2:
		at, err := time.ParseInLocation("2006-01-02 15:04", want, loc)
		got, ok := s.Next(now)
		return ok && s.At != "" && got.Truncate(time.Minute).Equal(at), err
	case kind == "every" && len(part) == 5:
		wanted.Cron = want
		if wanted.Check() != nil {
			return false, nil // nothing that this cron can say
		}
		return sameSlots(s, &wanted, now), nil
	case kind == "every" && len(part) == 1:
		every, err := time.ParseDuration(part[0])
		return s.Every == every, err
	case kind == "every" && len(part) == 3:
		at, err := time.ParseInLocation("2006-01-02 15:04", part[1]+" "+part[2], loc)
		first, ok := s.Next(now)
		if err != nil || !ok || !first.Equal(at) {
			return false, err
		}
		days := 0
		if _, err := fmt.Sscanf(strings.Replace(part[0], "w", "0d", 1), "%dd", &days); err != nil {
			return false, err
		}
		if strings.HasSuffix(part[0], "w") {
			days = days / 10 * 7
		}
		second, ok := s.Next(first)
		return ok && second.Sub(first).Round(24*time.Hour) == time.Duration(days)*24*time.Hour, nil
	}
	return false, errors.New("no meaning")
}

func sameSlots(a, b *Spec, now time.Time) bool {
	for range 10 {
		one, okOne := a.Next(now)
		two, okTwo := b.Next(now)
		if okOne != okTwo || !one.Equal(two) {
			return false
		}
		if !okOne {
			break
		}
		now = one
	}
	return true
}
