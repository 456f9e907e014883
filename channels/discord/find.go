package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
)

const (
	// window is how long a nonce is sure to be enforced; the platform says "the past few minutes".
	//
	// Source: https://docs.discord.com/developers/resources/message#create-message "enforce_nonce".
	window = 2 * time.Minute
	// clocks is how far the platform's clock and ours may differ.
	clocks = time.Minute
)

// claim says whether a message is the part's with that nonce, or becomes it: history tells no
// nonce, so a message that is looked for is known by when it came and what it says, and each is
// one part's.
//
// Source: https://github.com/Rapptz/discord.py/issues/2451.
func (c *Client) claim(id channels.MessageID, nonce string) bool {
	return c.claimed.First(id, nonce) == nonce
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
	if t, known := c.tried.Get(out.Nonce); known && (began.IsZero() || t.Before(began)) {
		began = t
	}
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
			if m.Author != nil && m.Author.ID == c.me().id && same(m, want, out.Body.Files) && c.claim(messageID(m.ID), out.Nonce) {
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
