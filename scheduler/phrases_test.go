package scheduler

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/phrases.tsv
var phrases string

// How many of the phrases are read as they were meant, at least, and by half, at most. Both are moved when the
// grammar learns more; none is to be read by half, and 255 of 300 are to be understood.
const (
	phrasesUnderstood = 29
	phrasesByHalf     = 7
)

// TestPhrases reads what people write who do not know the grammar. A phrase is read by half when it is taken for
// another time than was meant, without a question.
func TestPhrases(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC)
	understood, half := 0, 0
	for line := range strings.Lines(phrases) {
		if line[0] == '#' {
			continue
		}
		field := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(field) != 4 {
			t.Fatalf("not four columns: %q", line)
		}
		when, err := Read(field[1], now, "Europe/Rome")
		if err != nil {
			continue // asked, or refused with what to write
		}
		meant := false
		for want := range strings.SplitSeq(field[2], " | ") {
			ok, err := means(&when.Spec, want, now)
			if err != nil {
				t.Fatalf("%q: %v", field[2], err)
			}
			meant = meant || ok
		}
		switch {
		case meant:
			understood++
		default:
			half++
			t.Logf("by half: %s\n\tis %s | %s, means %s | %s", field[1], &when.Spec, when.Rest, field[2], field[3])
		}
	}
	if understood < phrasesUnderstood || half > phrasesByHalf {
		t.Errorf("%d understood, want at least %d; %d by half, want at most %d", understood, phrasesUnderstood, half, phrasesByHalf)
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
		return ok && s.At != "" && got.Equal(at), err
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
