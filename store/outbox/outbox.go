// Package outbox has the rows of what we say: messages of ours, their deliveries, drafts and buttons.
package outbox

import (
	"context"
	"time"

	"switchboard/channels"
	"switchboard/router/core"
	"switchboard/router/outbox"
	"switchboard/store/database"
	"switchboard/store/engines"
	"switchboard/store/sessions"
)

// Store reads and writes them in transactions of its own; the functions that take a transaction
// are for what changes more than these. Its methods may be called from several goroutines at once.
type Store struct{ *database.DB }

const (
	// LatestParts are a conversation c and the parts d that were said last in it: nobody means those long before.
	LatestParts = `conversations c JOIN deliveries d ON d.conversation_id = c.id AND d.seq > c.next_seq - 1000`
	leftSending = `
		UPDATE deliveries SET state = 'unknown', outcome = 'holder_gone', updated_at = ?
		WHERE channel = ? AND settled = FALSE AND state = 'sending'`
	// openConversations goes from one open conversation to the next in the index of what
	// is open, however many parts wait in each.
	openConversations = `
		WITH RECURSIVE open (id) AS (
			SELECT min(conversation_id) FROM deliveries WHERE channel = ? AND settled = FALSE
			UNION ALL SELECT (SELECT min(d.conversation_id) FROM deliveries d
				WHERE d.channel = ? AND d.settled = FALSE AND d.conversation_id > open.id) FROM open WHERE open.id IS NOT NULL)
		SELECT c.channel, c.conversation AS id, c.kind, c.place, c.title FROM open CROSS JOIN conversations c WHERE c.id = open.id ORDER BY c.id`
	headDelivery = `
		SELECT d.id, d.message_id, d.text, d.rich, d.extra, d.reply_to, d.platform_id, d.nonce, d.noted, d.part, d.last, d.state, d.tries, d.repeated,
			d.next_at, d.first_try, d.last_try, d.created_at, c.kind, c.place, c.title
		FROM conversations c JOIN deliveries d ON d.channel = c.channel AND d.conversation_id = c.id AND d.settled = FALSE
		WHERE c.channel = ? AND c.conversation = ? ORDER BY d.seq LIMIT 1`
	setSending = `
		UPDATE deliveries SET state = 'sending', tries = tries + 1, fence = ?, last_try = ?, updated_at = ?,
			first_try = CASE WHEN first_try = 0 THEN ? ELSE first_try END
		WHERE id = ?`
	setUnknown = `UPDATE deliveries SET state = 'unknown', outcome = 'result_lost', updated_at = ? WHERE id = ?`
	noteSend   = `UPDATE deliveries SET noted = ?, updated_at = ? WHERE id = ? AND state = 'sending' AND last_try = ?`
	// takenBy looks at the latest parts alone, like shownOutgoing, and at drafts, which have no place among them.
	takenBy = `
		SELECT 1 FROM ` + LatestParts + `
		WHERE c.channel = ? AND c.conversation = ? AND d.platform_id = ? AND d.id <> ?
		UNION ALL SELECT 1 FROM deliveries d JOIN conversations c ON c.id = d.conversation_id
		WHERE d.channel = ? AND d.draft <> '' AND c.conversation = ? AND d.platform_id = ? AND d.id <> ?`
	// settleOne: a free try leaves no trace, so that a pause of the channel does
	// not age its heads. It is about one try: a statement that was held up on its way
	// must not settle the next one.
	settleOne = `
		UPDATE deliveries SET state = ?, settled = ?, outcome = ?, detail = ?, updated_at = ?,
			platform_id = CASE WHEN ? THEN '' WHEN ? = '' THEN platform_id ELSE ? END,
			next_at = ?, repeated = CASE WHEN ? THEN TRUE ELSE repeated END,
			text = coalesce(?, text), rich = CASE WHEN ? THEN ? ELSE rich END,
			extra = CASE WHEN ? THEN ? ELSE extra END,
			first_try = CASE WHEN ? OR ? AND tries <= 1 THEN 0 ELSE first_try END, unnamed = ?,
			tries = CASE WHEN ? AND tries > 0 THEN tries - 1 ELSE tries END
		WHERE id = ? AND state = ? AND last_try = ? AND settled = FALSE
		RETURNING message_id, conversation_id, channel, part`
	// settledSo: by this very settlement, whose answer was lost.
	settledSo = `
		SELECT conversation_id, channel FROM deliveries WHERE id = ? AND state = ? AND last_try = ? AND settled = ?`
	anyOpen   = `SELECT 1 FROM deliveries WHERE channel = ? AND conversation_id = ? AND settled = FALSE LIMIT 1`
	deadLater = `
		UPDATE deliveries SET state = 'dead', settled = TRUE, outcome = 'earlier_part_dead', updated_at = ?
		WHERE message_id = ? AND part > ? AND settled = FALSE`
	dropOpen = `
		UPDATE deliveries SET state = 'dropped', settled = TRUE, outcome = ?, updated_at = ?
		WHERE conversation_id = ? AND settled = FALSE`
)

