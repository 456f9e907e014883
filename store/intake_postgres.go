package store

import (
	"cmp"
	"context"
	"errors"

	"github.com/lib/pq"

	"switchboard/channels"
	"switchboard/router/intake"
	"switchboard/store/database"
	"switchboard/store/outbox"
	"switchboard/store/sessions"
	"switchboard/store/turns"
)

// callAccept is one round trip; docs/decisions/0001-hot-transactions.md says why.
const callAccept = `SELECT sb_accept($1, $2, $3)`

// What sb_accept gives.
type (
	acceptedArg struct {
		Duplicate, Waiting            bool
		Rejected                      string
		Message, Turn, Event, Session int64
		Outcome                       intake.Outcome
		Claimed                       *turns.ClaimedArg
	}
)

func (db *DB) callAccept(ctx context.Context, owner int64, entries []intake.Entry) ([]intake.Accepted, error) {
	now := db.Now().UnixMicro()
	args := make([]sessions.Object, len(entries))
	for i := range entries {
		args[i] = entryArg(&entries[i], now)
	}
	var got []acceptedArg
	err := db.Call(ctx, database.Durable, "accept", &got, callAccept, owner, now, sessions.ObjectText(args))
	if err != nil {
		return nil, err
	}
	out := make([]intake.Accepted, len(got))
	for i, g := range got {
		out[i] = intake.Accepted{
			Receipt: channels.Receipt{
				Duplicate: g.Duplicate, Rejected: g.Rejected, MessageID: g.Message, TurnID: g.Turn, Event: g.Event,
			},
			SessionID: g.Session, Outcome: g.Outcome, Waiting: g.Waiting, Claimed: g.Claimed.Claimed(),
		}
	}
	return out, nil
}

// isOpenQuestion says that sb_accept did nothing, because a text may answer a question, a queue is
// full, which is to be said, or another person wrote there before: that is done in several round trips.
func isOpenQuestion(err error) bool {
	pe, ok := errors.AsType[*pq.Error](err)
	return ok && pe.Code == "SB002"
}

func entryArg(e *intake.Entry, now int64) sessions.Object {
	c, m, taint := sessions.CleanConversation(e.Event.Conversation), &e.Event.Message, database.Clean(string(e.Taint))
	files := make([]sessions.Object, len(m.Attachments))
	for i, a := range m.Attachments {
		files[i] = sessions.Object{"id": a.ID, "kind": a.Kind, "name": a.Name, "type": a.Type, "size": a.Size, "taint": taint}
	}
	arg := sessions.Object{
		"key": e.Key, "key_expires": now + sessions.KeyLives(e).Microseconds(),
		"channel": c.Channel, "conversation": c.ID, "kind": c.Kind, "place": c.Place, "title": c.Title,
		"person": e.Sender.Person, "identity": e.Sender.Identity, "rule": e.Sender.Rule, "origin": e.Origin,
		"author": cmp.Or(e.Sender.Person, e.Event.Sender.Label), "platform_id": m.ID, "reply_to": m.ReplyTo,
		"text": m.Text, "quote": m.Quote, "outside": m.Outside(), "forwarded_from": m.Origin, "taint": taint,
		"happened_at": e.Event.At, "attachments": files,
	}
	if m := e.Event.Mark; m.Value != "" {
		arg["mark"] = sessions.Object{"conversation": m.Conversation, "value": m.Value}
	}
	switch as := e.Intent.(type) {
	case *intake.TurnIntent:
		arg["class"], arg["queue_limit"], arg["asked_at"] = sessions.ClassTurn, as.QueueLimit, database.Micros(as.Asked)
		arg["choice"], arg["may_claim"] = as.Choice, as.MayClaim
	case *intake.ControlIntent:
		arg["class"], arg["effect"] = controlClass(as), as.Effect
		arg["reply"] = outbox.ReplyArg(as.Reply, nil)
	case *intake.AuditIntent:
		arg["class"], arg["reject"], arg["raw"] = as.Why, database.Clean(as.Reason), rawOf(e)
	}
	return arg
}
