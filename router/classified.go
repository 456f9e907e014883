package router

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"switchboard/channels"
	"switchboard/router/commands"
	"switchboard/router/core"
	"switchboard/router/intake"
	"switchboard/router/outbox"
	"switchboard/router/turns"
)

// A classified is an event with what it is taken as, and what is done beside its commit.
type classified struct {
	intake.Entry
	line       *channel                              // nil: there is none of that name
	aside      string                                // is said to the person besides, once, in a message of its own
	busy       string                                // why nothing of it is taken for now; empty: it is
	charge     charge                                // is counted for the person once the entry is committed
	background func(context.Context) commands.Answer // goes on once a command is committed; nil: nothing does
	secret     typedSecret
	unsaid     intake.Outcome                                                               // nothing is said in it
	asked      *outbox.Reply                                                                // is said to a stranger for whom the admins are asked
	typed      func(ctx context.Context, entry classified, text string) (classified, error) // takes a press as that command
}

// kept says that an entry is kept for that reason, and nobody is answered.
func (e *classified) kept(why intake.Audit) bool {
	audit, ok := e.Intent.(*intake.AuditIntent)
	return ok && audit.Why == why
}

// unanswered says that an entry brings nothing that is sent or read: a flood of them costs
// its own row each and no look at what is to be sent.
func (e *classified) unanswered() bool {
	return e.kept(intake.AuditStranger) || e.kept(intake.AuditOverheard) || e.kept(intake.AuditRejected)
}

// rejected makes an entry one that is kept raw and nothing else.
func rejected(entry classified, reason string) classified {
	entry.Intent = &intake.AuditIntent{Why: intake.AuditRejected, Reason: reason}
	entry.Sender.New, entry.charge, entry.aside = false, charge{}, "" // nothing of it is done
	if entry.Event.Raw == nil {
		entry.Event.Raw = []byte(entry.Event.Message.Text)
	}
	// Besides the raw bytes only what labels them is kept, and that made readable.
	c := entry.Event.Conversation
	id := []rune(readable(string(c.ID)))
	entry.Event.Conversation = channels.Conversation{
		Channel: c.Channel, ID: channels.ConversationID(id[:min(len(id), 200)]), Kind: channels.Direct,
	}
	return entry
}

// overheard makes the entry of what is kept without an answer though its sender may be served:
// rule says why.
func overheard(entry classified, rule string) classified {
	entry.Intent = &intake.AuditIntent{Why: intake.AuditOverheard}
	entry.Sender = intake.Sender{Identity: entry.Sender.Identity, Rule: rule}
	return entry
}

// eventKey makes the key under which an event is remembered: a hash, so that it
// outlives what it came with.
func eventKey(event channels.Event) []byte {
	key := sha256.Sum256([]byte(event.Conversation.Channel + "\x00" + string(event.Key)))
	return key[:]
}

// ownText says that a message is what the person typed and nothing else, so that it
// may be a command, a stop word or a choice. Whether there is a question it answers is
// known in the transaction.
func ownText(m channels.Message) bool { return len(m.Attachments) == 0 && !m.Outside() }

// command is the command that a message is: one that somebody else wrote is none, nor is
// what came with a file, which would be lost.
func command(message channels.Message) (name, args string, ok bool) {
	if !ownText(message) {
		return "", "", false
	}
	return commands.In(message.Text)
}

func readable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// isNobodysFault says that an error has nothing to do with what was to be read or
// written, so that the same may work later.
func isNobodysFault(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, core.ErrNotNow) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// caught is what classify makes of an entry; of a panic an error of the entry as it is.
func caught(kept classified, classify func() (classified, error)) (entry classified, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			entry = kept
			err = fmt.Errorf("%w: panic: %v\n%s", turns.ErrBroken, fault, debug.Stack())
		}
	}()
	return classify()
}