// TakeChannel takes the channel's lease; ok is false while a living owner other than this one holds it.
func (r *Store) TakeChannel(ctx context.Context, owner int64, channel string) (hold outbox.Lease, ok bool, err error) {
	err = r.Write(ctx, r.ForLeases(), "take channel", func(t *database.Tx) error {
		hold = outbox.Lease{Channel: channel}
		hold.Fence, ok, err = engines.Take(t, engines.Channel, database.Clean(channel), owner)
		if err != nil || !ok {
			return err
		}
		return t.Do(leftSending, t.Now, channel)
	})
	if err != nil || !ok {
		return outbox.Lease{}, false, err
	}
	return hold, true, nil
}

// DropChannel releases the lease.
func (r *Store) DropChannel(ctx context.Context, hold outbox.Lease) error {
	return r.Write(ctx, r.ForLeases(), "drop channel", func(t *database.Tx) error {
		return engines.Release(t, engines.Channel, database.Clean(hold.Channel), hold.Fence)
	})
}

// Open lists the conversations of the channel that have deliveries to settle.
func (r *Store) Open(ctx context.Context, hold outbox.Lease) ([]channels.Conversation, error) {
	return database.Read(ctx, r.DB, "list open conversations", func(t *database.Tx) ([]channels.Conversation, error) {
		if err := fenced(t, hold); err != nil {
			return nil, err
		}
		return database.Select[channels.Conversation](t, openConversations, hold.Channel, hold.Channel)
	})
}

// Begin looks at the conversation's head.
func (r *Store) Begin(ctx context.Context, hold outbox.Lease, conv channels.Conversation) (d *outbox.Delivery, due time.Time, err error) {
	if r.PG() {
		return r.callBegin(ctx, hold, conv.ID)
	}
	err = r.Write(ctx, database.Durable, "begin delivery", func(t *database.Tx) error {
		d, due, err = begin(t, hold, conv.ID)
		return err
	})
	return d, due, err
}

// head is a conversation's head with when it is due.
type head struct {
	*outbox.Delivery
	next, last int64 // µs
}

// clockSlack is how far the clocks of engines may differ, in µs. A try that was made
// later than that from now says that the clock was set back, and with it a wait that
// was counted by the former one: it is over.
const clockSlack = 10_000_000

func (h *head) waits(now int64) bool {
	return h.State == outbox.DeliveryPending && h.next > now && h.last <= now+clockSlack
}

// A HeadRow is a delivery that is sent next, as headDelivery reads it and sb_begin gives it.
type HeadRow struct {
	ID, Message    int64 // 0: there is none
	Text, Nonce    string
	Noted          string
	Rich, Extra    *string
	ReplyTo        channels.MessageID `json:"reply_to"`
	PlatformID     channels.MessageID `json:"platform_id"`
	Part, Tries    int
	Last, Repeated bool
	State          outbox.DeliveryState
	FirstTry       int64 `json:"first_try"`
	LastTry        int64 `json:"last_try"`
	Written        int64
	Kind           channels.ConversationKind
	Place, Title   string
}

