package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"switchboard/channels"
)

// Clean is a text without NULs, which no database of ours takes.
func Clean(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// Fingerprint names what has no number by its bytes, in 32 letters and digits.
func Fingerprint(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Undecodable is the event of what could not be read. It keeps a copy of raw.
func Undecodable(channel string, key channels.EventKey, raw []byte, why error) *channels.Event {
	return &channels.Event{
		Key: key, Kind: channels.EventUndecodable,
		Conversation: channels.Conversation{Channel: channel}, Raw: bytes.Clone(raw), Reason: why.Error(),
	}
}
