package telegramtest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels/telegram/telegramtest"
)

func TestLibraryEchoes(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada Lovelace")
	b := client(t, s, bot.WithNotAsyncHandlers(), bot.WithDefaultHandler(func(ctx context.Context, b *bot.Bot, u *models.Update) {
		if _, err := b.SendMessage(ctx, &bot.SendMessageParams{
			ChatID: u.Message.Chat.ID, Text: u.Message.Text,
			ReplyParameters: &models.ReplyParameters{MessageID: u.Message.ID},
		}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}))
	ctx, cancel := context.WithCancel(soon(t))
	var wg sync.WaitGroup
	wg.Go(func() { b.Start(ctx) })
	defer wg.Wait()
	defer cancel()

	asked := s.Say(ada.ID, "hello 👋")
	if err := s.Await(ctx, func() bool { return len(s.FromBot(ada.ID)) == 1 && len(s.Pending()) == 0 }); err != nil {
		t.Fatalf("%v: %+v", err, s.Messages(ada.ID))
	}
	got := s.FromBot(ada.ID)[0]
	if got.Text != "hello 👋" || got.ReplyTo == nil || got.ReplyTo.ID != asked.ID || got.ID <= asked.ID {
		t.Errorf("the chat shows %+v", got.Message)
	}
	if age := time.Since(time.Unix(s.Calls("getUpdates")[1].Int("offset"), 0)); age < -time.Minute || age > time.Minute {
		t.Errorf("update_id does not begin at the time: %v", age)
	}
}

func TestLibraryIsRefusedWhatThePlatformRefuses(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	s.Say(ada.ID, "hi")
	b := client(t, s)
	_, err := b.SendMessage(soon(t), &bot.SendMessageParams{ChatID: ada.ID, Text: "bold", Entities: []models.MessageEntity{
		{Type: models.MessageEntityTypeBold, Offset: 2, Length: 3},
	}})
	if !errors.Is(err, bot.ErrorBadRequest) || !strings.Contains(err.Error(), "can't parse entities") {
		t.Errorf("an entity that ends after the text: %v", err)
	}
	if _, err := b.SendMessage(soon(t), &bot.SendMessageParams{ChatID: 4711, Text: "x"}); err == nil || !strings.Contains(err.Error(), "chat not found") {
		t.Errorf("an unknown chat: %v", err)
	}
	s.Revoke(s.Bot(), true)
	if _, err := b.GetMe(soon(t)); !errors.Is(err, bot.ErrorUnauthorized) {
		t.Errorf("a revoked token: %v", err)
	}
}
