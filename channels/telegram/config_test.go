package telegram

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/internal/secrets"
)

func TestConfigFaultsNameTheirKeys(t *testing.T) {
	t.Parallel()
	for want, edit := range map[string]func(*Config){
		"":                     func(*Config) {},
		"mode: \"push\"":       func(c *Config) { c.Mode = "push" },
		"webhook_secret: is":   func(c *Config) { c.Mode = ModeWebhook },
		"webhook_secret: has":  func(c *Config) { c.Mode, c.WebhookSecret = ModeWebhook, "a b" },
		"api_url: is not an ":  func(c *Config) { c.APIURL = "ftp://127.0.0.1" },
		"api_url: is not an a": func(c *Config) { c.APIURL = "http://user:pass@127.0.0.1" },
	} {
		c := DefaultConfig()
		edit(&c)
		if err := c.Validate(); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, good := range []string{"http://127.0.0.1:8081", "https://bots.example.org/api/"} {
		c := Config{Mode: ModeWebhook, WebhookSecret: "s", APIURL: good, Token: channelstest.Literal("1:hunter2")}
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		if text := fmt.Sprintf("%v %+v", c, &c); strings.Contains(text, "hunter2") {
			t.Errorf("the token is shown: %s", text)
		}
	}
}

func TestTokenOfTheWrongShapeIsRefused(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"1:x", "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "9223372036854775807:a-b_" + strings.Repeat("c", 200)} {
		if err := DefaultConfig().CheckCredential("token", secrets.Secret(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"hello", "hunter2:x", "1:", ":x", "1:a b", "1:a/../b", "1:x\n"} {
		err := DefaultConfig().CheckCredential("token", secrets.Secret(bad))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := DefaultConfig().CheckCredential("webhook_secret", "hello"); err != nil {
		t.Error(err)
	}
}

func TestFeaturesFollowTheKindOfChat(t *testing.T) {
	t.Parallel()
	c := knowing()
	direct, group := c.Features(conv(1, channels.Direct)), c.Features(conv(-1, channels.Thread))
	if direct.Len("a😀") != 3 || direct.MaxText != 4096 || direct.Rates.PerConversationMinute != 0 || group.Rates.PerConversationMinute != 20 || group.DraftEvery <= direct.DraftEvery {
		t.Errorf("%+v\n%+v", direct, group)
	}
}

func TestIDsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, id := range []channels.ConversationID{"5", "-100123", "-100123/7"} {
		chat, topic, err := parseConversation(id)
		if err != nil || conversationID(chat, topic) != id {
			t.Errorf("%s: %d/%d, %v", id, chat, topic, err)
		}
	}
	for _, id := range []channels.ConversationID{"", "x", "0", "5/", "5/0", "5/-1", "5/6/7", "5 "} {
		if _, _, err := parseConversation(id); err == nil {
			t.Errorf("%q is taken for a conversation", id)
		}
	}
	for _, id := range []channels.MessageID{"", "0", "-3", "x", "1.5"} {
		if _, err := parseMessage(id); err == nil {
			t.Errorf("%q is taken for a message", id)
		}
	}
	edit := func(at int64, m channels.Message) channels.EventKey {
		m.ID = "7"
		return editKey("1", &channels.Event{Conversation: channels.Conversation{ID: "5"}, Message: m, At: instant(at)})
	}
	read := reader{bot: "1"}
	keys := []channels.EventKey{
		read.undecodable(9, nil, io.EOF).event.Key, read.undecodable(0, []byte("a"), io.EOF).event.Key, read.undecodable(0, []byte("b"), io.EOF).event.Key,
		edit(1, channels.Message{Text: "x"}), edit(2, channels.Message{Text: "x"}), edit(1, channels.Message{Text: "y"}),
		edit(1, channels.Message{Text: "x", Attachments: []channels.Attachment{{ID: "f"}}}),
	}
	if sorted := slices.Sorted(slices.Values(keys)); len(slices.Compact(sorted)) != len(keys) {
		t.Errorf("two of them are alike: %q", keys)
	}
}
