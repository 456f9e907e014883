package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
)

const (
	// window is how long a nonce is sure to be enforced; the platform says "the past few minutes".
	//
	// Source: https://docs.discord.com/developers/resources/message#create-message "enforce_nonce".
	window = 2 * time.Minute
	// mostParts bounds what is remembered of parts.
	mostParts = 10_000
	// clocks is how far the platform's clock and ours may differ.
	clocks = time.Minute
)

// parts is what is remembered of what was sent: history tells no nonce, so a message that is
// looked for is known by when it came and what it says, and each is one part's.
//
// Source: https://github.com/Rapptz/discord.py/issues/2451.
type parts struct {
	mu      sync.Mutex
	tried   map[string]time.Time          // by nonce: when it was tried first
	claimed map[channels.MessageID]string // by message: whose it is
	signs   map[channels.MessageID]string // the bot's reactions
}

// try notes that a part is sent.
func (p *parts) try(nonce string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried == nil || len(p.tried) >= mostParts {
		p.tried = map[string]time.Time{}
	}
	if p.tried[nonce].IsZero() {
		p.tried[nonce] = now
	}
}

// claim says whether the message is this part's, or becomes it.
func (p *parts) claim(id channels.MessageID, nonce string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claimed == nil || len(p.claimed) >= mostParts {
		p.claimed = map[channels.MessageID]string{}
	}
	owner, taken := p.claimed[id]
	if !taken {
		p.claimed[id] = nonce
	}
	return !taken || owner == nonce
}

// sign notes the bot's reaction to a message and returns the one before.
func (p *parts) sign(id channels.MessageID, emoji string) (before string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.signs == nil || len(p.signs) >= mostParts {
		p.signs = map[channels.MessageID]string{}
	}
	before = p.signs[id]
	if p.signs[id] = emoji; emoji == "" {
		delete(p.signs, id)
	}
	return before
}

// Window implements channels.Deduper.
func (c *Client) Window() time.Duration { return window }

// Find implements channels.Finder: the bot's own message since the first try that says the same
// and has the same files.
func (c *Client) Find(ctx context.Context, out channels.Outbound) (channels.MessageID, bool, error) {
	at, err := here(opHistory, out.Conversation)
	if err != nil {
		return "", false, err
	}
	want, err := newPost(opHistory, out.Body)
	if err != nil {
		return "", false, err
	}
	began := out.FirstTry
	c.parts.mu.Lock()
	if t := c.parts.tried[out.Nonce]; began.IsZero() || !t.IsZero() && t.Before(began) {
		began = t
	}
	c.parts.mu.Unlock()
	if began.IsZero() {
		return "", false, nil // it was never tried
	}
	after := since(began.Add(-clocks))
	for {
		list, last, err := c.since(ctx, at, after)
		if err != nil {
			return "", false, err
		}
		for _, m := range list {
			if m.Author != nil && m.Author.ID == c.me().id && same(m, want, out.Body.Files) && c.parts.claim(messageID(m.ID), out.Nonce) {
				return messageID(m.ID), true, nil
			}
		}
		if after = last; len(list) < pageSize {
			return "", false, nil
		}
	}
}

// since reads a page of messages after one, the oldest first.
func (c *Client) since(ctx context.Context, at, after snowflake) (list []message, last snowflake, err error) {
	r := about(opHistory, at, "messages")
	r.path += fmt.Sprintf("?after=%s&limit=%d", after, pageSize)
	raws, err := ask[[]json.RawMessage](ctx, c, r, nil)
	last = after
	for _, raw := range slices.Backward(raws) {
		var m message
		if json.Unmarshal(raw, &m) == nil {
			last = max(last, m.ID)
		}
		list = append(list, m)
	}
	return list, last, err
}

// same says whether a message says what a part says, with its files. The platform trims texts.
func same(m message, want *post, files []channels.File) bool {
	if strings.TrimSpace(m.Content) != strings.TrimSpace(want.Content) || len(m.Files) != len(files) {
		return false
	}
	for i := range files {
		if m.Files[i].Size != files[i].Size {
			return false
		}
	}
	return true
}
