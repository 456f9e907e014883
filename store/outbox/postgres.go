package outbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"switchboard/agent"
	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/sessions"
)

// Special says that a reply has more than text in parts.
func Special(r outbox.Reply) bool { return r.Draft != 0 || len(r.Actions) > 0 }

// ReplyArg is outgoing's message as an argument; nil stays nil.
func ReplyArg(r *outbox.Reply, say *agent.Say) sessions.Object {
	if r == nil {
		return nil
	}
	parts := make([]sessions.Object, len(r.Parts))
	for i := range r.Parts {
		parts[i] = bodyArg(&r.Parts[i])
		parts[i]["nonce"] = rand.Text()
	}
	o := originOf(r, say)
	arg := sessions.Object{
		"class": o.class, "person": r.Person, "author": botAuthor, "reply_to": r.ReplyTo, "text": r.Text,
		"taint": r.Taint, "notice": r.Notice, "final": r.Final, "read": r.Read,
		"attempt": o.attempt, "position": o.position, "choices": o.choices, "said": o.said, "parts": parts,
	}
	if o := r.Open; o != nil {
		o.Begun = nil // of an earlier try
		arg["open"] = sessions.Object{"channel": o.Lease.Channel, "fence": o.Lease.Fence, "conversation": o.Conversation.ID}
	}
	return arg
}

func bodyArg(b *channels.Body) sessions.Object {
	return sessions.Object{"text": b.Text, "rich": richText(b.Rich), "extra": extraText(b)}
}

const (
	callBegin  = `SELECT sb_begin($1, $2, $3, $4)`
	callSettle = `SELECT sb_settles($1)`
)

func (db *Store) callBegin(ctx context.Context, hold outbox.Lease, conv channels.ConversationID) (*outbox.Delivery, time.Time, error) {
	var got struct {
		HeadRow
		Fenced bool
		Due    int64
	}
	err := db.Call(ctx, database.Durable, "begin delivery", &got, callBegin,
		database.Clean(hold.Channel), hold.Fence, database.Clean(string(conv)), db.Now().UnixMicro())
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case got.Fenced:
		return nil, time.Time{}, fmt.Errorf("begin delivery: %w", core.ErrFenced)
	case got.ID == 0:
		return nil, database.Instant(got.Due), nil
	}
	d, err := got.Delivery(hold, conv)
	return d, time.Time{}, err
}

func (db *Store) callSettle(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, s *outbox.Settlement) (more bool, err error) {
	arg := sessions.Object{
		"channel": hold.Channel, "fence": hold.Fence, "now": db.Now().UnixMicro(), "id": d.ID, "last_try": d.LastTry,
		"was": d.State, "state": s.State, "settled": settles(s), "outcome": s.Outcome, "detail": s.Detail,
		"platform_id": s.PlatformID, "next_at": s.NextAt, "repeated": s.Repeated, "unedit": s.Unedit, "fresh": s.Fresh, "unnamed": s.Unnamed,
		"free": s.FreeTry && s.State == outbox.DeliveryPending, "conversation": s.Conversation, "event": "",
	}
	if s.Body != nil {
		arg["body"] = bodyArg(s.Body)
	}
	var got [1]struct{ Done, More bool } // not done: fenced
	if sessions.NeedsEvent(d, s) {       // it locks a session, in no order with those of others
		arg["event"] = sessions.DeliveryEvent(0, d.ID, d.Part, s.State, s.Outcome).Data
		err = db.Call(ctx, database.Async, "settle delivery", &got, callSettle, sessions.ObjectText([]sessions.Object{arg}))
	} else {
		err = db.CallJoined(ctx, database.Result, "settle delivery", &got[0], callSettle, d.ID, sessions.ObjectText(arg))
	}
	if err == nil && !got[0].Done {
		err = fmt.Errorf("settle delivery: %w", core.ErrFenced)
	}
	return got[0].More, err
}
