package telegram

import (
	"strconv"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
)

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
