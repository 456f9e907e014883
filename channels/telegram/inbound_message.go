package telegram

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// content is what m says. ok is false for notices of the platform itself (somebody
// joined, a title changed), which nobody wrote.
func (r reader) content(m *wireMessage) (content channels.Message, ok bool) {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	files := attachments(m)
	enclosed := text == "" && len(files) == 0
	if enclosed {
		if text = inBrackets(m); text == "" && len(m.unread) == 0 {
			return content, false
		}
		entities = nil
	}
	me := r.me
	content = channels.Message{ID: messageID(m.ID), Text: text, Enclosed: enclosed, Attachments: files}
	me.read(&content, entities)
	if len(m.unread) > 0 {
		content.Text = strings.TrimSpace(content.Text + "\n[could not be read here: " + strings.Join(m.unread, ", ") + "]")
	}
	answers(&content, m, me)
	if origin := m.origin(); origin != nil || m.IsAutoForward {
		content.Forwarded, content.Origin = true, origin.label()
	} else if m.ViaBot != nil && m.ViaBot.ID != me.id {
		content.Forwarded, content.Origin = true, "@"+m.ViaBot.Username // the person chose it; a bot wrote it
	}
	return content, true
}

// answers fills in what m answers. In a topic, a message that answers nothing is told
// as one that answers the topic's first.
func answers(content *channels.Message, m *wireMessage, me self) {
	if m.Quote != nil {
		content.Quote = m.Quote.Text
	}
	r := m.ReplyTo
	if r == nil || r.ID <= 0 || m.IsTopicMessage && (r.ID == m.ThreadID || len(r.TopicCreated) > 0) {
		return
	}
	content.ReplyTo = messageID(r.ID)
	content.Quote = cmp.Or(content.Quote, r.Text, r.Caption, inBrackets(r))
	if r.From != nil && r.From.ID == me.id && me.id != 0 {
		content.Mentioned = true
	}
}

// attachments are the files of m: of a picture's sizes the largest; an animation
// comes a second time as a document, for programs older than animations.
func attachments(m *wireMessage) (files []channels.Attachment) {
	add := func(f *wireFile, kind channels.AttachmentKind, name, mediaType string) {
		if f == nil || f.ID == "" {
			return
		}
		files = append(files, channels.Attachment{
			ID: f.ID, Kind: kind, Name: cmp.Or(f.Name, name), Type: cmp.Or(f.Type, mediaType), Size: max(f.Size, 0),
		})
	}
	if len(m.Photo) > 0 {
		largest := &m.Photo[0]
		for i := range m.Photo {
			if p := &m.Photo[i]; p.Width*p.Height > largest.Width*largest.Height {
				largest = p
			}
		}
		add(largest, channels.Photo, fmt.Sprintf("photo-%d.jpg", m.ID), "image/jpeg")
	}
	if m.Animation == nil {
		add(m.Document, channels.Document, fmt.Sprintf("document-%d", m.ID), "")
	}
	add(m.Voice, channels.Voice, fmt.Sprintf("voice-%d.ogg", m.ID), "audio/ogg")
	add(m.Audio, channels.Audio, fmt.Sprintf("audio-%d", m.ID), "")
	add(m.Video, channels.Video, fmt.Sprintf("video-%d.mp4", m.ID), "video/mp4")
	add(m.VideoNote, channels.Video, fmt.Sprintf("video-%d.mp4", m.ID), "video/mp4")
	add(m.Animation, channels.Video, fmt.Sprintf("animation-%d.mp4", m.ID), "video/mp4")
	return files
}

