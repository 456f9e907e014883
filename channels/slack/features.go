package slack

import (
	"maps"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/channels/render"
)

const (
	// maxText is the longest text of one message, in UTF-16 code units. The platform says
	// "characters", and recommends this for new messages; changed ones may not be longer.
	//
	// Source: https://docs.slack.dev/reference/methods/chat.postMessage "Truncating content",
	// https://docs.slack.dev/reference/methods/chat.update "msg_too_long".
	maxText = 4000
	// draftEvery is the least time between two changes of a draft. grownFor is how long a draft that is
	// changed no more counts as one that grows.
	draftEvery, grownFor = 1200 * time.Millisecond, 5 * time.Minute
)

// growing are the drafts that grow.
type growing struct {
	mu   sync.Mutex
	last map[channels.MessageID]time.Time // when each was changed
}

func (g *growing) begin(id channels.MessageID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		g.last = map[channels.MessageID]time.Time{}
	}
	g.last[id] = time.Now()
}

func (g *growing) end(id channels.MessageID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.last, id)
}

func (g *growing) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.last, func(_ channels.MessageID, at time.Time) bool { return time.Since(at) > grownFor })
	return len(g.last)
}

// every is how often each of the drafts is changed, so that all get their share of what a minute has room
// for, less one for the end of each.
func (g *growing) every() time.Duration {
	open := g.count()
	return max(draftEvery, time.Minute*time.Duration(open)/time.Duration(max(tier3-open, 1)))
}

// rates are the sending limits: one message a second in a conversation, a few hundred a
// minute in the workspace.
//
// Source: https://docs.slack.dev/apis/web-api/rate-limits.
var rates = channels.Rates{PerSecond: 5, PerConversationSecond: 1}

// Features implements channels.Channel. In threads there are no slash commands: there people
// name the bot.
//
// Source: https://docs.slack.dev/interactivity/implementing-slash-commands. What others wrote a
// bot cannot delete: https://docs.slack.dev/reference/methods/chat.delete.
func (c *Client) Features(conv channels.Conversation) channels.Features {
	command := c.cfg.Command + " "
	if me := c.self.Load(); me != nil && conv.Kind == channels.Thread {
		command = "@" + me.Name + " /"
	}
	return channels.Features{
		Command: command,
		MaxText: maxText, Measure: render.Units,
		Files: true, FilesPerPart: maxFiles, MaxFile: maxFile,
		Buttons: true, MaxButtons: maxRows * maxInRow, Markdown: true,
		DraftEvery: c.growing.every(), Rates: rates,
	}
}
