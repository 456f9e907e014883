package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// messageTypes says which types of messages somebody wrote; the others are what the platform or
// a bot says. Unknown ones are kept raw.
//
// Source: https://docs.discord.com/developers/resources/message#message-object-message-types.
var messageTypes = map[int]bool{
	0: true, 19: true,
	1: false, 2: false, 3: false, 4: false, 5: false, 6: false, 7: false, 8: false, 9: false, 10: false, 11: false, 12: false,
	14: false, 15: false, 16: false, 17: false, 18: false, 20: false, 21: false, 22: false, 23: false, 24: false, 25: false, 26: false,
	27: false, 28: false, 29: false, 31: false, 32: false, 36: false, 37: false, 38: false, 39: false, 44: false, 46: false,
}

// written makes EventMessage of what somebody wrote.
func written(ctx context.Context, h *reader) ([]channels.Event, error) {
	e, m, err := h.message(ctx)
	if err != nil || e == nil {
		return nil, err
	}
	e.Kind, e.Key, e.At = channels.EventMessage, wire.Key(h.bot.String(), "message", m.Channel.String(), m.ID.String()), m.ID.at()
	e.Mark = spot{channel: m.Channel, message: m.ID, direct: e.Conversation.Kind == channels.Direct}.mark()
	return []channels.Event{*e}, nil
}

// edited makes EventEdited of a message's new state. That a link got its preview is told in the
// same way, with the time of the last edit, if any.
//
// Source: https://docs.discord.com/developers/events/gateway-events#message-update.
func edited(ctx context.Context, h *reader) ([]channels.Event, error) {
	var head struct {
		Edited string `json:"edited_timestamp"`
	}
	if json.Unmarshal(h.frame.Data, &head) == nil && head.Edited == "" {
		return nil, nil
	}
	e, m, err := h.message(ctx)
	if err != nil || e == nil {
		return nil, err
	}
	e.Kind, e.Key = channels.EventEdited, wire.Key(h.bot.String(), "edited", m.Channel.String(), m.ID.String(), m.Edited)
	if at, err := time.Parse(time.RFC3339Nano, m.Edited); err == nil {
		e.At = at.UTC()
	}
	return []channels.Event{*e}, nil
}

// message reads a message that a person wrote; nil: it is nothing of ours.
func (h *reader) message(ctx context.Context) (*channels.Event, *message, error) {
	m, err := parse[message](h)
	if err != nil {
		return nil, nil, err
	}
	wrote, known := messageTypes[m.Type]
	switch {
	case m.ID == 0 || m.Channel == 0 || m.Author == nil || m.Author.ID == 0:
		return nil, nil, errors.New("the message names no channel or nobody who wrote it")
	case m.Author.ID == h.bot, m.Author.Bot, m.Author.System, m.Webhook != "":
		return nil, nil, nil
	case !known:
		return nil, nil, fmt.Errorf("messages of type %d are not known here", m.Type)
	}
	if m.Guild == 0 { // the REST API does not say it
		p, ok := h.c.known.Get(m.Channel)
		if m.Guild = p.Guild; h.frame.Seq == 0 && (!ok || m.Guild == 0 && p.Type != typeDirect) {
			return nil, nil, &again{errUnknownPlace}
		}
	}
	if !wrote || !h.c.serves(m.Guild) {
		return nil, nil, nil
	}
	conv, where, err := h.c.conversation(ctx, m.Channel, m.Guild, m.Author)
	if err != nil {
		return nil, nil, err
	}
	content := h.c.content(&m)
	content.Mentioned = content.Mentioned || where.thread() && where.Owner == h.bot || where.named
	if content.Text == "" && len(content.Attachments) == 0 {
		return nil, nil, nil // nothing is shown of it, or the platform does not let us see it
	}
	if !content.Mentioned && h.unknownPlace(&where) {
		return nil, nil, &again{errUnknownPlace}
	}
	if content.Mentioned && h.c.cfg.ReplyIn == InThread && conv.Kind == channels.Group && where.threads() {
		// A thread that is started at a message has its number; Send starts it.
		conv.Kind, conv.ID = channels.Thread, conversationID(m.ID)
	}
	return &channels.Event{Conversation: conv, Sender: sender(m.Author), Message: content}, &m, nil
}

// unknownPlace says that what is written there waits: the place may be a thread where nobody needs to
// name the bot. It is asked about as history is, which has asked before it is read.
func (h *reader) unknownPlace(where *place) bool {
	return h.frame.Seq != 0 && h.frame.Type == "MESSAGE_CREATE" && (!where.again.IsZero() || h.c.unread(where)) && !h.session.gaps.freed(where.ID)
}

func sender(u *user) channels.Sender { return channels.Sender{ID: u.ID.String(), Label: u.label()} }

