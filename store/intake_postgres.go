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

// What sb_accept takes and gives; []byte is base64 in JSON.
type (
	acceptArg struct {
		Class      string `json:"class"`
		Key        []byte `json:"key"`
		KeyExpires int64  `json:"key_expires"`
		placeArg
		incomingArg
		rejectArg
		turnArg
		controlArg
		Replies map[string]*replyArg `json:"replies"` // by ledger.Situation
	}
	placeArg struct {
		Channel      string `json:"channel"`
		Conversation string `json:"conversation"`
		Kind         string `json:"kind"`
		Place        string `json:"place"`
		Title        string `json:"title"`
	}
	incomingArg struct {
		Person      string          `json:"person"`
		Identity    string          `json:"identity"`
		Rule        string          `json:"rule"`
		Origin      string          `json:"origin"`
		Author      string          `json:"author"`
		PlatformID  string          `json:"platform_id"`
		ReplyTo     string          `json:"reply_to"`
		Text        string          `json:"text"`
		Quote       string          `json:"quote"`
		Outside     bool            `json:"outside"`
		From        string          `json:"forwarded_from"`
		Taint       string          `json:"taint"`
		HappenedAt  int64           `json:"happened_at"`
		Attachments []attachmentArg `json:"attachments"`
	}
	rejectArg struct {
		Reject string `json:"reject"`
		Raw    []byte `json:"raw"`
	}
	turnArg struct {
		QueueLimit int   `json:"queue_limit"`
		AskedAt    int64 `json:"asked_at"`
		Choice     bool  `json:"choice"`
		MayClaim   bool  `json:"may_claim"`
	}
	controlArg struct {
		Effect    string    `json:"effect"`
		AnyPerson bool      `json:"any_person"`
		Reply     *replyArg `json:"reply"`
	}
	attachmentArg struct {
		ID    string `json:"id"`
		Kind  string `json:"kind"`
		Name  string `json:"name"`
		Type  string `json:"type"`
		Size  int64  `json:"size"`
		Taint string `json:"taint"`
	}
	replyArg struct {
		Class    string    `json:"class"`
		Person   string    `json:"person"`
		Author   string    `json:"author"`
		ReplyTo  string    `json:"reply_to"`
		Text     string    `json:"text"`
		Taint    string    `json:"taint"`
		Notice   bool      `json:"notice"`
		Final    bool      `json:"final"`
		Read     bool      `json:"read"`
		Attempt  int       `json:"attempt"`
		Position int       `json:"position"`
		Choices  any       `json:"choices"` // JSON text, or nil
		Said     any       `json:"said"`
		Parts    []partArg `json:"parts"`
		Open     *openArg  `json:"open"`
	}
	openArg struct {
		Channel      string `json:"channel"`
		Fence        int64  `json:"fence"`
		Conversation string `json:"conversation"`
	}
	partArg struct {
		Text  string `json:"text"`
		Rich  any    `json:"rich"`  // JSON text, or nil
		Extra any    `json:"extra"` // the same
		Nonce string `json:"nonce"`
	}
	claimedArg struct {
		Turn    int64     `json:"turn"`
		Session int64     `json:"session"`
		Fence   int64     `json:"fence"`
		Person  string    `json:"person"`
		Data    *alongArg `json:"data"`
	}
	acceptedArg struct {
		Duplicate bool             `json:"duplicate"`
		Rejected  string           `json:"rejected"`
		Message   int64            `json:"message"`
		Turn      int64            `json:"turn"`
		Event     int64            `json:"event"`
		Session   int64            `json:"session"`
		Situation ledger.Situation `json:"situation"`
		Waiting   bool             `json:"waiting"`
		Cancel    int64            `json:"cancel"`
		Claimed   *claimedArg      `json:"claimed"`
	}
)

