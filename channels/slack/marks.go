package slack

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
)

// recent is how old the last word in a place may be for its history to be read.
const recent = 7 * 24 * time.Hour

// A mark says how far the history of a channel or thread was read.
type mark struct {
	ts        string
	mentioned bool // thread: the bot was named in it, so later messages need not
	root      bool // thread: the channel's history was read up to its first message
	group     bool // the channel is a group message
}

// String is the mark as it is stored.
func (m mark) String() string {
	flags := ""
	for _, f := range []struct {
		on   bool
		sign string
	}{{m.mentioned, "m"}, {m.root, "r"}, {m.group, "g"}} {
		if f.on {
			flags += f.sign
		}
	}
	if flags != "" {
		return m.ts + "," + flags
	}
	return m.ts
}

// parseMark is the reverse; ok is false for what is no mark of ours.
func parseMark(text string) (m mark, ok bool) {
	ts, flags, _ := strings.Cut(text, ",")
	if !tsShape.MatchString(ts) {
		return mark{}, false
	}
	return mark{
		ts: ts, mentioned: strings.Contains(flags, "m"), root: strings.Contains(flags, "r"), group: strings.Contains(flags, "g"),
	}, true
}

// and is a mark that says what either says.
func (m mark) and(old mark) mark {
	return mark{newer(old.ts, m.ts), m.mentioned || old.mentioned, m.root || old.root, m.group || old.group}
}

// A noted is a mark with when it was noted.
type noted struct {
	mark
	at time.Time
}

// notes are what is noted of channels and threads.
type notes map[channels.ConversationID]noted

// marks are how far channels and threads were read, as was committed.
type marks struct {
	mu     sync.Mutex
	known  notes
	groups map[string]bool // channels that are group messages
}

// note remembers a mark in marks. One of a thread says how far its channel was read, too, where the
// thread's first message was read with that.
func (k *marks) note(in notes, m channels.Mark, at time.Time) {
	parsed, ok := parseMark(m.Value)
	channel, thread, err := parseConversation(m.Conversation)
	if !ok || err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remember(in, m.Conversation, parsed, at)
	if thread != "" && parsed.root {
		k.remember(in, conversationID(channel, ""), mark{ts: thread}, at)
	}
	if parsed.group {
		k.groups[channel] = true
	}
}

// remember is called under the lock.
func (k *marks) remember(in notes, id channels.ConversationID, m mark, at time.Time) {
	old, ok := in[id]
	if !ok {
		old = k.known[id]
	}
	if old.at.After(at) {
		at = old.at
	}
	in[id] = noted{m.and(old.mark), at}
}

// mark is what is noted with a message: how far its channel or thread was read.
func (k *marks) mark(id channels.ConversationID, m mark, ahead notes) channels.Mark {
	old, _ := k.marked(id, ahead)
	return channels.Mark{Conversation: id, Value: m.and(old.mark).String()}
}

// marked is the mark of a channel or thread; ahead are marks that are not committed yet.
func (k *marks) marked(id channels.ConversationID, ahead notes) (m noted, ok bool) {
	if m, ok = ahead[id]; ok {
		return m, true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	m, ok = k.known[id]
	return m, ok
}

func (k *marks) isGroup(channel string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.groups[channel]
}

// group notes that a channel is a group message.
func (k *marks) group(channel string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.groups[channel] = true
}

// openGaps are the places where something may have been missed, the latest first.
func (k *marks) openGaps(now time.Time) (map[channels.ConversationID]*gap, []*gap) {
	k.mu.Lock()
	defer k.mu.Unlock()
	gaps, order := map[channels.ConversationID]*gap{}, []*gap{}
	for id, m := range k.known {
		if now.Sub(m.at) < recent {
			gaps[id] = &gap{id: id, since: m.mark}
			order = append(order, gaps[id])
		}
	}
	slices.SortFunc(order, func(a, b *gap) int {
		return cmp.Or(k.known[b.id].at.Compare(k.known[a.id].at), cmp.Compare(a.id, b.id))
	})
	return gaps, order
}
