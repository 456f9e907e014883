package telegram

import (
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/platformtest"
	"switchboard/channels/render"
	"switchboard/channels/telegram/telegramtest"
)

// looks is what Ada's chat shows of the bot.
func (st *stage) looks() channelstest.Looks {
	s := st.s
	nextEdit := func(f telegramtest.Fault) {
		f.Method = "editMessageText"
		s.Break(f)
	}
	return channelstest.Looks{
		Look: func() (list []channelstest.Look) {
			for _, m := range s.FromBot(st.ada.ID) {
				list = append(list, st.look(m))
			}
			return list
		},
		LimitNextEdit: func(after time.Duration) {
			nextEdit(telegramtest.Fault{Rejected: telegramtest.TooMany(int(after.Seconds()))})
		},
		LoseNextEdit: func() { nextEdit(telegramtest.Fault{Lost: true}) },
		Typings:      func() int { return len(s.Calls("sendChatAction")) },
		Format: func(markdown string) []channels.Body {
			here := conv(st.ada.ID, channels.Direct)
			return st.c.Format(render.Parse(markdown), st.c.Features(here))
		},
	}
}

func (st *stage) look(m telegramtest.Shown) channelstest.Look {
	l := channelstest.Look{ID: messageID(int(m.ID)), Text: m.Text + m.Caption}
	if m.ReplyMarkup != nil {
		for _, row := range m.ReplyMarkup.Rows {
			for _, b := range row {
				l.Buttons = append(l.Buttons, b.Text)
			}
		}
	}
	if id := m.FileID(); id != "" {
		f, ok := st.s.File(id)
		if !ok {
			st.t.Errorf("message %d shows a file that is not there", m.ID)
		}
		l.Files = map[string][]byte{f.Name: f.Data}
	}
	return l
}

// health breaks the connection to p; the platform answers a hurried poll each second.
func (st *stage) health(p *platformtest.Proxy) channelstest.Health {
	return channelstest.Health{
		Hurry: func() channels.Channel {
			c := st.connect(p)
			c.pace.poll, c.pace.silence = time.Second, 700*time.Millisecond
			return c
		},
		Mute:        p.Mute,
		Connections: p.MostMarked,
	}
}
