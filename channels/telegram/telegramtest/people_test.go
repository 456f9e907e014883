package telegramtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"switchboard/channels/telegram/telegramtest"
)

// newest is the update that came last, and its kind.
func newest(t *testing.T, s *telegramtest.Server) (u telegramtest.Update, raw string) {
	t.Helper()
	pending := s.Pending()
	if len(pending) == 0 {
		t.Fatal("nothing was told")
	}
	raw = string(pending[len(pending)-1])
	if err := json.Unmarshal([]byte(raw), &u); err != nil {
		t.Fatal(err)
	}
	return u, raw
}

func TestWhatPeopleDoBecomesUpdates(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada, bob := s.AddUser("Ada Lovelace"), s.AddUser("Bob")
	said := s.Say(ada.ID, "hi /help @someone_else https://example.org/a.")
	if u, raw := newest(t, s); u.Message == nil || u.Message.Chat.Type != "private" || len(u.Message.Entities) != 3 ||
		u.Message.Entities[2].Length != len("https://example.org/a") {
		t.Errorf("a message: %s", raw)
	}
	s.Edit(ada.ID, said.ID, "hello")
	if u, raw := newest(t, s); u.EditedMessage == nil || u.EditedMessage.Text != "hello" || u.EditedMessage.EditDate == 0 || u.EditedMessage.ID != said.ID {
		t.Errorf("an edit: %s", raw)
	}
	s.Post(telegramtest.Post{Chat: ada.ID, Text: "look", Forward: &telegramtest.Origin{Type: "hidden_user", SenderUserName: "Eve"}})
	if u, raw := newest(t, s); u.Message == nil || u.Message.ForwardOrigin == nil || u.Message.ForwardOrigin.Date == 0 {
		t.Errorf("a forwarded message: %s", raw)
	}
	s.Post(telegramtest.Post{Chat: ada.ID, Text: "this?", ReplyTo: said.ID, Quote: "llo"})
	if u, raw := newest(t, s); u.Message.ReplyTo == nil || u.Message.Quote == nil || u.Message.Quote.Position != 2 {
		t.Errorf("a reply with a quote: %s", raw)
	}
	for kind, field := range map[string]string{"photo": `"photo":[`, "voice": `"voice":{`, "audio": `"audio":{`, "video": `"video":{`, "sticker": `"sticker":{`, "": `"document":{`} {
		s.Post(telegramtest.Post{Chat: ada.ID, Files: []telegramtest.File{{Kind: kind, Name: "x.bin", Data: []byte("x")}}})
		if _, raw := newest(t, s); !strings.Contains(raw, field) {
			t.Errorf("%s: %s", kind, raw)
		}
	}
	s.Post(telegramtest.Post{Chat: ada.ID, Location: &telegramtest.Location{Latitude: 1, Longitude: 2}})
	if u, raw := newest(t, s); u.Message.Location == nil {
		t.Errorf("a location: %s", raw)
	}
	s.Post(telegramtest.Post{Chat: ada.ID, Contact: &telegramtest.Contact{PhoneNumber: "1", FirstName: "Eve"}})
	if u, raw := newest(t, s); u.Message.Contact == nil {
		t.Errorf("a contact: %s", raw)
	}
	s.Block(ada.ID, true)
	if u, raw := newest(t, s); u.MyChatMember == nil || u.MyChatMember.New.Status != "kicked" || u.MyChatMember.Old.Status != "member" {
		t.Errorf("blocked: %s", raw)
	}
	group := s.AddGroup("Friends", ada, bob)
	if u, raw := newest(t, s); u.MyChatMember == nil || u.MyChatMember.Chat.ID != group.ID || u.MyChatMember.Old.Status != "left" || u.MyChatMember.New.Status != "member" {
		t.Errorf("let into a group: %s", raw)
	}
	other := s.AddBot("other_bot")
	s.SayIn(group.ID, other.User.ID, "beep")
	if u, raw := newest(t, s); u.Message == nil || !u.Message.From.IsBot {
		t.Errorf("another bot: %s", raw)
	}
	fresh := s.Migrate(group.ID)
	pending := s.Pending()
	if to, from := string(pending[len(pending)-2]), string(pending[len(pending)-1]); !strings.Contains(to, `"migrate_to_chat_id":`+itoa(fresh.ID)) || !strings.Contains(from, `"migrate_from_chat_id":`+itoa(group.ID)) {
		t.Errorf("migrated: %s, %s", to, from)
	}
	channel := s.AddChannel("News", ada)
	s.Post(telegramtest.Post{Chat: channel.ID, Text: "new"})
	if u, raw := newest(t, s); u.ChannelPost == nil || u.ChannelPost.From != nil || u.ChannelPost.SenderChat == nil {
		t.Errorf("a channel post: %s", raw)
	}
	before := len(s.Pending())
	s.Delete(ada.ID, said.ID)
	if len(s.Pending()) != before {
		t.Error("a deletion is told to bots, which the platform does not do")
	}
}

func TestNumbersGrowAcrossRestarts(t *testing.T) {
	t.Parallel()
	first := telegramtest.New(t)
	ada := first.Furnish()
	one := first.Say(ada.ID, "x")
	time.Sleep(2100 * time.Millisecond)
	second := telegramtest.New(t)
	if again := second.Furnish(); again.ID != ada.ID {
		t.Errorf("the first person is %d, was %d", again.ID, ada.ID)
	}
	if two := second.Say(ada.ID, "y"); two.ID <= one.ID {
		t.Errorf("message %d came after %d", two.ID, one.ID)
	}
}
