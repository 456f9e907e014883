package store

import (
	"context"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/router/ledger"
	"switchboard/store/database"
)

// What sb_begin gives, and what sb_settles takes and gives, one of each list.
type (
	begunArg struct {
		Fenced   bool    `json:"fenced"`
		Due      int64   `json:"due"`
		ID       int64   `json:"id"` // 0: nothing to do
		Message  int64   `json:"message"`
		Text     string  `json:"text"`
		Rich     *string `json:"rich"`
		Extra    *string `json:"extra"`
		Platform string  `json:"platform_id"`
		ReplyTo  string  `json:"reply_to"`
		Nonce    string  `json:"nonce"`
		Part     int     `json:"part"`
		Last     bool    `json:"last"`
		State    string  `json:"state"`
		Tries    int     `json:"tries"`
		Repeated bool    `json:"repeated"`
		FirstTry int64   `json:"first_try"`
		LastTry  int64   `json:"last_try"`
		Written  int64   `json:"written"`
		Kind     string  `json:"kind"`
		Place    string  `json:"place"`
		Title    string  `json:"title"`
	}
	settleArg struct {
		Channel      string   `json:"channel"`
		Fence        int64    `json:"fence"`
		Now          int64    `json:"now"`
		ID           int64    `json:"id"`
		LastTry      int64    `json:"last_try"`
		Was          string   `json:"was"`
		State        string   `json:"state"`
		Settled      bool     `json:"settled"`
		Outcome      string   `json:"outcome"`
		Detail       string   `json:"detail"`
		PlatformID   string   `json:"platform_id"`
		NextAt       int64    `json:"next_at"`
		Repeated     bool     `json:"repeated"`
		Unedit       bool     `json:"unedit"`
		Free         bool     `json:"free"`
		Conversation bool     `json:"conversation"`
		Event        string   `json:"event"` // its data; empty: none
		Body         *partArg `json:"body"`
	}
	settledArg struct {
		Done bool `json:"done"` // false: fenced
		More bool `json:"more"`
	}
)

func (db *DB) callBegin(ctx context.Context, hold ledger.Hold, conv channels.ConversationID) (*ledger.Delivery, time.Time, error) {
	var got begunArg
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
	d, err := got.delivery(hold.Channel, conv)
	return d, time.Time{}, err
}

func (g *begunArg) delivery(channel string, conv channels.ConversationID) (*ledger.Delivery, error) {
	d := &ledger.Delivery{
		ID: g.ID, MessageID: g.Message, Body: channels.Body{Text: g.Text}, ReplyTo: channels.MessageID(g.ReplyTo),
		Conversation: channels.Conversation{
			Channel: clean(channel), ID: channels.ConversationID(clean(string(conv))), Kind: channels.ConversationKind(g.Kind),
			Place: g.Place, Title: g.Title,
		},
		Nonce: g.Nonce, Part: g.Part, Last: g.Last, State: ledger.DeliveryState(g.State), Tries: g.Tries,
		Repeated: g.Repeated, FirstTry: instant(g.FirstTry), LastTry: instant(g.LastTry),
		Written: instant(g.Written),
	}
	d.PlatformID = channels.MessageID(g.Platform)
	return d, readBody(&d.Body, g.Rich, g.Extra)
}

func (db *DB) callSettle(ctx context.Context, hold ledger.Hold, d *ledger.Delivery, s *ledger.Settlement) (more bool, err error) {
	arg := settleArg{
		Channel: clean(hold.Channel), Fence: hold.Fence, Now: db.now().UnixMicro(),
		ID: d.ID, LastTry: micros(d.LastTry), Was: string(d.State), State: string(s.State), Settled: settles(s), Outcome: clean(s.Outcome), Detail: clean(s.Detail),
		PlatformID: clean(string(s.PlatformID)), NextAt: micros(s.NextAt), Repeated: s.Repeated, Unedit: s.Unedit,
		Free: s.FreeTry && s.State == ledger.DeliveryPending, Conversation: s.Conversation,
	}
	if needsEvent(d, s) {
		arg.Event = deliveryEvent(0, d.ID, d.Part, s.State, s.Outcome).Data
	}
	if s.Body != nil {
		arg.Body = &partArg{Text: clean(s.Body.Text), Rich: richText(s.Body.Rich), Extra: extraText(s.Body)}
	}
	var got settledArg
	if arg.Event == "" {
		err = db.CallJoined(ctx, database.Result, "settle delivery", &got, callSettle, d.ID, jsonText(arg))
	} else { // which locks a session, in no order with those of others
		list := []*settledArg{&got}
		err = db.Call(ctx, rides, "settle delivery", &list, callSettle, jsonText([]settleArg{arg}))
	}
	if err == nil && !got.Done {
		err = fmt.Errorf("settle delivery: %w", ledger.ErrFenced)
	}
	return got.More, err
}
