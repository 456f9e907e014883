package access

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
)

// A line names twenty people at most, and the owner of the machine is one of them.
func TestNamesOfAThousandAreALine(t *testing.T) {
	t.Parallel()
	var people []core.Person
	for i := range 1000 {
		people = append(people, core.Person{Name: fmt.Sprint("u", i), Role: core.RoleUser})
	}
	people = append(people, core.Person{Name: Owner, Role: core.RoleAdmin, Source: core.FromLocal}, core.Person{Source: core.FromOpen})
	got := strings.Join(Names(people), "; ")
	if want := "u18 (user: no identity); and 981 more (switchboard person list); 1 more from open channels"; !strings.HasPrefix(got, Owner+" (") || !strings.HasSuffix(got, want) {
		t.Error(got)
	}
}

// Who holds a channel speaks for it; the latest event is the latest of all.
func TestStatusOfAChannelIsItsHoldersWord(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0)
	former := channels.Status{Name: "tg", State: channels.StateWaiting, Reason: "another engine holds the channel", LastEvent: at}
	holder := channels.Status{Name: "tg", State: channels.StateConnected, LastFrame: at.Add(time.Hour)}
	for _, answers := range [][][]channels.Status{{{former}, {holder}}, {{holder}, {former}}} {
		got := merged(answers)
		if len(got) != 1 || got[0].State != channels.StateConnected || got[0].Reason != "" || !got[0].LastEvent.Equal(at) {
			t.Errorf("%+v", got)
		}
	}
	holder.LastEvent = at.Add(time.Minute)
	if got := merged([][]channels.Status{{holder}, {former}}); !got[0].LastEvent.Equal(holder.LastEvent) {
		t.Errorf("%+v", got)
	}
}
