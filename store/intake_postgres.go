package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/lib/pq"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/ledger"
)

// What sb_accept gives.
type (
	acceptedArg struct {
		Duplicate, Waiting            bool
		Rejected                      string
		Message, Turn, Event, Session int64
		Situation                     ledger.Situation
		Claimed                       *claimedArg
	}
	claimedArg struct {
		Turn, Session, Fence int64
		Person               string
		Data                 *alongArg
	}
)

func (db *DB) callAccept(ctx context.Context, owner int64, entries []ledger.Entry) ([]ledger.Accepted, error) {
	now := db.now().UnixMicro()
	args := make([]object, len(entries))
	for i := range entries {
		args[i] = entryArg(&entries[i], now)
	}
	var got []acceptedArg
	err := db.Call(ctx, full, "accept", &got, callAccept, owner, now, objectText(args))
	if pe, ok := errors.AsType[*pq.Error](err); ok && pe.Code == unsaid {
		if err = json.Unmarshal([]byte(pe.Detail), &got); err == nil {
			err = ledger.ErrUnsaid
		}
	}
	if err != nil && !errors.Is(err, ledger.ErrUnsaid) {
		return nil, err
	}
	out := make([]ledger.Accepted, len(got))
	for i, g := range got {
		out[i] = ledger.Accepted{
			Receipt: channels.Receipt{
				Duplicate: g.Duplicate, Rejected: g.Rejected, MessageID: g.Message, TurnID: g.Turn, Event: g.Event,
			},
			SessionID: g.Session, Situation: g.Situation, Waiting: g.Waiting, Claimed: g.Claimed.claimed(),
		}
	}
	return out, err
}

// unsaid is by which sb_accept says ledger.ErrUnsaid, with what would have become of the
// entries.
const unsaid = "SB003"

// isOpenQuestion says that sb_accept did nothing, because a text may answer a question:
// that is looked into in several round trips.
func isOpenQuestion(err error) bool {
	pe, ok := errors.AsType[*pq.Error](err)
	return ok && pe.Code == "SB002"
}

func (c *claimedArg) claimed() *ledger.Claimed {
	if c == nil {
		return nil
	}
	ref := ledger.TurnRef{TurnID: c.Turn, SessionID: c.Session, Fence: c.Fence}
	return &ledger.Claimed{TurnRef: ref, Person: c.Person, Data: c.Data.load(ref)}
}

func entryArg(e *ledger.Entry, now int64) object {
	c, m, taint := cleanConversation(e.Event.Conversation), &e.Event.Message, clean(string(e.Taint))
	files, replies := make([]object, len(m.Attachments)), object{}
	for i, a := range m.Attachments {
		files[i] = object{"id": clean(a.ID), "kind": a.Kind, "name": clean(a.Name), "type": clean(a.Type), "size": a.Size, "taint": taint}
	}
	for situation, reply := range e.Replies {
		replies[string(situation)] = replyArg(reply, nil)
	}
	arg := object{
		"key": e.Key, "key_expires": now + keysLive.Microseconds(), "replies": replies,
		"channel": c.Channel, "conversation": c.ID, "kind": c.Kind, "place": c.Place, "title": c.Title,
		"person": clean(e.Sender.Person), "identity": clean(e.Sender.Identity), "rule": clean(e.Sender.Rule), "origin": clean(e.Origin),
		"author": clean(cmp.Or(e.Sender.Person, e.Event.Sender.Label)), "platform_id": clean(string(m.ID)), "reply_to": clean(string(m.ReplyTo)),
		"text": clean(m.Text), "quote": clean(m.Quote), "outside": m.Outside(), "forwarded_from": clean(m.Origin), "taint": taint,
		"happened_at": micros(e.Event.At), "attachments": files,
	}
	if m := e.Event.Mark; m.Value != "" {
		arg["mark"] = object{"conversation": clean(string(m.Conversation)), "value": clean(m.Value)}
	}
	switch as := e.As.(type) {
	case *ledger.AsTurn:
		arg["class"], arg["queue_limit"], arg["asked_at"] = classTurn, as.QueueLimit, micros(as.Asked)
		arg["choice"], arg["may_claim"] = as.Choice, as.MayClaim
	case *ledger.AsControl:
		arg["class"], arg["effect"] = controlClass(as), as.Effect
		arg["reply"] = replyArg(as.Reply, nil)
	case *ledger.AsAudit:
		arg["class"], arg["reject"], arg["raw"] = as.Why, clean(as.Reason), rawOf(e)
	}
	return arg
}

// replyArg is outgoing's message as an argument; nil stays nil.
func replyArg(r *ledger.Reply, say *agent.Say) object {
	if r == nil {
		return nil
	}
	parts := make([]object, len(r.Parts))
	for i := range r.Parts {
		parts[i] = bodyArg(&r.Parts[i])
		parts[i]["nonce"] = rand.Text()
	}
	o := originOf(r, say)
	arg := object{
		"class": o.class, "person": clean(r.Person), "author": botAuthor, "reply_to": clean(string(r.ReplyTo)), "text": clean(r.Text),
		"taint": clean(string(r.Taint)), "notice": r.Notice, "final": r.Final, "read": r.Read,
		"attempt": o.attempt, "position": o.position, "choices": o.choices, "said": o.said, "parts": parts,
	}
	if o := r.Open; o != nil {
		o.Begun = nil // of an earlier try
		arg["open"] = object{"channel": clean(o.Hold.Channel), "fence": o.Hold.Fence, "conversation": clean(string(o.Conversation.ID))}
	}
	return arg
}

func bodyArg(b *channels.Body) object {
	return object{"text": clean(b.Text), "rich": richText(b.Rich), "extra": extraText(b)}
}
