package commands_test

import (
	"testing"

	"switchboard/router/commands"
)

func TestButtonsAsLinesSayWhatTheyDo(t *testing.T) {
	button := func(label, command string) commands.Button { return commands.Button{Label: label, Command: command} }
	for want, buttons := range map[string][]commands.Button{
		"": nil,
		"\n\nMore about 7: /jobs 7\nTo see more: /jobs after 7":                            {button("Job 7", "jobs 7"), button("More", "jobs after 7")},
		"\n\nMore about one: /jobs NUMBER":                                                 {button("Job 7", "jobs 7"), button("Job 8", "jobs 8")},
		"\n\nTo retry one: /deliveries retry NUMBER\nTo drop one: /deliveries drop NUMBER": {button("Retry 1", "deliveries retry 1"), button("Drop 1", "deliveries drop 1"), button("Retry 2", "deliveries retry 2"), button("Drop 2", "deliveries drop 2")},
		"\n\nTo see more of one: /channel NAME":                                            {button("More of a", "channel a"), button("More of b", "channel b")},
		"\n\nTo remove one: /unlink IDENTITY":                                              {button("Remove tg:1", "unlink tg:1"), button("Remove tg:2", "unlink tg:2")},
		"\n\nTo switch: /mode ask":                                                         {button("ask", "mode ask")},
		"\n\nTo set your time zone: /timezone and one of New York, UTC":                    {button("New York", "timezone New York"), button("UTC", "timezone UTC")},
		"\n\nTo be asked for another time: /jobs 12 when\nTo cancel it: /jobs 12 delete":   {button("Change", "jobs 12 when"), button("Cancel", "jobs 12 delete")},
		"\n\nTo see more people: /people after p07\nTo remove Bob N: /people remove B yes": {button("More people", "people after p07"), button("Remove Bob N", "people remove B yes")},
		"\n\n10 min: /jobs 3 snooze 10m":                                                   {button("10 min", "jobs 3 snooze 10m")},
	} {
		if got := commands.TypedOut(buttons); got != want {
			t.Errorf("%v: %q, want %q", buttons, got, want)
		}
	}
}