// Delivery is the row as who sends it needs it.
func (h *HeadRow) Delivery(hold outbox.Lease, conv channels.ConversationID) (*outbox.Delivery, error) {
	d := &outbox.Delivery{
		ID: h.ID, MessageID: h.Message, Body: channels.Body{Text: h.Text}, ReplyTo: h.ReplyTo, PlatformID: h.PlatformID,
		Conversation: sessions.CleanConversation(channels.Conversation{Channel: hold.Channel, ID: conv, Kind: h.Kind, Place: h.Place, Title: h.Title}),
		Nonce:        h.Nonce, Noted: h.Noted, Part: h.Part, Last: h.Last, State: h.State, Tries: h.Tries, Repeated: h.Repeated,
		FirstTry: database.Instant(h.FirstTry), LastTry: database.Instant(h.LastTry), Written: database.Instant(h.Written),
	}
	return d, readBody(&d.Body, h.Rich, h.Extra)
}

func headOf(t *database.Tx, hold outbox.Lease, conv channels.ConversationID) (*head, error) {
	var r HeadRow
	var h head
	found, err := t.Row(headDelivery, []any{hold.Channel, conv},
		&r.ID, &r.Message, &r.Text, &r.Rich, &r.Extra, &r.ReplyTo, &r.PlatformID, &r.Nonce, &r.Noted, &r.Part, &r.Last, &r.State, &r.Tries, &r.Repeated,
		&h.next, &r.FirstTry, &r.LastTry, &r.Written, &r.Kind, &r.Place, &r.Title)
	if err != nil || !found {
		return nil, err
	}
	h.last = r.LastTry
	h.Delivery, err = r.Delivery(hold, conv)
	return &h, err
}

func begin(t *database.Tx, hold outbox.Lease, conv channels.ConversationID) (*outbox.Delivery, time.Time, error) {
	if err := fenced(t, hold); err != nil {
		return nil, time.Time{}, err
	}
	h, err := headOf(t, hold, conv)
	if err != nil || h == nil {
		return nil, time.Time{}, err
	}
	switch {
	case h.waits(t.Now):
		return nil, database.Instant(h.next), nil
	case h.State == outbox.DeliveryPending:
		err = sending(t, h, hold.Fence)
	case h.State == outbox.DeliverySending:
		// Ours, and its result never came to be written: nobody knows.
		h.State = outbox.DeliveryUnknown
		err = t.Do(setUnknown, t.Now, h.ID)
	}
	return h.Delivery, time.Time{}, err
}

// sending sets a pending head sending.
func sending(t *database.Tx, h *head, fence int64) error {
	h.State, h.Tries, h.LastTry = outbox.DeliverySending, h.Tries+1, database.Instant(t.Now)
	if h.FirstTry.IsZero() {
		h.FirstTry = h.LastTry
	}
	return t.Do(setSending, fence, t.Now, t.Now, t.Now, h.ID)
}

// open begins the first part of a message that this transaction stores, as its
// Opening asks; nil asks for nothing.
func open(t *database.Tx, o *outbox.Opening, message int64) error {
	if o == nil {
		return nil
	}
	o.Begun = nil // of an earlier try
	held, err := engines.Keep(t, engines.Channel, database.Clean(o.Lease.Channel), o.Lease.Fence)
	if err != nil || !held {
		return err
	}
	h, err := headOf(t, o.Lease, o.Conversation.ID)
	if err != nil || h == nil || h.MessageID != message || h.State != outbox.DeliveryPending {
		return err
	}
	if err := sending(t, h, o.Lease.Fence); err != nil {
		return err
	}
	o.Begun = h.Delivery
	return nil
}

