package telegramtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/goleak"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/channels/telegram/telegramtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pagetest.Quit()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// call posts a body as it is and returns status and answer.
func call(t *testing.T, s *telegramtest.Server, token, method, typ, body string) (code int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(soon(t), http.MethodPost, s.URL()+"/bot"+token+"/"+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", typ)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}
