package discord

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
)

const (
	// window is how long a nonce is sure to be enforced; the platform says "the past few minutes".
	//
	// Source: https://docs.discord.com/developers/resources/message#create-message "enforce_nonce".
	window = 2 * time.Minute
	// clocks is how far the platform's clock and ours may differ.
	clocks = time.Minute
)

// Window is how long the platform drops a second part with the same nonce.
func (c *Client) Window() time.Duration { return window }

// Find implements channels.Finder: the bot's own message since the first try that says the same,
// has the same files and is no other part's. History tells no nonce.
//
// Source: https://github.com/Rapptz/discord.py/issues/2451.
func (c *Client) Find(ctx context.Context, out channels.Outbound) (channels.MessageID, bool, error) {
	at, err := here(opHistory, out.Conversation)
	if err != nil {
		return "", false, err
	}
	want, err := newPost(opHistory, out.Body)
	if err != nil || out.FirstTry.IsZero() { // it was never tried
		return "", false, err
	}
	me, err := c.myID(ctx)
	if err != nil {
		return "", false, err
	}
	id, found := channels.MessageID(""), false
	if _, outside := c.outside.Get(at); !outside {
		id, found, err = c.findIn(ctx, at, me, 0, want, &out)
	}
	// A former process may have answered around the thread. A forum has no messages of its own.
	if up := around(out.Conversation); up != 0 && !found && (err == nil || errors.Is(err, channels.ErrGone)) {
		if id, found, err = c.findIn(ctx, up, me, at, want, &out); wire.Final(err) {
			err = nil
		}
	}
	return id, found, wire.Unless(err, channels.ErrGone)
}

// findIn looks in one channel. Where thread is not zero, only a reply to the message that it begins
// at is of its conversation.
func (c *Client) findIn(ctx context.Context, at, me, thread snowflake, want *post, out *channels.Outbound) (channels.MessageID, bool, error) {
	for after := since(out.FirstTry.Add(-clocks)); ; {
		list, err := c.history(ctx, at, after)
		if err != nil {
			return "", false, err
		}
		for _, raw := range list {
			var m message
			if json.Unmarshal(raw, &m) == nil {
				after = max(after, m.ID)
			}
			if m.Author == nil || m.Author.ID != me || !same(m, want, out.Body.Files) ||
				thread != 0 && (m.Reference == nil || m.Reference.Message != thread) {
				continue
			}
			taken := false
			if out.Taken != nil {
				taken, err = out.Taken(ctx, messageID(m.ID))
			}
			if err != nil || !taken {
				return messageID(m.ID), err == nil, err
			}
		}
		if len(list) < pageSize {
			return "", false, nil
		}
	}
}

// same says whether a message says what a part says, with its files. The platform trims texts.
func same(m message, want *post, files []channels.File) bool {
	return strings.TrimSpace(m.Content) == strings.TrimSpace(want.Content) &&
		slices.EqualFunc(m.Files, files, func(a file, b channels.File) bool { return a.Size == b.Size && alike(a.Filename, b.Name) })
}

// alike says whether a file shown under one name may have been sent under the other. Of a name
// the platform surely keeps letters and digits, but not those of another script.
//
// Source: https://github.com/discord/discord-api-docs/pull/4292,
// https://github.com/discord/discord-api-docs/pull/6945.
func alike(shown, sent string) bool {
	other := strings.ContainsFunc(sent, func(r rune) bool { return r > unicode.MaxASCII })
	return other || letters(shown) == letters(sent)
}

// letters are the first letters and digits of a name.
func letters(name string) string {
	all := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name)
	return render.Clip(all, 60)
}
