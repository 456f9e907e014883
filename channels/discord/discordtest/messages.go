package discordtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"switchboard/channels/platformtest"
)

const (
	// maxText is the longest text of a message.
	//
	// Source: https://docs.discord.com/developers/resources/message#create-message.
	maxText = 2000
	// nonceWindow is how long a nonce is enforced; the platform says "the past few minutes".
	nonceWindow = 3 * time.Minute
)

// Units counts a text in UTF-16 code units, which is never less than what the platform counts.
func Units(text string) int { return len(utf16.Encode([]rune(text))) }

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

func (s *Server) createMessage(r *request) (any, *Rejection) {
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
		return rest(*s.wire(p, known)), nil
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
	told := *s.wire(p, m)
	told.Nonce = d.Nonce
	s.tell("MESSAGE_CREATE", p.GuildID, told)
	return rest(told), nil
}

// rest is a message as the REST API tells it: it does not say in which guild.
//
// Source: https://docs.discord.com/developers/events/gateway-events#message-create.
func rest(m Message) *Message {
	m.GuildID = ""
	return &m
}

// Rang says whether somebody was notified of a message of the bot: when it was sent, for no edit
// notifies anybody.
func (s *Server) Rang(id string) bool {
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
func (s *Server) knownNonce(place, value string) *stored {
	s.nonces = slices.DeleteFunc(s.nonces, func(n nonce) bool { return s.Now().Sub(n.at) > nonceWindow })
	for _, n := range s.nonces {
		if n.value == value && n.place == place && value != "" {
			return s.places[place].byID(n.id)
		}
	}
	return nil
}

// answers makes m an answer to what ref names.
func (s *Server) answers(p *place, m *stored, ref *Reference) *Rejection {
	if ref == nil {
		return nil
	}
	to := p.byID(ref.MessageID)
	if to == nil {
		if ref.FailIfNot == nil || *ref.FailIfNot {
			return invalid("message_reference: Unknown message")
		}
		return nil
	}
	m.Type, m.Reference = 19, &Reference{MessageID: to.ID, ChannelID: p.ID, GuildID: p.GuildID}
	quoted := *s.wire(p, to)
	quoted.Referenced = nil
	m.Referenced = &quoted
	return nil
}

var namesUser, namesRole = regexp.MustCompile(`<@!?([0-9]+)>`), regexp.MustCompile(`<@&([0-9]+)>`)

// post gives m its number, time and author and puts it at the end.
func (s *Server) post(p *place, m *stored, author User, files []platformtest.File) {
	m.ID, m.ChannelID, m.GuildID, m.Author, m.Timestamp = s.id(), p.ID, p.GuildID, author, instant(s.Now())
	s.attach(&m.Message, files)
	s.mentions(p, m)
	p.messages = append(p.messages, m)
	p.LastMessage = &m.ID
	delete(s.typings, p.ID)
}

// mentions finds who is named in m.
func (s *Server) mentions(_ *place, m *stored) {
	m.Mentions, m.MentionRoles, m.Embeds = []User{}, []string{}, []Embed{}
	add := func(u User) {
		if !slices.Contains(m.Mentions, u) {
			m.Mentions = append(m.Mentions, u)
		}
	}
	for _, found := range namesUser.FindAllStringSubmatch(m.Content, -1) {
		if u := s.users[found[1]]; u != nil {
			add(*u)
		}
	}
	for _, found := range namesRole.FindAllStringSubmatch(m.Content, -1) {
		m.MentionRoles = append(m.MentionRoles, found[1])
	}
	if m.Referenced != nil && !m.Author.Bot {
		add(m.Referenced.Author)
	}
	m.MentionEveryone = strings.Contains(m.Content, "@everyone") || strings.Contains(m.Content, "@here")
}

// wire is a message as it is told and in history, where there is no nonce.
//
// Source: https://github.com/Rapptz/discord.py/issues/2451.
func (s *Server) wire(_ *place, m *stored) *Message {
	told := m.Message
	told.Thread = m.thread
	if told.Components == nil {
		told.Components = []Row{}
	}
	return &told
}

// getMessages is history: the newest first, whatever is asked for, and those of one millisecond in
// any order.
//
// Source: https://github.com/discord/discord-api-docs/issues/2816,
// Source: https://docs.discord.com/developers/resources/message#get-channel-messages.
func (s *Server) getMessages(r *request) (any, *Rejection) {
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
			list = append(list, s.readable(p, m))
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

// readable is a message as the REST API tells it: without the message content intent, empty
// where the gateway tells it empty.
func (s *Server) readable(p *place, m *stored) *Message {
	told := s.wire(p, m)
	if s.forbidden {
		s.blank(told)
	}
	return rest(*told)
}

// blank takes out what is told only with the message content intent.
//
// Source: https://docs.discord.com/developers/events/gateway#message-content-intent.
func (s *Server) blank(m *Message) {
	named := slices.ContainsFunc(m.Mentions, func(u User) bool { return u.ID == s.bot.ID })
	if m.GuildID == "" || m.Author.ID == s.bot.ID || named {
		return
	}
	m.Content, m.Attachments, m.Embeds, m.Components, m.Snapshots = "", []Attachment{}, []Embed{}, []Row{}, nil
}

func (s *Server) getMessage(r *request) (any, *Rejection) {
	p, refused := s.at(r, ReadHistory)
	if refused != nil {
		return nil, refused
	}
	m := p.byID(r.PathValue("message"))
	if m == nil {
		return nil, UnknownMessage
	}
	return s.readable(p, m), nil
}

// own is the message of the bot that a call is about; another's is refused with foreign.
func (s *Server) own(r *request, foreign *Rejection) (*place, *stored, *Rejection) {
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

func (s *Server) editMessage(r *request) (any, *Rejection) {
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
	s.tell("MESSAGE_UPDATE", p.GuildID, *s.wire(p, m))
	return rest(*s.wire(p, m)), nil
}

// rewrite gives m another text; times of edits differ.
func (s *Server) rewrite(p *place, m *stored, text string) {
	m.before = append(m.before, m.Content)
	m.Content = text
	s.edited = latest(s.edited.Add(time.Microsecond), s.Now())
	at := instant(s.edited)
	m.EditedTimestamp = &at
	s.mentions(p, m)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (s *Server) deleteMessage(r *request) (any, *Rejection) {
	p, m, refused := s.own(r, MissingPermissions)
	if refused != nil {
		return nil, refused
	}
	s.remove(p, m)
	return nil, nil
}

func (s *Server) remove(p *place, m *stored) {
	p.messages = slices.DeleteFunc(p.messages, func(o *stored) bool { return o == m })
	told := map[string]any{"id": m.ID, "channel_id": p.ID}
	if p.GuildID != "" {
		told["guild_id"] = p.GuildID
	}
	s.tell("MESSAGE_DELETE", p.GuildID, told)
}

// typing shows that the bot writes, for ten seconds.
//
// Source: https://docs.discord.com/developers/resources/channel#trigger-typing-indicator.
func (s *Server) typing(r *request) (any, *Rejection) {
	p, refused := s.at(r, SendMessages)
	if refused != nil {
		return nil, refused
	}
	s.typings[p.ID] = s.Now()
	return nil, nil
}

func (s *Server) react(r *request, on bool) (any, *Rejection) {
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

// sign puts a reaction or takes it off, and tells so.
func (s *Server) sign(p *place, m *stored, user, emoji string, on bool) {
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Emoji.Name == emoji })
	kind := "MESSAGE_REACTION_ADD"
	switch {
	case on && i < 0:
		m.Reactions = append(m.Reactions, Reaction{Emoji: Emoji{Name: emoji}, users: []string{user}})
	case on && !slices.Contains(m.Reactions[i].users, user):
		m.Reactions[i].users = append(m.Reactions[i].users, user)
	case on || i < 0:
		return
	default:
		kind = "MESSAGE_REACTION_REMOVE"
		m.Reactions[i].users = slices.DeleteFunc(m.Reactions[i].users, func(u string) bool { return u == user })
	}
	m.Reactions = slices.DeleteFunc(m.Reactions, func(r Reaction) bool { return len(r.users) == 0 })
	for i := range m.Reactions {
		m.Reactions[i].Count, m.Reactions[i].Me = len(m.Reactions[i].users), slices.Contains(m.Reactions[i].users, s.bot.ID)
	}
	told := map[string]any{
		"user_id": user, "channel_id": p.ID, "message_id": m.ID, "emoji": Emoji{Name: emoji}, "message_author_id": m.Author.ID, "burst": false, "type": 0,
	}
	if p.GuildID != "" {
		told["guild_id"] = p.GuildID
	}
	s.tell(kind, p.GuildID, told)
}

// detail is a panic's text.
func detail(format string, args ...any) string { return fmt.Sprintf("discordtest: "+format, args...) }
