package turns

import (
	"testing"
	"time"

	"switchboard/router/money"
)

// The person reads which limit it is, and whether to wait for others, for the next day, or for
// nothing.
func TestWhatAPersonReadsAtALimit(t *testing.T) {
	t.Parallel()
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	over := time.Date(2026, 7, 2, 0, 0, 0, 0, rome)
	for want, e := range map[string]money.OverLimitError{
		"I cannot answer any more today: what may be spent on language models in a day is used up. I answer again from 2026-07-02 00:00 CEST.": {
			Spending: money.Spending{Scope: money.SpentInAll, Limit: 10, Settled: 9.5}, Most: 1,
		},
		"I cannot answer any more today: what you may spend on language models in a day is used up. I answer again from 2026-07-02 00:00 CEST.": {
			Spending: money.Spending{Scope: money.SpentByPerson, Name: "marco", Limit: 10, Settled: 10}, Most: 1,
		},
		"I cannot answer right now: the messages that I am working on need the rest of what may be spent on language models in a day in this conversation. Please try again in a few minutes.": {
			Spending: money.Spending{Scope: money.SpentInSession, Name: "7", Limit: 10, Settled: 1, Reserved: 9}, Most: 1,
		},
		"I cannot answer: one question to the language model can cost more than what may be spent on language models in a day. Please ask whoever runs me to raise that limit.": {
			Spending: money.Spending{Scope: money.SpentInAll, Limit: 0.5}, Most: 1,
		},
	} {
		if got := overLimit(&e, over); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A day is one of the settings' zone, however long it is.
func TestDaysOfMoney(t *testing.T) {
	t.Parallel()
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		zone     *time.Location
		at       string
		day, end string
	}{
		{nil, "2026-03-28T23:30:00Z", "2026-03-28", "2026-03-29T00:00:00Z"},
		{rome, "2026-03-28T23:30:00Z", "2026-03-29", "2026-03-29T22:00:00Z"}, // of 23 hours
		{rome, "2026-10-25T22:59:59Z", "2026-10-25", "2026-10-25T23:00:00Z"}, // of 25
		{rome, "2026-12-31T23:00:00Z", "2027-01-01", "2027-01-01T23:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		b := money.Budget{Zone: c.zone}
		if day, end := b.Day(at), b.Over(at).UTC().Format(time.RFC3339); day != c.day || end != c.end {
			t.Errorf("%s is on %s, until %s; want %s, until %s", c.at, day, end, c.day, c.end)
		}
	}
}
