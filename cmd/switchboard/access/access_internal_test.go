package access

import (
	"testing"
	"time"

	"switchboard/channels"
)

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