// Note keeps what the adapter notes with a delivery that is being sent, durable to power loss, and Begin hands
// it back.
func (r *Store) Note(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, noted string) error {
	return r.held(ctx, database.Durable, "note delivery", hold, func(t *database.Tx) error {
		return t.Change(core.ErrConflict, noteSend, noted, t.Now, d.ID, d.LastTry)
	})
}

// Taken says whether a message of a delivery's conversation is that of another delivery, or of a draft.
func (r *Store) Taken(ctx context.Context, d *outbox.Delivery, id channels.MessageID) (bool, error) {
	c := &d.Conversation
	return r.ReadRow(ctx, "look for a message's delivery", takenBy, []any{c.Channel, c.ID, id, d.ID, c.Channel, c.ID, id, d.ID})
}

// Settle records what became of a delivery that was begun.
func (r *Store) Settle(ctx context.Context, hold outbox.Lease, d *outbox.Delivery, s outbox.Settlement) (more bool, err error) {
	if r.PG() {
		return r.callSettle(ctx, hold, d, &s)
	}
	err = r.held(ctx, database.Result, "settle delivery", hold, func(t *database.Tx) error {
		more, err = settle(t, d, &s)
		return err
	})
	return more, err
}

// settled is settle where there is nothing to settle: it was done before, or it is
// somebody else's.
func settled(t *database.Tx, d *outbox.Delivery, s *outbox.Settlement) (more bool, err error) {
	var conversation int64
	var channel string
	found, err := t.Row(settledSo, []any{d.ID, s.State, d.LastTry, settles(s)}, &conversation, &channel)
	if err != nil || !settles(s) && found {
		return true, err
	}
	if !found {
		return false, core.ErrFenced
	}
	return t.Has(anyOpen, channel, conversation)
}

// settles says whether the delivery blocks its conversation no longer.
func settles(s *outbox.Settlement) bool {
	return s.State != outbox.DeliveryPending && (s.State != outbox.DeliveryUnknown || s.Final)
}

func settle(t *database.Tx, d *outbox.Delivery, s *outbox.Settlement) (more bool, err error) {
	var text, rich, extra any
	if s.Body != nil {
		text, rich, extra = database.Clean(s.Body.Text), richText(s.Body.Rich), extraText(s.Body)
	}
	free := s.FreeTry && s.State == outbox.DeliveryPending
	platform := database.Clean(string(s.PlatformID))
	var message, conversation int64
	var channel string
	var part int
	found, err := t.Row(settleOne, []any{
		s.State, settles(s), s.Outcome, s.Detail, t.Now, s.Unedit, platform, platform, s.NextAt, s.Repeated,
		text, s.Body != nil, rich, s.Body != nil, extra, s.Fresh, free, s.Unnamed, free, d.ID, d.State, d.LastTry,
	}, &message, &conversation, &channel, &part)
	if err != nil {
		return false, err
	}
	if !found {
		return settled(t, d, s)
	}
	switch {
	case s.State == outbox.DeliveryDead:
		err = t.Do(deadLater, t.Now, message, part)
	case s.State == outbox.DeliveryDropped && s.Conversation:
		err = t.Do(dropOpen, s.Outcome, t.Now, conversation)
	}
	if err == nil {
		err = sessions.EmitSettled(t, message, d, s)
	}
	if err != nil || !settles(s) {
		return true, err
	}
	return t.Has(anyOpen, channel, conversation)
}

// held is Write for who holds the channel.
func (r *Store) held(ctx context.Context, mode database.Durability, op string, hold outbox.Lease, fn func(*database.Tx) error) error {
	return r.Write(ctx, mode, op, func(t *database.Tx) error {
		if err := fenced(t, hold); err != nil {
			return err
		}
		return fn(t)
	})
}

// fenced refuses who does not hold the channel.
func fenced(t *database.Tx, hold outbox.Lease) error {
	return engines.Fenced(t, engines.Channel, database.Clean(hold.Channel), hold.Fence)
}
