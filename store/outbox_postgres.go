package store

import (
	"context"
	"fmt"
	"time"

	"switchboard/channels"
	"switchboard/router"
)

// What sb_begin gives and sb_settle takes.
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
		Kind     string  `json:"kind"`
		Place    string  `json:"place"`
		Title    string  `json:"title"`
	}
	settleArg struct {
		ID           int64    `json:"id"`
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
		Body         *partArg `json:"body"`
	}
)

func (db *DB) callBegin(ctx context.Context, hold router.Hold, conv channels.ConversationID) (*router.Delivery, time.Time, error) {
	var got begunArg
	err := db.call(ctx, full, "begin delivery", &got, callBegin,
		clean(hold.Channel), hold.Fence, clean(string(conv)), db.now().UnixMicro())
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case got.Fenced:
		return nil, time.Time{}, fmt.Errorf("begin delivery: %w", router.ErrFenced)
	case got.ID == 0:
		return nil, instant(got.Due), nil
	}
	d := &router.Delivery{
		ID: got.ID, MessageID: got.Message, Body: channels.Body{Text: got.Text}, ReplyTo: channels.MessageID(got.ReplyTo),
		Conversation: channels.Conversation{
			Channel: clean(hold.Channel), ID: channels.ConversationID(clean(string(conv))), Kind: channels.ConversationKind(got.Kind),
			Place: got.Place, Title: got.Title,
		},
		Nonce: got.Nonce, Part: got.Part, Last: got.Last, State: router.DeliveryState(got.State), Tries: got.Tries,
		Repeated: got.Repeated, FirstTry: instant(got.FirstTry), LastTry: instant(got.LastTry),
	}
	d.PlatformID = channels.MessageID(got.Platform)
	if got.Rich != nil {
		d.Body.Rich = []byte(*got.Rich)
	}
	return d, time.Time{}, parseExtra(got.Extra, &d.Body)
}

func (db *DB) callSettle(ctx context.Context, hold router.Hold, d *router.Delivery, s *router.Settlement) error {
	arg := settleArg{
		ID: d.ID, Was: string(d.State), State: string(s.State), Settled: settles(s), Outcome: clean(s.Outcome), Detail: clean(s.Detail),
		PlatformID: clean(string(s.PlatformID)), NextAt: micros(s.NextAt), Repeated: s.Repeated, Unedit: s.Unedit,
		Free: s.FreeTry && s.State == router.DeliveryPending, Conversation: s.Conversation,
	}
	if s.Body != nil {
		arg.Body = &partArg{Text: clean(s.Body.Text), Rich: richText(s.Body.Rich), Extra: extraText(s.Body)}
	}
	var done bool
	err := db.call(ctx, rides, "settle delivery", &done, callSettle, clean(hold.Channel), hold.Fence, db.now().UnixMicro(), jsonText(arg))
	if err == nil && !done {
		err = fmt.Errorf("settle delivery: %w", router.ErrFenced)
	}
	return err
}