// inBrackets says in brackets what somebody sent that is neither text nor a file;
// empty: nobody sent anything.
func inBrackets(m *wireMessage) string {
	switch {
	case m.Sticker != nil:
		return "[" + strings.TrimSpace("sticker "+m.Sticker.Emoji) + "]"
	case m.Venue != nil: // before location, which it has too
		return fmt.Sprintf("[place: %s, %s, at %s]", m.Venue.Title, m.Venue.Address, m.Venue.Location)
	case m.Location != nil:
		return fmt.Sprintf("[location: %s]", *m.Location)
	case m.Contact != nil:
		return fmt.Sprintf("[contact: %s, %s]", label(m.Contact.FirstName, m.Contact.LastName, ""), m.Contact.Phone)
	case m.Poll != nil:
		options := make([]string, len(m.Poll.Options))
		for i, o := range m.Poll.Options {
			options[i] = o.Text
		}
		return fmt.Sprintf("[poll: %s (%s)]", m.Poll.Question, strings.Join(options, "; "))
	case m.Dice != nil:
		return fmt.Sprintf("[dice %s: %d]", m.Dice.Emoji, m.Dice.Value)
	}
	for _, other := range []struct {
		name string
		raw  []byte
	}{
		{"story", m.Story},
		{"checklist", m.Checklist},
		{"game", m.Game},
		{"invoice", m.Invoice},
		{"paid media", m.PaidMedia},
		{"giveaway", m.Giveaway},
	} {
		if len(other.raw) > 0 && string(other.raw) != "null" {
			return "[" + other.name + ", which cannot be read here]"
		}
	}
	return ""
}

// String is the place as latitude and longitude in degrees.
func (l wireLocation) String() string {
	return strconv.FormatFloat(l.Latitude, 'f', -1, 64) + ", " + strconv.FormatFloat(l.Longitude, 'f', -1, 64)
}

// origin is where m was forwarded from, also as an older server says it; nil: it was not.
//
// Source: https://core.telegram.org/bots/api-changelog#december-29-2023.
func (m *wireMessage) origin() *wireOrigin {
	if m.ForwardOrigin != nil || m.ForwardFrom == nil && m.ForwardFromChat == nil && m.ForwardSenderName == "" && m.ForwardDate == 0 {
		return m.ForwardOrigin
	}
	return &wireOrigin{SenderUser: m.ForwardFrom, SenderUserName: m.ForwardSenderName, Chat: m.ForwardFromChat, Signature: m.ForwardSignature}
}

// label says who wrote a forwarded message, as the platform labels them.
//
// Source: https://core.telegram.org/bots/api#messageorigin.
func (o *wireOrigin) label() string {
	switch {
	case o == nil:
		return ""
	case o.SenderUser != nil:
		return o.SenderUser.label()
	case o.SenderUserName != "":
		return o.SenderUserName
	}
	chat := o.Chat
	if o.SenderChat != nil {
		chat = o.SenderChat
	}
	if chat == nil {
		return o.Signature
	}
	name := cmp.Or(chat.Title, chat.Username)
	if o.Signature != "" {
		name = strings.TrimSpace(name + " (" + o.Signature + ")")
	}
	return name
}

// read finds out who is named in m's text, and takes the bot's own name out where it
// only says whom the text is for: "/help@name" becomes "/help", "@name, what time is
// it?" becomes "what time is it?".
//
// Source: https://core.telegram.org/bots/features#commands,
// https://core.telegram.org/bots/api#messageentity.
func (me self) read(m *channels.Message, entities []wireEntity) {
	text := m.Text
	cutFrom, cutTo, lead := 0, 0, 0 // what goes out of a command; where the text begins behind our name
	for _, e := range entities {
		from, to, ok := span(text, e.Offset, e.Length)
		if !ok {
			continue // not as documented; the text is still what it is
		}
		named := text[from:to]
		switch e.Type {
		case "bot_command":
			at := strings.IndexByte(named, '@')
			if at < 0 {
				continue
			}
			ours := me.is(named[at+1:])
			m.Mentioned = m.Mentioned || ours
			switch {
			case from != 0:
			case ours:
				cutFrom, cutTo = at, to
			default:
				m.Elsewhere = true
			}
		case "mention":
			if !me.is(strings.TrimPrefix(named, "@")) {
				m.Mentions = append(m.Mentions, channels.Mention{Label: named})
				continue
			}
			m.Mentioned = true
			if from == 0 {
				lead = to
			}
		case "text_mention":
			switch {
			case e.User == nil:
			case e.User.ID == me.id:
				m.Mentioned = true
				if from == 0 {
					lead = to
				}
			default:
				m.Mentions = append(m.Mentions, channels.Mention{ID: strconv.FormatInt(e.User.ID, 10), Label: named})
			}
		}
	}
	switch {
	case cutTo > 0:
		m.Text = text[:cutFrom] + text[cutTo:]
	case lead > 0:
		m.Text = wire.Addressed(text, lead)
	}
}

// is says whether a username is the bot's; case does not matter.
func (me self) is(username string) bool {
	return me.username != "" && strings.EqualFold(username, me.username)
}
