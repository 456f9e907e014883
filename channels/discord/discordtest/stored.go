package discordtest

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"switchboard/channels/platformtest"
)

// answers makes m an answer to what ref names.
func (s *world) answers(p *place, m *stored, ref *Reference) *Rejection {
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
	quoted := *to.wire()
	quoted.Referenced = nil
	m.Referenced = &quoted
	return nil
}

var namesUser, namesRole = regexp.MustCompile(`<@!?([0-9]+)>`), regexp.MustCompile(`<@&([0-9]+)>`)

// post gives m its number, time and author and puts it at the end.
func (s *world) post(p *place, m *stored, author User, files []platformtest.File) {
	m.ID, m.ChannelID, m.GuildID, m.Author, m.Timestamp = s.id(), p.ID, p.GuildID, author, instant(s.Now())
	s.attach(&m.Message, files)
	s.mentions(m)
	p.messages = append(p.messages, m)
	p.LastMessage = &m.ID
	delete(s.typings, p.ID)
}

// mentions finds who is named in m.
func (s *world) mentions(m *stored) {
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
func (m *stored) wire() *Message {
	told := m.Message
	told.Thread = m.thread
	if told.Components == nil {
		told.Components = []Row{}
	}
	return &told
}

// readable is a message as the REST API tells it: without the message content intent, empty
// where the gateway tells it empty.
func (s *world) readable(m *stored) *Message {
	told := m.wire()
	if s.forbidden {
		s.blank(told)
	}
	return rest(*told)
}

// blank takes out what is told only with the message content intent.
//
// Source: https://docs.discord.com/developers/events/gateway#message-content-intent.
func (s *world) blank(m *Message) {
	named := slices.ContainsFunc(m.Mentions, func(u User) bool { return u.ID == s.bot.ID })
	if m.GuildID == "" || m.Author.ID == s.bot.ID || named {
		return
	}
	m.Content, m.Attachments, m.Embeds, m.Components, m.Snapshots = "", []Attachment{}, []Embed{}, []Row{}, nil
}

// rewrite gives m another text; times of edits differ.
func (s *world) rewrite(p *place, m *stored, text string) {
	m.before = append(m.before, m.Content)
	m.Content = text
	s.edited = latest(s.edited.Add(time.Microsecond), s.Now())
	at := instant(s.edited)
	m.EditedTimestamp = &at
	s.mentions(m)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// rest is a message as the REST API tells it: it does not say in which guild.
//
// Source: https://docs.discord.com/developers/events/gateway-events#message-create.
func rest(m Message) *Message {
	m.GuildID = ""
	return &m
}

func (s *events) remove(p *place, m *stored) {
	p.messages = slices.DeleteFunc(p.messages, func(o *stored) bool { return o == m })
	told := map[string]any{"id": m.ID, "channel_id": p.ID}
	if p.GuildID != "" {
		told["guild_id"] = p.GuildID
	}
	s.tell("MESSAGE_DELETE", p.GuildID, told)
}

// sign puts a reaction or takes it off, and tells so.
func (s *events) sign(p *place, m *stored, user, emoji string, on bool) {
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

// begin begins a thread, which has the message's number. It is called under the lock.
func (s *events) begin(up *place, m *stored, owner, name string) Channel {
	t := &place{Channel: Channel{ID: m.ID, Type: TypeThread, GuildID: up.GuildID, ParentID: up.ID, Name: name, OwnerID: owner}}
	s.places[t.ID], m.thread = t, &t.Channel
	s.tell("THREAD_CREATE", up.GuildID, t.Channel)
	return t.Channel
}

func (s *events) tellGuild(g *guild) { s.tell("GUILD_CREATE", g.id, s.wireGuild(g)) }
