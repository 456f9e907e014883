package discordtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxText is the longest text of a message.
	//
	// Source: https://docs.discord.com/developers/resources/message#create-message.
	maxText = 2000
	// nonceWindow is how long a nonce is enforced; the platform says "the past few minutes".
	nonceWindow = 3 * time.Minute
)

// A nonce is what the bot gave a message, for a while.
type nonce struct {
	value string
	id    string
	place string
	at    time.Time
}

// A draft is what a bot sends, or changes of a message. What is nil was not given.
type draft struct {
	Content     *string         `json:"content"`
	Nonce       json.RawMessage `json:"nonce"`
	Enforce     bool            `json:"enforce_nonce"`
	Components  *[]Row          `json:"components"`
	Flags       *int            `json:"flags"`
	Reference   *Reference      `json:"message_reference"`
	Attachments *[]struct {
		ID json.Number `json:"id"`
	} `json:"attachments"`
	Allowed *struct {
		Parse       *[]string `json:"parse"`
		RepliedUser bool      `json:"replied_user"`
	} `json:"allowed_mentions"`
}

// check holds a draft to the platform's rules.
//
// Source: https://docs.discord.com/developers/resources/message#create-message,
// https://docs.discord.com/developers/components/reference#button.
func (d *draft) check() *Rejection {
	if d.Content != nil && Units(*d.Content) > maxText {
		return invalid("content: Must be 2000 or fewer in length.")
	}
	if len(bytes.Trim(d.Nonce, `"`)) > 25 {
		return invalid("nonce: Must be 25 or fewer in length.")
	}
	if d.Components == nil {
		return nil
	}
	codes := map[string]bool{}
	if len(*d.Components) > 5 {
		return invalid("components: Must be 5 or fewer in length.")
	}
	for _, row := range *d.Components {
		if n := len(row.Components); row.Type != 1 || n < 1 || n > 5 {
			return invalid("components: a row has 1 to 5 buttons")
		}
		for _, b := range row.Components {
			switch {
			case b.Type != 2 || b.Style < 1 || b.Style > 5 || Units(b.Label) < 1 || Units(b.Label) > 80:
				return invalid("components: a button has a style and a label of 1 to 80 characters")
			case b.Style != 5 && (b.CustomID == "" || len(b.CustomID) > 100):
				return invalid("custom_id: Must be between 1 and 100 in length.")
			case b.Style != 5 && codes[b.CustomID]:
				return invalid("components: Component custom id cannot be duplicated")
			}
			codes[b.CustomID] = true
		}
	}
	return nil
}

func (s *calls) createMessage(r *request) (any, *Rejection) {
	needs := SendMessages
	if to := s.places[r.PathValue("channel")]; to != nil && to.Type == TypeThread {
		needs = SendInThreads
	}
	p, refused := s.at(r, needs)
	if refused != nil {
		return nil, refused
	}
	var d draft
	if refused := cmp.Or(r.decode(&d), d.check()); refused != nil {
		return nil, refused
	}
	text := strings.TrimSpace(deref(d.Content))
	switch {
	case p.Type == TypeForum:
		return nil, &Rejection{Status: http.StatusBadRequest, Code: 50008, Message: "Cannot send messages in a non-text channel"}
	case p.blocked:
		return nil, CannotSend
	case text == "" && len(r.files) == 0:
		return nil, EmptyMessage
	case len(r.files) > 0 && p.denied&AttachFiles != 0:
		return nil, MissingPermissions
	}
	key := string(bytes.Trim(d.Nonce, `"`))
	if known := s.knownNonce(p.ID, key); d.Enforce && known != nil {
		return rest(*known.wire()), nil
	}
	m := &stored{Message: Message{Content: text, Flags: deref(d.Flags) & (flagSuppress | flagSilent)}}
	if d.Components != nil {
		m.Components = *d.Components
	}
	if refused := s.answers(p, m, d.Reference); refused != nil {
		return nil, refused
	}
	s.post(p, m, s.bot, r.files)
	if key != "" {
		s.nonces = append(s.nonces, nonce{key, m.ID, p.ID, s.Now()})
	}
	p.archived = false
	pings := p.GuildID == "" || m.Referenced != nil && d.Allowed != nil && d.Allowed.RepliedUser
	if pings && m.Flags&flagSilent == 0 {
		s.rang[m.ID] = true
	}
	told := *m.wire()
	told.Nonce = d.Nonce
	s.tell("MESSAGE_CREATE", p.GuildID, told)
	return rest(told), nil
}

