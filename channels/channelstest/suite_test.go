package channelstest_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/channels/channelstest/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness joins a platform with a channel that reaches it.
func harness(t *testing.T, p *channelstest.Platform, channel channels.Channel) channelstest.Harness {
	t.Helper()
	return channelstest.Harness{
		Channel:      channel,
		Conversation: channels.Conversation{Channel: channel.Name(), ID: "c1", Kind: channels.Direct, Place: "c1"},
		Say:          func(text string) { p.Say("c1", "u1", text) },
		Garble:       func() { p.Garble([]byte{'{', 0, 0xff}) },
		Repeat:       p.Repeat,
		Disorder:     p.Reorder,
		Pending:      p.Pending,
		Drop:         p.Drop,
		Down: func(on bool) {
			if err := p.Down(on); err != nil {
				t.Error(err)
			}
		},
		Revoke: func() { p.Revoke(true) },
		Calls:  p.Calls,
		Shown: func() []string {
			var texts []string
			for _, s := range p.SentIn("c1") {
				texts = append(texts, s.Text)
			}
			return texts
		},
		LimitNext: func(after time.Duration, whole bool) {
			p.Next(channelstest.Fault{RateLimited: true, RetryAfter: after, Channel: whole})
		},
		RefuseNext:    func(temporary bool) { p.Next(channelstest.Fault{Refused: "no", Temporary: temporary}) },
		GoneNext:      func() { p.Next(channelstest.Fault{Gone: true}) },
		LoseNext:      func() { p.Next(channelstest.Fault{LoseAnswer: true}) },
		LoseNextDraft: func() { p.NextChange(channelstest.Fault{LoseAnswer: true}) },
		People:        people(p),
		Looks:         looks(p),
		Health:        channelstest.Health{Mute: p.Mute, Connections: p.MostPolls},
	}
}

// looks is what the platform shows in c1.
func looks(p *channelstest.Platform) channelstest.Looks {
	return channelstest.Looks{
		Look: func() (list []channelstest.Look) {
			for _, s := range p.SentIn("c1") {
				l := channelstest.Look{ID: s.ID, Text: s.Text}
				for _, b := range s.Buttons {
					l.Buttons = append(l.Buttons, b.Label)
				}
				for _, f := range s.Files {
					if l.Files == nil {
						l.Files = map[string][]byte{}
					}
					l.Files[f.Name] = f.Data
				}
				list = append(list, l)
			}
			return list
		},
		LimitNextEdit: func(after time.Duration) {
			p.NextChange(channelstest.Fault{RateLimited: true, RetryAfter: after})
		},
		LoseNextEdit: func() { p.NextChange(channelstest.Fault{LoseAnswer: true}) },
		AtWork: func(id channels.MessageID) bool {
			states := p.Turn(id)
			return len(states) > 0 && states[len(states)-1] == channels.TurnWorking
		},
		Typings: func() int { return len(p.Changes(scripted.OpTyping)) },
	}
}

// people is what u1 does besides saying something.
func people(p *channelstest.Platform) channelstest.People {
	group := "g1"
	inGroup := func(m scripted.Message) {
		m.User = "u1"
		p.Write(m)
	}
	return channelstest.People{
		Edit:   func(text string) { p.Edit("c1", p.Newest("c1", "u1"), text) },
		Touch:  func() { p.Rewrite("c1", p.Newest("c1", "u1"), func(*scripted.Message) {}) },
		Delete: func() { p.Delete("c1", p.Newest("c1", "u1")) },
		Attach: func(text string, files ...channelstest.Upload) {
			m := scripted.Message{Conversation: "c1", User: "u1", Text: text}
			for _, f := range files {
				m.Attachments = append(m.Attachments, p.Upload(channels.Attachment{Kind: f.Kind, Name: f.Name}, f.Data))
			}
			p.Write(m)
		},
		SayInGroup: func(text string, mention bool) {
			inGroup(scripted.Message{Conversation: group, Kind: "group", Text: text, Mentioned: mention})
		},
		SayElsewhere: func() {
			inGroup(scripted.Message{Conversation: group, Kind: "group", Text: "/help@other", Elsewhere: true})
		},
		SayInTopic: func(topic, text string) {
			inGroup(scripted.Message{Conversation: group + "/" + topic, Kind: "thread", Place: group, Text: text})
		},
		Press: func(label string) { p.Press("c1", "u1", label) },
		Toasts: func() (texts []string) {
			for _, toast := range p.Toasts() {
				texts = append(texts, toast.Text)
			}
			return texts
		},
		React: func(emoji string, off bool) channels.MessageID {
			sent := p.SentIn("c1")
			id := sent[len(sent)-1].ID
			p.React("c1", "u1", string(id), emoji, off)
			return id
		},
		Member: func(what channels.Membership) {
			p.Happen(scripted.Message{Event: channels.EventMember, Conversation: group, Kind: "group", User: "u1", Membership: what})
		},
		Move: func() (former, now channels.ConversationID) {
			former, now = channels.ConversationID(group), channels.ConversationID(group+"-moved")
			group = string(now)
			p.Move(string(former), group)
			return former, now
		},
	}
}

var abilities = map[string]scripted.Config{
	"bare":    {MaxText: 500},
	"finder":  {Finder: true},
	"deduper": {Deduper: true, Window: time.Minute},
	"both":    {Finder: true, Deduper: true, Window: time.Minute, Buttons: true},
	"rich":    {Rich: true, Files: 3, Buttons: true, MaxText: 500, Silence: 40 * time.Second},
}

func TestScriptedPassesTheSuiteInProcess(t *testing.T) {
	for name, cfg := range abilities {
		t.Run(name, func(t *testing.T) {
			channelstest.Run(t, func(t *testing.T) channelstest.Harness {
				p := channelstest.NewPlatform()
				p.Dedupe(cfg.Window)
				h := harness(t, p, channelstest.Scripted("test", p, cfg))
				if cfg.Rich {
					p.Beat(200 * time.Millisecond)
					h.Hurry = func() channels.Channel {
						quick := cfg
						quick.Silence = 2 * time.Second
						return channelstest.Scripted("test", p, quick)
					}
				}
				return h
			})
		})
	}
}

func TestScriptedPassesTheSuiteOverSockets(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			channelstest.Run(t, func(t *testing.T) channelstest.Harness {
				p := channelstest.NewPlatform()
				cfg := abilities["both"]
				cfg.Rich, cfg.Files = true, 3
				p.Dedupe(cfg.Window)
				address := "127.0.0.1:0"
				if network == "unix" {
					address = filepath.Join(t.TempDir(), "p.sock")
				}
				server, err := p.Listen(network, address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
				cfg.Addr = server.Addr()
				if err := cfg.Validate(); err != nil {
					t.Fatal(err)
				}
				return harness(t, p, scripted.New("test", cfg, slog.New(slog.DiscardHandler)))
			})
		})
	}
}