// content is what a message says.
func (k *places) content(m *message) channels.Message {
	me := k.api.me()
	content := channels.Message{ID: messageID(m.ID), Text: wire.Clean(m.Content), Attachments: attachments(m, m.Files)}
	if len(m.Snapshots) > 0 && m.Reference != nil && m.Reference.Type == referenceForward {
		s := &m.Snapshots[0].Message
		content.Forwarded = true
		content.Text, content.Attachments = k.named(m, wire.Clean(s.Content)), attachments(m, s.Files)
		if content.Text == "" && len(content.Attachments) == 0 {
			content.Text = cmp.Or(inBrackets(s), "[a message without words]")
		}
		return content
	}
	if content.Text == "" && len(content.Attachments) == 0 {
		content.Text = inBrackets(m)
		content.Enclosed = content.Text != ""
	}
	if m.Reference != nil && m.Reference.Message != 0 {
		content.ReplyTo = messageID(m.Reference.Message)
	}
	if r := m.Referenced; r != nil {
		content.Quote = k.named(r, wire.Clean(r.Content))
		content.Mentioned = r.Author != nil && r.Author.ID == me.id
	}
	k.mentions(&content, m)
	return content
}

// inBrackets says in brackets what somebody sent that is neither text nor a file.
func inBrackets(m *message) string {
	switch {
	case len(m.Stickers) > 0:
		return "[sticker " + wire.Clean(m.Stickers[0].Name) + "]"
	case m.Poll != nil:
		var options []string
		for _, a := range m.Poll.Answers {
			options = append(options, wire.Clean(a.Media.Text))
		}
		return fmt.Sprintf("[poll: %s (%s)]", wire.Clean(m.Poll.Question.Text), strings.Join(options, "; "))
	}
	return ""
}

// mentionPattern is a person who is named in a text.
//
// Source: https://docs.discord.com/developers/reference#message-formatting.
var mentionPattern = regexp.MustCompile(`<@!?([0-9]{1,20})>`)

// mentions finds out who is named, writes their names as people see them, and takes the bot's own
// out at the beginning, where it only says whom the text is for.
func (k *places) mentions(content *channels.Message, m *message) {
	me := k.api.me()
	for _, u := range m.Mentions {
		if u.ID == me.id {
			content.Mentioned = true
			continue
		}
		content.Mentions = append(content.Mentions, channels.Mention{ID: u.ID.String(), Label: "@" + u.label()})
	}
	for _, id := range m.Roles { // the role that the bot came with is called like it
		role, _ := k.roles.Get(id)
		content.Mentioned = content.Mentioned || role.Tags.Bot == me.id
	}
	text := content.Text
	if at := mentionPattern.FindStringSubmatchIndex(text); at != nil && strings.TrimSpace(text[:at[0]]) == "" && text[at[2]:at[3]] == me.id.String() {
		content.Mentioned = true
		text = wire.Addressed(text, at[1])
	}
	content.Text = k.named(m, text)
}

// numbered is what the platform writes with a number: a person, a role, a channel, an emoji.
var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<(@[!&]?|#)[0-9]{1,20}>|<a?:[A-Za-z0-9_]{1,32}:[0-9]{1,20}>`)
})

// named is a text with names instead of the numbers, as people see it.
func (k *places) named(m *message, text string) string {
	me := k.api.me()
	return numbered().ReplaceAllStringFunc(text, func(found string) string {
		if _, emoji, ok := strings.Cut(found, ":"); ok {
			return ":" + emoji[:strings.Index(emoji, ":")+1]
		}
		var id snowflake
		_ = id.UnmarshalText([]byte(strings.Trim(found, "<@!&#>")))
		name := ""
		switch at := slices.IndexFunc(m.Mentions, func(u user) bool { return u.ID == id }); {
		case found[1] == '#':
			place, _ := k.known.Get(id)
			name = place.Name
		case found[2] == '&':
			role, _ := k.roles.Get(id)
			name = role.Name
		case id == me.id:
			name = me.name
		case at >= 0:
			name = m.Mentions[at].label()
		}
		if name == "" {
			return found
		}
		return found[1:2] + wire.Clean(name)
	})
}

// voiceFlag says that a message was spoken.
//
// Source: https://docs.discord.com/developers/resources/message#message-object-message-flags.
const voiceFlag = 1 << 13

// attachments are the files of a message. Addresses expire, so that a file is known by the
// message that it came with.
//
// Source: https://docs.discord.com/developers/reference#signed-attachment-cdn-urls.
func attachments(m *message, files []file) (list []channels.Attachment) {
	for i := range files {
		f := &files[i]
		a := channels.Attachment{
			ID: m.Channel.String() + "/" + m.ID.String() + "/" + f.ID.String(), Kind: wire.KindOf(f.Type),
			Name: f.name(), Type: wire.Clean(f.Type), Size: max(f.Size, 0),
		}
		if m.Flags&voiceFlag != 0 || f.Waveform != "" {
			a.Kind = channels.Voice
		}
		list = append(list, a)
	}
	return list
}

// name is what the file was called. Of a name with special characters the platform keeps a plain
// one, and the other as the title.
//
// Source: https://docs.discord.com/developers/resources/message#attachment-object.
func (f *file) name() string {
	plain := wire.Clean(cmp.Or(f.Filename, "file"))
	if f.Title == "" {
		return plain
	}
	title, ext := wire.Clean(f.Title), path.Ext(plain)
	if !strings.EqualFold(path.Ext(title), ext) {
		title += ext
	}
	return title
}
