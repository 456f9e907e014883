package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/platformtest"
	"switchboard/channels/telegram/telegramtest"
)

// stage is one harness: a person, a group and the newest things in their chats.
type stage struct {
	t       *testing.T
	s       *telegramtest.Server
	c       *Client
	ada     telegramtest.User
	group   telegramtest.Chat // which can become a supergroup
	forum   telegramtest.Chat
	door    telegramtest.Chat // the bot is not in at first
	topics  map[string]int64
	newest  telegramtest.Message
	repeat  int
	inForum bool // the group is the one with topics
	pressed []string
	later   atomic.Int64 // seconds that the platform's clock is ahead
}

func TestConformance(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Harness { return newStage(t).harness() })
}

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{t: t, s: telegramtest.New(t), topics: map[string]int64{}, repeat: 1}
	st.s.SetClock(func() time.Time { return time.Now().Add(time.Duration(st.later.Load()) * time.Second) })
	st.ada = st.s.AddUser("Ada Lovelace")
	st.s.Say(st.ada.ID, "/start") // before that no bot may write to anybody
	st.group, st.forum, st.door = st.s.AddGroup("Engines", st.ada), st.s.AddForum("Engines", st.ada), st.s.AddGroup("Door", st.ada)
	for _, topic := range []string{"a", "b"} {
		st.topics[topic] = st.s.AddTopic(st.forum.ID, topic)
	}
	st.s.Kick(st.door.ID)
	forget(t, st.s)
	return st
}

// forget confirms all updates that wait, and asks for the kinds that an adapter asks
// for at its first poll.
func forget(t *testing.T, s *telegramtest.Server) {
	t.Helper()
	kinds := url.QueryEscape(allowedUpdates)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/bot"+s.Token()+"/getUpdates?offset=9999999999&allowed_updates="+kinds, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := len(s.Pending()); n != 0 {
		t.Fatalf("%d updates still wait", n)
	}
}

func (st *stage) harness() channelstest.Harness {
	t, s := st.t, st.s
	p := platformtest.NewProxy(t, s.URL(), "/getUpdates ")
	here := conv(st.ada.ID, channels.Direct)
	fail := func(times int, r *telegramtest.Rejection) {
		s.Break(telegramtest.Fault{Method: "sendMessage", Times: times, Rejected: r})
	}
	return channelstest.Harness{
		Channel: st.connect(p), Conversation: here,
		Restart: func() channels.Channel { return st.connect(p) },
		Say:     func(text string) { st.told("message", s.Say(st.ada.ID, text)) },
		Garble: func() {
			s.Inject(`{"update_id":UPDATE_ID,"message":{"message_id":7,"text":["not","text"]}}`)
		},
		Repeat:  func(n int) { st.repeat = n },
		Pending: func() int { return len(s.Pending()) },
		Drop:    p.Cut,
		Down: func(on bool) {
			if on {
				p.Down()
			} else {
				p.Up(t)
			}
		},
		Revoke: func() { s.Revoke(s.Bot(), true) },
		Calls:  func() int { return len(s.Calls()) },
		People: st.people(), Looks: st.looks(), Health: st.health(p),
		Shown: func() (texts []string) {
			for _, m := range s.FromBot(st.ada.ID) {
				texts = append(texts, m.Text)
			}
			return texts
		},
		LimitNext: func(after time.Duration, whole bool) {
			if !whole {
				fail(1, telegramtest.TooMany(int(after.Seconds())))
				return
			}
			// The platform does not say it; several chats at once do.
			fail(crowdFrom, telegramtest.TooMany(int(after.Seconds())))
			for i := range crowdFrom - 1 {
				other := s.AddUser(fmt.Sprintf("Other %d", i))
				_, _ = st.c.Send(t.Context(), outbound(conv(other.ID, channels.Direct), "x"))
			}
		},
		RefuseNext: func(temporary bool) {
			r := &telegramtest.Rejection{Code: 400, Description: "Bad Request: not today"}
			if temporary {
				r = &telegramtest.Rejection{Code: 500, Description: "Internal Server Error"}
			}
			fail(1, r)
		},
		GoneNext: func() {
			fail(1, &telegramtest.Rejection{Code: 403, Description: "Forbidden: bot was blocked by the user"})
		},
		LoseNext: func() { s.Break(telegramtest.Fault{Method: "sendMessage", Lost: true}) },
	}
}

// connect makes a channel of the bot.
func (st *stage) connect(p *platformtest.Proxy) *Client {
	st.c = client(p.URL(), st.s.Token())
	st.t.Cleanup(st.c.Wire.Close)
	return st.c
}

// told notes the newest message and tells it again as often as is wanted.
func (st *stage) told(kind string, m telegramtest.Message) {
	st.newest = m
	raw, err := json.Marshal(m)
	if err != nil {
		st.t.Fatal(err)
	}
	for range st.repeat - 1 {
		st.s.Inject(fmt.Sprintf(`{"update_id":UPDATE_ID,%q:%s}`, kind, raw))
	}
}

func (st *stage) people() channelstest.People {
	s := st.s
	name := "@" + s.Bot().User.Username
	return channelstest.People{
		Edit: func(text string) {
			st.later.Add(1) // the platform counts edits in seconds
			st.told("edited_message", s.Edit(st.newest.Chat.ID, st.newest.ID, text))
		},
		Touch: func() { s.Reannounce(st.newest.Chat.ID, st.newest.ID) },
		Attach: func(text string, files ...channelstest.Upload) {
			p := telegramtest.Post{Chat: st.ada.ID, Text: text}
			for _, f := range files {
				p.Files = append(p.Files, telegramtest.File{Kind: string(f.Kind), Name: f.Name, Type: "text/plain", Data: f.Data})
			}
			st.newest = s.Post(p)[0]
		},
		SayInGroup: func(text string, mention bool) {
			if mention {
				text = name + " " + text
			}
			chat := st.group
			if st.inForum {
				chat = st.forum
			}
			s.SayIn(chat.ID, st.ada.ID, text)
		},
		SayElsewhere: func() { s.SayIn(st.group.ID, st.ada.ID, "/help@somebody_else_bot") },
		SayInTopic: func(topic, text string) {
			st.inForum = true
			s.Post(telegramtest.Post{Chat: st.forum.ID, From: st.ada.ID, Thread: st.topics[topic], Text: text})
		},
		Press: func(label string) {
			shown := s.FromBot(st.ada.ID)
			st.pressed = append(st.pressed, s.Press(st.ada.ID, st.ada.ID, shown[len(shown)-1].ID, label))
		},
		Toasts: func() (texts []string) {
			for _, id := range st.pressed {
				if a := s.Answered(id); a.Done {
					texts = append(texts, a.Text)
				}
			}
			return texts
		},
		React: func(emoji string, off bool) channels.MessageID {
			shown := s.FromBot(st.ada.ID)
			id := shown[len(shown)-1].ID
			if off {
				s.React(st.ada.ID, st.ada.ID, id)
			} else {
				s.React(st.ada.ID, st.ada.ID, id, emoji)
			}
			return messageID(int(id))
		},
		Member: func(what channels.Membership) {
			if what == channels.Left {
				s.Kick(st.door.ID)
			} else {
				s.Invite(st.door.ID)
			}
		},
		Move: func() (former, now channels.ConversationID) {
			old := st.group.ID
			st.group = s.Migrate(old)
			return conversationID(old, 0), conversationID(st.group.ID, 0)
		},
	}
}