func (db *DB) callAccept(ctx context.Context, owner int64, entries []ledger.Entry) ([]ledger.Accepted, error) {
	now := db.now().UnixMicro()
	args := make([]acceptArg, len(entries))
	for i := range entries {
		args[i] = acceptArgOf(&entries[i], now)
	}
	var got []acceptedArg
	err := db.Call(ctx, full, "accept", &got, callAccept, owner, now, jsonText(args))
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
			SessionID: g.Session, Situation: g.Situation, Waiting: g.Waiting, CancelTurn: g.Cancel, Claimed: g.Claimed.claimed(),
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

func acceptArgOf(e *ledger.Entry, now int64) acceptArg {
	c := cleanConversation(e.Event.Conversation)
	arg := acceptArg{
		Key: e.Key, KeyExpires: now + keysLive.Microseconds(),
		placeArg:    placeArg{Channel: c.Channel, Conversation: string(c.ID), Kind: string(c.Kind), Place: c.Place, Title: c.Title},
		incomingArg: incomingArgOf(e), rejectArg: rejectArg{Raw: []byte{}}, // NULL would say something else
		Replies: map[string]*replyArg{},
	}
	switch as := e.As.(type) {
	case *ledger.AsTurn:
		arg.Class = classTurn
		arg.turnArg = turnArg{QueueLimit: as.QueueLimit, AskedAt: micros(as.Asked), Choice: as.Choice, MayClaim: as.MayClaim}
	case *ledger.AsControl:
		arg.Class = controlClass(as)
		arg.controlArg = controlArg{Effect: string(as.Effect), AnyPerson: as.AnyPerson, Reply: replyArgOf(as.Reply, nil)}
	case *ledger.AsAudit:
		arg.Class, arg.Reject = string(as.Why), clean(as.Reason)
		if e.Event.Raw != nil {
			arg.Raw = e.Event.Raw
		}
	}
	for situation, reply := range e.Replies {
		arg.Replies[string(situation)] = replyArgOf(reply, nil)
	}
	return arg
}

func incomingArgOf(e *ledger.Entry) incomingArg {
	m := &e.Event.Message
	arg := incomingArg{
		Person: clean(e.Sender.Person), Identity: clean(e.Sender.Identity), Rule: clean(e.Sender.Rule), Origin: clean(e.Origin),
		Author: clean(cmp.Or(e.Sender.Person, e.Event.Sender.Label)), PlatformID: clean(string(m.ID)), ReplyTo: clean(string(m.ReplyTo)),
		Text: clean(m.Text), Quote: clean(m.Quote), Outside: m.Outside(), From: clean(m.Origin), Taint: clean(string(e.Taint)),
		HappenedAt: micros(e.Event.At), Attachments: []attachmentArg{},
	}
	for _, a := range m.Attachments {
		arg.Attachments = append(arg.Attachments, attachmentArg{clean(a.ID), string(a.Kind), clean(a.Name), clean(a.Type), a.Size, arg.Taint})
	}
	return arg
}

// replyArgOf is outgoing's message as an argument; nil stays nil.
func replyArgOf(r *ledger.Reply, say *agent.Say) *replyArg {
	if r == nil {
		return nil
	}
	arg := &replyArg{
		Class: "reply", Person: clean(r.Person), Author: botAuthor, ReplyTo: clean(string(r.ReplyTo)), Text: clean(r.Text), Taint: clean(string(r.Taint)),
		Notice: r.Notice, Final: r.Final, Read: r.Read, Position: -1, Parts: make([]partArg, len(r.Parts)),
	}
	for i, p := range r.Parts {
		arg.Parts[i] = partArg{Text: clean(p.Text), Rich: richText(p.Rich), Extra: extraText(&p), Nonce: rand.Text()}
	}
	if o := r.Open; o != nil {
		o.Begun = nil // of an earlier try
		arg.Open = &openArg{clean(o.Hold.Channel), o.Hold.Fence, clean(string(o.Conversation.ID))}
	}
	if say != nil {
		arg.Class, arg.Attempt, arg.Position, arg.Choices = "say", say.Attempt, say.Position, jsonList(say.Choices)
		if say.Text != r.Text {
			arg.Said = clean(say.Text)
		}
	}
	return arg
}
