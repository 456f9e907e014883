package store

import (
	"context"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/store/database"
)

func (db *DB) callBegin(ctx context.Context, hold ledger.Hold, conv channels.ConversationID) (*ledger.Delivery, time.Time, error) {
	var got struct {
		headRow
		Fenced bool
		Due    int64
	}
	err := db.Call(ctx, full, "begin delivery", &got, callBegin,
		clean(hold.Channel), hold.Fence, clean(string(conv)), db.now().UnixMicro())
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case got.Fenced:
		return nil, time.Time{}, fmt.Errorf("begin delivery: %w", ledger.ErrFenced)
	case got.ID == 0:
		return nil, instant(got.Due), nil
	}
	d, err := got.delivery(hold, conv)
	return d, time.Time{}, err
}

func (db *DB) callSettle(ctx context.Context, hold ledger.Hold, d *ledger.Delivery, s *ledger.Settlement) (more bool, err error) {
	arg := object{
		"channel": clean(hold.Channel), "fence": hold.Fence, "now": db.now().UnixMicro(), "id": d.ID, "last_try": micros(d.LastTry),
		"was": d.State, "state": s.State, "settled": settles(s), "outcome": clean(s.Outcome), "detail": clean(s.Detail),
		"platform_id": clean(string(s.PlatformID)), "next_at": micros(s.NextAt), "repeated": s.Repeated, "unedit": s.Unedit, "fresh": s.Fresh, "unnamed": s.Unnamed,
		"free": s.FreeTry && s.State == ledger.DeliveryPending, "conversation": s.Conversation, "event": "",
	}
	if s.Body != nil {
		arg["body"] = bodyArg(s.Body)
	}
	var got [1]struct{ Done, More bool } // not done: fenced
	if needsEvent(d, s) {                // it locks a session, in no order with those of others
		arg["event"] = deliveryEvent(0, d.ID, d.Part, s.State, s.Outcome).Data
		err = db.Call(ctx, rides, "settle delivery", &got, callSettle, objectText([]object{arg}))
	} else {
		err = db.CallJoined(ctx, database.Result, "settle delivery", &got[0], callSettle, d.ID, objectText(arg))
	}
	if err == nil && !got[0].Done {
		err = fmt.Errorf("settle delivery: %w", ledger.ErrFenced)
	}
	return got[0].More, err
}
