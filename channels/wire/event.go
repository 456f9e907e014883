package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/retry"
)

// Clean is a text without NULs, which no database of ours takes.
func Clean(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// Addressed is a text without the bot's name, which ends at to and only says whom the text is for; the
// whole one where nothing stands behind.
func Addressed(text string, to int) string {
	return cmp.Or(strings.TrimLeft(text[to:], " \t\n\u00a0,:;"), text)
}

// fingerprint names what has no number by its bytes, in 32 letters and digits.
func fingerprint(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Ignoring is table with these words as keys that mean nothing.
func Ignoring[V any](table map[string]V, words string) map[string]V {
	var nothing V
	for word := range strings.FieldsSeq(words) {
		table[word] = nothing
	}
	return table
}

// Key names one thing of a kind that a platform told an account by what tells it from others.
// Nothing in it holds a colon but the last part, so two different things never share one.
func Key(account, kind string, parts ...string) channels.EventKey {
	return channels.EventKey(account + ":" + kind + ":" + strings.Join(parts, ":"))
}

// Undecodable is the event of what could not be read: of a kind with this id or, where it has none
// either, named by its bytes. It keeps a copy of raw.
func Undecodable(channel, account, kind, id string, raw []byte, why error) *channels.Event {
	key := Key(account, kind, id)
	if id == "" {
		key = Key(account, "bytes", fingerprint(raw))
	}
	return &channels.Event{
		Key: key, Kind: channels.EventUndecodable,
		Conversation: channels.Conversation{Channel: channel}, Raw: bytes.Clone(raw), Reason: why.Error(),
	}
}

// HandIn calls accept until it returns nil, with pauses of first, doubling to most. Between two
// tries more adds what came meanwhile: whether an event fails by its own fault shows when
// others are taken. It returns the error of more, or why ctx ended.
func HandIn(ctx context.Context, log *slog.Logger, first, most time.Duration, accept, more func() error) error {
	for try := 0; ; try++ {
		err := accept()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		log.WarnContext(ctx, "events not accepted; they are handed in again", "error", err)
		if !retry.Sleep(ctx, retry.Pause(try, first, most)) {
			return context.Cause(ctx)
		}
		if err := more(); err != nil {
			return err
		}
	}
}

// Retry makes a call again after each rate limit, as long as ctx leaves the time for that.
func Retry[T any](ctx context.Context, call func() (T, error)) (T, error) {
	for {
		result, err := call()
		limited, ok := errors.AsType[*channels.RateLimitError](err)
		if !ok {
			return result, err
		}
		wait := max(cmp.Or(limited.RetryAfter, time.Second), 100*time.Millisecond)
		if end, bounded := ctx.Deadline(); bounded && time.Until(end) < wait || !retry.Sleep(ctx, wait) {
			return result, err
		}
	}
}
