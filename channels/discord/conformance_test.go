package discord

import (
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
	"switchboard/channels/render"
)

// stage is one harness: a person, a guild and the newest things in their channels.
type stage struct {
	*rig
	t       *testing.T
	topics  map[string]string
	door    string // a guild that the bot is not in at first
	newest  discordtest.Message
	pressed []string
}

func TestConformance(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Harness { return newStage(t).harness() })
}

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{rig: newRig(t), t: t, topics: map[string]string{}}
	for _, topic := range []string{"a", "b"} {
		st.topics[topic] = st.AddThread(st.general, topic).ID
	}
	st.door = st.AddGuild("Door", st.ada)
	st.Kick(st.door)
	return st
}

func (st *stage) harness() channelstest.Harness {
	s := st.Server
	p := platformtest.NewProxy(st.t, s.URL(), "")
	st.connect(p)
	st.meet()
	home := st.Direct(st.ada.ID).ID
	fail := func(r *discordtest.Rejection) {
		s.Break(discordtest.Fault{Method: discordtest.CreateMessage, Rejected: r})
	}
	return channelstest.Harness{
		Channel: st.c, Conversation: st.direct(),
		Restart:  func() channels.Channel { return st.connect(p) },
		Say:      func(text string) { st.newest = s.Say(st.ada.ID, text) },
		Garble:   func() { s.Inject("MESSAGE_CREATE", `{"id":"7","channel_id":"`+home+`","content":["not","text"]}`) },
		Repeat:   s.Repeat,
		Disorder: s.Disorder,
		Pending:  s.Unacknowledged,
		Drop:     p.Cut,
		Down: func(on bool) {
			if on {
				p.Down()
			} else {
				p.Up(st.t)
			}
		},
		Revoke: s.Revoke,
		Calls:  func() int { return len(s.Calls()) },
		People: st.people(), Looks: st.looks(), Health: st.health(p),
		Shown: func() (texts []string) {
			for _, m := range s.FromBot(home) {
				texts = append(texts, s.Seen(m))
			}
			return texts
		},
		LimitNext: func(after time.Duration, whole bool) { fail(discordtest.TooMany(after, whole)) },
		RefuseNext: func(temporary bool) {
			if temporary {
				fail(&discordtest.Rejection{Status: 500, Message: "500: Internal Server Error"})
			} else {
				fail(&discordtest.Rejection{Status: 400, Code: 50035, Message: "Invalid Form Body"})
			}
		},
		GoneNext: func() { fail(discordtest.CannotSend) },
		LoseNext: func() { s.Break(discordtest.Fault{Method: discordtest.CreateMessage, Lost: true}) },
	}
}

// connect makes a channel of the bot.
func (st *stage) connect(p *platformtest.Proxy) *Client {
	st.c = client(st.t, p.URL()+"/api/v10", st.Token())
	return st.c
}

// meet lets the channel begin a session and leave: what people say from now on is told when it
// comes back. Before that no bot is told anything.
func (st *stage) meet() {
	st.Sink = channelstest.NewSink()
	st.start(st.t)
	st.until(st.t, func() bool { return st.Connected() && st.Unacknowledged() == 0 })
	st.halt(st.t)
	st.until(st.t, func() bool { return !st.Connected() })
}

func (st *stage) people() channelstest.People {
	s := st.Server
	home := st.Direct(st.ada.ID).ID
	return channelstest.People{
		Edit:   func(text string) { st.newest = s.Edit(home, st.newest.ID, text) },
		Touch:  func() { s.Preview(home, st.newest.ID) },
		Delete: func() { s.Delete(home, st.newest.ID) },
		Attach: func(text string, files ...channelstest.Upload) {
			p := discordtest.Post{Channel: home, Text: text}
			for _, f := range files {
				p.Files = append(p.Files, discordtest.File{Name: f.Name, Type: "text/plain", Data: f.Data})
			}
			st.newest = s.Post(p)
		},
		SayInGroup: func(text string, mention bool) {
			if mention {
				text = "<@" + s.Bot().ID + "> " + text
			}
			s.SayIn(st.general, st.ada.ID, text)
		},
		SayInTopic: func(topic, text string) { s.SayIn(st.topics[topic], st.ada.ID, text) },
		Press: func(label string) {
			shown := s.FromBot(home)
			st.pressed = append(st.pressed, s.Press(home, st.ada.ID, shown[len(shown)-1].ID, label))
		},
		Toasts: func() (texts []string) {
			for _, id := range st.pressed {
				for _, a := range s.Answers(id) {
					texts = append(texts, a.Data.Content)
				}
			}
			return texts
		},
		React: func(emoji string, off bool) channels.MessageID {
			shown := s.FromBot(home)
			id := shown[len(shown)-1].ID
			s.React(home, st.ada.ID, id, emoji, !off)
			return channels.MessageID(id)
		},
		Member: func(what channels.Membership) {
			if what == channels.Left {
				s.Kick(st.door)
			} else {
				s.Invite(st.door)
			}
		},
	}
}

// looks is what Ada's chat shows of the bot.
func (st *stage) looks() channelstest.Looks {
	s := st.Server
	home := st.Direct(st.ada.ID).ID
	nextEdit := func(f discordtest.Fault) {
		f.Method = discordtest.EditMessage
		s.Break(f)
	}
	return channelstest.Looks{
		Look: func() (list []channelstest.Look) {
			for _, m := range s.FromBot(home) {
				list = append(list, st.look(m))
			}
			return list
		},
		LimitNextEdit: func(after time.Duration) { nextEdit(discordtest.Fault{Rejected: discordtest.TooMany(after, false)}) },
		LoseNextEdit:  func() { nextEdit(discordtest.Fault{Lost: true}) },
		Typings:       func() int { return len(s.Calls(discordtest.Typing)) },
		Format: func(markdown string) []channels.Body {
			return st.c.Format(render.Parse(markdown), st.c.Features(st.direct()))
		},
	}
}

func (st *stage) look(m discordtest.Message) channelstest.Look {
	l := channelstest.Look{ID: channels.MessageID(m.ID), Text: st.Seen(m)}
	for _, row := range m.Components {
		for _, b := range row.Components {
			l.Buttons = append(l.Buttons, b.Label)
		}
	}
	for _, a := range m.Attachments {
		f, ok := st.File(a.ID)
		if !ok {
			st.t.Errorf("message %s shows a file that is not there", m.ID)
		}
		if l.Files == nil {
			l.Files = map[string][]byte{}
		}
		l.Files[f.Name] = f.Data
	}
	return l
}

func (st *stage) health(p *platformtest.Proxy) channelstest.Health {
	return channelstest.Health{
		Hurry: func() channels.Channel {
			c := st.connect(p)
			c.pace.heartbeat, c.pace.silence = 500*time.Millisecond, 500*time.Millisecond
			st.meet()
			return c
		},
		Mute:        st.Mute,
		Connections: st.MostConnections,
	}
}
