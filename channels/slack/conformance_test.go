package slack

import (
	"fmt"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/platformtest"
	"switchboard/channels/render"
	"switchboard/channels/slack/slacktest"
)

// stage is one harness: a person, channels and the newest things in them.
type stage struct {
	t       *testing.T
	s       *slacktest.Server
	c       *Client
	ada     slacktest.User
	dm      string
	channel string
	door    string // the bot is not in at first
	topics  map[string]string
	newest  slacktest.Message
	garbled int
	pressed []string
}

func TestConformance(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Harness { return newStage(t).harness() })
}

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{t: t, s: slacktest.New(t), topics: map[string]string{}}
	st.s.Limit(false) // the suite paces nothing
	st.s.Beat(100 * time.Millisecond)
	st.s.Retry(300 * time.Millisecond)
	st.ada = st.s.AddUser("Ada Lovelace")
	st.dm = st.s.Direct(st.ada.ID)
	st.channel, st.door = st.s.AddChannel("engines", st.ada).ID, st.s.AddForeign("door", st.ada).ID
	return st
}

func (st *stage) harness() channelstest.Harness {
	t, s := st.t, st.s
	p := platformtest.NewProxy(t, s.URL(), "")
	fail := func(f slacktest.Fault) {
		f.Method = "chat.postMessage"
		s.Break(f)
	}
	return channelstest.Harness{
		Channel: st.connect(p), Conversation: conv(st.dm, "", channels.Direct),
		Restart: func() channels.Channel { return st.connect(p) },
		Say:     func(text string) { st.newest = s.Say(st.ada.ID, text) },
		Garble: func() {
			st.garbled++
			s.Inject(fmt.Sprintf(`{"type":"event_callback","event_id":"EvBAD%d","event":{"type":"message","text":["not","text"]}}`, st.garbled))
		},
		Repeat:   s.Repeat,
		Disorder: s.Reorder,
		Pending:  s.Pending,
		Drop:     p.Cut,
		Down: func(on bool) {
			if on {
				p.Down()
			} else {
				p.Up(t)
			}
		},
		Revoke: func() { s.Revoke(true) },
		Calls:  func() int { return len(s.Calls()) },
		People: st.people(), Looks: st.looks(),
		Health: channelstest.Health{
			Hurry: func() channels.Channel {
				c := st.connect(p)
				c.cfg.PingInterval = time.Second
				s.Beat(time.Hour)
				return c
			},
			Mute: s.Hang, Connections: s.MostSockets,
		},
		Shown: func() (texts []string) {
			for _, m := range s.FromBot(st.dm) {
				texts = append(texts, m.Seen)
			}
			return texts
		},
		LimitNext: func(after time.Duration, whole bool) {
			if whole {
				fail(slacktest.Fault{Rejected: slacktest.TooManyAll(after)})
			} else {
				fail(slacktest.Fault{Rejected: slacktest.TooMany(after)})
			}
		},
		RefuseNext: func(temporary bool) {
			code := "restricted_action"
			if temporary {
				code = "service_unavailable"
			}
			fail(slacktest.Fault{Rejected: &slacktest.Rejection{Code: code}})
		},
		GoneNext:      func() { fail(slacktest.Fault{Rejected: &slacktest.Rejection{Code: "is_archived"}}) },
		LoseNext:      func() { fail(slacktest.Fault{Lost: true}) },
		LoseNextFiles: func() { s.Break(slacktest.Fault{Method: "files.completeUploadExternal", Lost: true}) },
	}
}

// connect makes a channel of the app.
func (st *stage) connect(p *platformtest.Proxy) *Client {
	st.c = client(st.t, p.URL()+"/api/", st.s)
	return st.c
}

func (st *stage) people() channelstest.People {
	s := st.s
	last := func() string {
		shown := s.FromBot(st.dm)
		return shown[len(shown)-1].TS
	}
	return channelstest.People{
		Edit:   func(text string) { s.Edit(st.dm, st.newest.TS, text) },
		Touch:  func() { s.Reannounce(st.dm, st.newest.TS) },
		Delete: func() { s.Delete(st.dm, st.newest.TS) },
		Attach: func(text string, files ...channelstest.Upload) {
			p := slacktest.Post{Channel: st.dm, User: st.ada.ID, Text: text}
			for _, f := range files {
				p.Files = append(p.Files, slacktest.File{Kind: string(f.Kind), Name: f.Name, Type: "text/plain", Data: f.Data})
			}
			st.newest = s.Post(p)
		},
		SayInGroup: func(text string, mention bool) {
			if mention {
				text = "@" + s.Bot().Name + " " + text
			}
			s.Post(slacktest.Post{Channel: st.channel, User: st.ada.ID, Text: text})
		},
		SayInTopic: func(topic, text string) {
			if st.topics[topic] == "" {
				root := s.AddSilent(st.channel, st.ada.ID, "topic "+topic)
				st.topics[topic] = root.TS
			}
			s.Post(slacktest.Post{Channel: st.channel, User: st.ada.ID, Thread: st.topics[topic], Text: text})
		},
		Press: func(label string) { st.pressed = append(st.pressed, s.Press(st.dm, st.ada.ID, last(), label)) },
		Toasts: func() (texts []string) {
			for _, id := range st.pressed {
				if a := s.Answered(id); a.Done {
					texts = append(texts, a.Text)
				}
			}
			return texts
		},
		React: func(emoji string, off bool) channels.MessageID {
			id := last()
			s.React(st.dm, st.ada.ID, id, nameOfEmoji(emoji), off)
			return channels.MessageID(id)
		},
		Member: func(what channels.Membership) {
			if what == channels.Left {
				s.Kick(st.door, st.ada.ID)
			} else {
				s.Invite(st.door, st.ada.ID)
			}
		},
		Move: func() (former, now channels.ConversationID) {
			old := st.channel
			st.channel = s.Rename(old)
			return conversationID(old, ""), conversationID(st.channel, "")
		},
	}
}

func (st *stage) looks() channelstest.Looks {
	nextEdit := func(f slacktest.Fault) {
		f.Method = "chat.update"
		st.s.Break(f)
	}
	return channelstest.Looks{
		Look: func() (list []channelstest.Look) {
			for _, m := range st.s.FromBot(st.dm) {
				l := channelstest.Look{ID: channels.MessageID(m.TS), Text: m.Seen, Buttons: m.Buttons}
				for _, f := range m.Files {
					if l.Files == nil {
						l.Files = map[string][]byte{}
					}
					kept, _ := st.s.File(f.ID)
					l.Files[f.Name] = kept.Data
				}
				list = append(list, l)
			}
			return list
		},
		AtWork:        func(id channels.MessageID) bool { return st.s.Reactions(st.dm, string(id)) > 0 },
		LimitNextEdit: func(after time.Duration) { nextEdit(slacktest.Fault{Rejected: slacktest.TooMany(after)}) },
		LoseNextEdit:  func() { nextEdit(slacktest.Fault{Lost: true}) },
		Format: func(markdown string) []channels.Body {
			return st.c.Format(render.Parse(markdown), st.c.Features(conv(st.dm, "", channels.Direct)))
		},
	}
}
