package telegramtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/goleak"

	"switchboard/channels/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is the real library on the server's first bot, which does not poll.
func client(t *testing.T, s *telegramtest.Server, options ...bot.Option) *bot.Bot {
	t.Helper()
	b, err := bot.New(s.Token(), append([]bot.Option{bot.WithServerURL(s.URL())}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// soon is a context that ends when a test should have been done long ago.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}
