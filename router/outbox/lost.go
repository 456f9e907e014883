package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/words"
)

// lostText is in what names answers that ended unknown. What holds it is never named itself.
const lostText = "may not have reached you."

// owe notes that something of conv is to be named to its people, since then; zero: nothing is.
func (s *sender) owe(conv channels.ConversationID, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(conv).unnamed = since
}

// owes is since when something of conv is to be named; zero: nothing is.
func (s *sender) owes(conv channels.ConversationID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(conv).unnamed
}

// findUnnamed looks for what holders before this one left unnamed.
func (s *sender) findUnnamed(ctx context.Context) error {
	list, err := s.line.lines.Ledger.Unnamed(ctx, s.hold)
	for _, u := range list {
		s.owe(u.Conversation.ID, time.Now().Add(-probeAfter))
		s.wake(u.Conversation)
	}
	return err
}

// nameLost tells the people of conv and the admins which answers may not have arrived. It returns the
// pause before the next try.
func (s *sender) nameLost(ctx context.Context, conv channels.ConversationID) (wait time.Duration) {
	ls := s.line.lines
	err := s.insist(ctx, "name what may not have arrived", func(ctx context.Context) error {
		list, err := ls.Ledger.Unnamed(ctx, s.hold)
		list = slices.DeleteFunc(list, func(u Unnamed) bool { return u.Conversation.ID != conv })
		if err != nil || len(list) == 0 {
			return err
		}
		s.lostAlert(ctx, list)
		to := list[0].Conversation
		zone := ls.Zone(ctx, to, list[0].Person)
		var dropped, lost []Unnamed
		for _, u := range list {
			if u.Dropped {
				dropped = append(dropped, u)
			} else {
				lost = append(lost, u)
			}
		}
		var said []string
		if len(dropped) > 0 {
			said = append(said, droppedNotice(dropped, zone))
		}
		if len(lost) > 0 {
			said = append(said, lostNotice(lost, zone, time.Now(), s.line.Command(to)))
		}
		text := strings.Join(said, "\n\n")
		return ls.Ledger.Name(ctx, s.hold, list, s.line.alert(to, text, tools.Clean))
	})
	if err != nil {
		if ctx.Err() == nil {
			ls.Log.ErrorContext(ctx, "lost answers could not be reported", "channel", s.line.Name, "conversation_id", conv, "error", err)
		}
		return retryMin
	}
	s.owe(conv, time.Time{})
	return 0
}

// lostNotice names answers by the times at which they were given.
func lostNotice(list []Unnamed, zone *time.Location, now time.Time, slash string) string {
	var at []string
	for _, u := range list {
		layout := "15:04 MST"
		if now.Sub(u.Written) > 12*time.Hour {
			layout = "2 January, 15:04 MST"
		}
		if said := u.Written.In(zone).Format(layout); !slices.Contains(at, said) {
			at = append(at, said)
		}
	}
	latest := len(at) - 1
	if latest == 0 {
		return fmt.Sprintf("An answer from %s %s %sresend sends it again.", at[0], lostText, slash)
	}
	return fmt.Sprintf("Answers from %s and %s %s %sresend sends them again.", strings.Join(at[:latest], ", "), at[latest], lostText, slash)
}

// droppedNotice names messages, the oldest first, that were dropped while the channel was away.
func droppedNotice(list []Unnamed, zone *time.Location) string {
	const layout = "2 January, 15:04 MST"
	messages, when := map[int64]bool{}, "from "+list[0].Written.In(zone).Format(layout)
	for _, u := range list {
		messages[u.Message] = true
	}
	if len(messages) > 1 {
		when += " to " + list[len(list)-1].Written.In(zone).Format(layout)
	}
	return fmt.Sprintf("I could not reach you here for a while. %s of mine, %s, did not arrive, or only in part. "+
		"Ask me again for what you still need.", words.Count(len(messages), "message"), when)
}

// NotifyDropped notifies the admins, once a day and channel, that parts which waited for a channel that
// is away were dropped, and has their people be told as soon as it is back.
func (ls *Connections) NotifyDropped(ctx context.Context, channel string, parts int64) {
	text := fmt.Sprintf("The channel %s is away. Too much waits for it, so the oldest was dropped: %s. The people there are told when it is back. "+
		"`[router] away_limit` says how much is kept; \"switchboard delivery list --state dropped\" lists what was dropped.",
		render.Escape(channel), words.Count(int(parts), "part"))
	ls.NotifyOnce(ctx, NoticeDeadDelivery, channel+" away", text, 24*time.Hour)
	ls.Committed(channels.Conversation{Channel: channel})
}

// lostAlert tells the admins of answers that are no notices themselves.
func (s *sender) lostAlert(ctx context.Context, list []Unnamed) {
	if !slices.ContainsFunc(list, func(u Unnamed) bool { return !u.Notice && !u.Dropped }) {
		return
	}
	conv := list[0].Conversation
	text := fmt.Sprintf("An answer on %s, in %s, may not have arrived: the platform never confirmed it. "+
		"The people there are told. \"switchboard delivery list --state unknown\" lists all of them.",
		render.Escape(conv.Channel), render.Escape(words.OneLine(calledSo(conv), ShownName)))
	s.line.lines.notifyBut(ctx, NoticeDeadDelivery, conv.Channel+" unknown", text, "label", conv, noticeQuiet)
}