// Rang says whether somebody was notified of a message of the bot: when it was sent, for no edit
// notifies anybody.
func (s *world) Rang(id string) bool {
	s.Lock()
	defer s.Unlock()
	return s.rang[id]
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// knownNonce is the message that the bot gave this nonce to not long ago.
func (s *calls) knownNonce(place, value string) *stored {
	s.nonces = slices.DeleteFunc(s.nonces, func(n nonce) bool { return s.Now().Sub(n.at) > nonceWindow })
	for _, n := range s.nonces {
		if n.value == value && n.place == place && value != "" {
			return s.places[place].byID(n.id)
		}
	}
	return nil
}

// getMessages is history: the newest first, whatever is asked for, and those of one millisecond in
// any order.
//
// Source: https://github.com/discord/discord-api-docs/issues/2816,
// Source: https://docs.discord.com/developers/resources/message#get-channel-messages.
func (s *calls) getMessages(r *request) (any, *Rejection) {
	p, refused := s.at(r, 0)
	if refused != nil {
		return nil, refused
	}
	limit, err := strconv.Atoi(cmp.Or(r.FormValue("limit"), "50"))
	if err != nil || limit < 1 || limit > 100 {
		return nil, invalid("limit: int value should be between 1 and 100.")
	}
	list := []*Message{}
	if p.denied&ReadHistory != 0 {
		return list, nil
	}
	after, before := number(r.FormValue("after")), number(r.FormValue("before"))
	for _, m := range p.messages {
		if n := number(m.ID); n > after && (before == 0 || n < before) {
			list = append(list, s.readable(m))
		}
	}
	if r.FormValue("after") != "" {
		list = list[:min(limit, len(list))]
	} else {
		list = list[max(len(list)-limit, 0):]
	}
	slices.SortStableFunc(list, func(a, b *Message) int { return cmp.Compare(number(b.ID)>>22, number(a.ID)>>22) })
	return list, nil
}

func (s *calls) getMessage(r *request) (any, *Rejection) {
	p, refused := s.at(r, ReadHistory)
	if refused != nil {
		return nil, refused
	}
	m := p.byID(r.PathValue("message"))
	if m == nil {
		return nil, UnknownMessage
	}
	return s.readable(m), nil
}

// own is the message of the bot that a call is about; another's is refused with foreign.
func (s *calls) own(r *request, foreign *Rejection) (*place, *stored, *Rejection) {
	p, refused := s.at(r, 0)
	if refused != nil {
		return nil, nil, refused
	}
	m := p.byID(r.PathValue("message"))
	switch {
	case m == nil:
		return nil, nil, UnknownMessage
	case m.Author.ID != s.bot.ID:
		return nil, nil, foreign
	}
	return p, m, nil
}

func (s *calls) editMessage(r *request) (any, *Rejection) {
	p, m, refused := s.own(r, NotTheAuthor)
	if refused != nil {
		return nil, refused
	}
	var d draft
	if refused := cmp.Or(r.decode(&d), d.check()); refused != nil {
		return nil, refused
	}
	if d.Content != nil && strings.TrimSpace(*d.Content) == "" && len(m.Attachments) == 0 {
		return nil, EmptyMessage
	}
	if d.Components != nil {
		m.Components = *d.Components
	}
	if d.Flags != nil {
		m.Flags = m.Flags&flagSilent | *d.Flags&flagSuppress
	}
	if d.Content != nil {
		s.rewrite(p, m, strings.TrimSpace(*d.Content))
	}
	s.tell("MESSAGE_UPDATE", p.GuildID, *m.wire())
	return rest(*m.wire()), nil
}

func (s *calls) deleteMessage(r *request) (any, *Rejection) {
	p, m, refused := s.own(r, MissingPermissions)
	if refused != nil {
		return nil, refused
	}
	s.remove(p, m)
	return nil, nil
}

// typing shows that the bot writes, for ten seconds.
//
// Source: https://docs.discord.com/developers/resources/channel#trigger-typing-indicator.
func (s *calls) typing(r *request) (any, *Rejection) {
	p, refused := s.at(r, SendMessages)
	if refused != nil {
		return nil, refused
	}
	s.typings[p.ID] = s.Now()
	return nil, nil
}

func (s *calls) react(r *request, on bool) (any, *Rejection) {
	p, refused := s.at(r, ReadHistory|AddReactions)
	if refused != nil {
		return nil, refused
	}
	m, emoji := p.byID(r.PathValue("message")), r.PathValue("emoji")
	switch {
	case m == nil:
		return nil, UnknownMessage
	case strings.IndexFunc(emoji, func(c rune) bool { return c > 0x7f }) < 0 && !strings.Contains(emoji, ":"):
		return nil, UnknownEmoji
	}
	s.sign(p, m, s.bot.ID, emoji, on)
	return nil, nil
}
