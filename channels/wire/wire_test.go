package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Credentials that are bad are tried every few minutes; those that were good a moment ago
// twice in the first minute.
func TestRejectedCredentialsAreTriedAgainSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := wire.NewRejection()
		try := func(secret secrets.Secret) (asked bool) {
			err := r.Try(t.Context(), secret, func() error { asked = true; return channels.ErrUnauthorized })
			if !errors.Is(err, channels.ErrUnauthorized) || asked == strings.Contains(err.Error(), "every 5m") {
				t.Errorf("asked %v: %v", asked, err)
			}
			return asked
		}
		// step says that they were rejected just now and are tried again after want.
		step := func(want time.Duration) {
			t.Helper()
			time.Sleep(want - time.Second)
			early := try("x")
			time.Sleep(time.Second)
			if early || !try("x") {
				t.Errorf("they are not tried again after %s", want)
			}
		}
		if !try("x") {
			t.Error("they are not tried at once")
		}
		step(5 * time.Minute)
		step(5 * time.Minute)
		r.Greeted("x")
		r.Served("x")
		if !try("x") {
			t.Error("they rest though they were served")
		}
		step(15 * time.Second)
		r.Greeted("x") // greeted, and rejected at once: that is not working
		step(30 * time.Second)
		step(5 * time.Minute)
		if !try("y") || try("y") {
			t.Error("others do not go their own way")
		}
	})
}

func TestTryReturnsNilWhenItWasEnded(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	r := wire.NewRejection()
	if err := r.Try(ctx, "x", func() error { end(); return ctx.Err() }); err != nil {
		t.Error(err)
	}
}

// What keeps a bot from its platform is a sentence for people.
func TestFaultsAreSaidPlainly(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"there is no host named b.example":                  &net.OpError{Op: "dial", Err: &net.DNSError{Name: "b.example", IsNotFound: true}},
		"the name b.example cannot be looked up: no answer": &net.DNSError{Name: "b.example", Err: "no answer"},
		"it does not answer in time":                        fmt.Errorf("do request: %w", context.DeadlineExceeded),
		"the proxy cannot be used: connection refused":      &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED},
		"the connection was closed":                         &websocket.CloseError{Code: 1006, Text: io.ErrUnexpectedEOF.Error()},
		"something else":                                    &url.Error{Op: "Get", URL: "http://a/secret", Err: errors.New("something else")},
	} {
		if got := wire.Plainly(err); got != want {
			t.Errorf("%v is said as %q, want %q", err, got, want)
		}
	}
}

func TestFileNamesAreMadePlain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 3000)
	for name, want := range map[string]string{
		"report.pdf": "report.pdf", "Über uns 日本.txt": "Über uns 日本.txt", "..": "file", "": "file", "a/b": "a_b",
		"a\u202egpj.exe": "a_gpj.exe", "a\u0085b.txt": "a_b.txt", "\u200b.txt": "_.txt", "a\u2066b\u2069.txt": "a_b_.txt",
		"a\r\nb": "a__b", "a\ufeffb": "a_b", "a\xffb": "a_b",
		long + ".txt": strings.Repeat("é", 98) + ".txt", "x." + long: "x." + strings.Repeat("é", 99),
	} {
		if got := wire.PlainName(name); got != want || len(got) > 200 {
			t.Errorf("%.40q is %.60q, want %.60q", name, got, want)
		}
	}
}

func TestAddressOfTheWrongShapeIsRefused(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"http://127.0.0.1:8081", "https://api.example.org", "https://example.org:443/bots/", "http://[::1]:1"} {
		if !wire.IsAddress(good) {
			t.Errorf("%s is refused", good)
		}
	}
	for _, bad := range []string{
		"http://127.0.0.1:99999", "http://127.0.0.1:0", "http://127.0.0.1:", "http://:8081", "http://a b", "http://a/ b", " http://a",
		"http://a\u00a0b", "http://a\u200bb", "ftp://a", "a:80", "http://u:p@a", "http://a?b", "http://a#b", "http://a:x", "http://a:-1",
	} {
		if wire.IsAddress(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestSecondsAreReadWithinBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1": time.Second, " 0.25 ": 250 * time.Millisecond, "-3": 0, "3601": time.Hour, "1e999": time.Hour, "0": 0,
	} {
		if d, ok := wire.Seconds(text); d != want || !ok {
			t.Errorf("%q is %s, %v", text, d, ok)
		}
	}
	for _, text := range []string{"", "NaN", "soon", "1s"} {
		if d, ok := wire.Seconds(text); d != 0 || ok {
			t.Errorf("%q is %s, %v", text, d, ok)
		}
	}
}

// What is known of a call decides whether it may be made again.
func TestExchangeKnowsWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	var got int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 101))
		}
		_, _ = io.WriteString(w, "fine")
	}))
	defer server.Close()
	w := wire.New(1)
	defer w.Close()
	w.Most = 100
	post := func(address string, size int) (*wire.Exchange, error) {
		x := &wire.Exchange{}
		req, err := http.NewRequestWithContext(x.In(t.Context()), http.MethodPost, address, io.NopCloser(strings.NewReader(strings.Repeat("b", size))))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return x, err
	}
	for _, size := range []int{0, 5, wire.WholeBody, wire.WholeBody + 1, 1 << 20} {
		if x, err := post(server.URL, size); err != nil || x.Status != http.StatusOK || string(x.Body) != "fine" || got != int64(size) {
			t.Errorf("%d bytes: %d %q, %d came, %v", size, x.Status, x.Body, got, err)
		}
	}
	if x, err := post(server.URL+"/long", 5); !errors.Is(err, wire.ErrTooLong) || x.Status != 0 || !strings.HasPrefix(string(x.Body), "xxx") {
		t.Errorf("too long: %d %q, %v", x.Status, x.Body, err)
	}
	hide := func(text string) string { return strings.ReplaceAll(text, "closed", "[hidden]") }
	x, err := post(server.URL+"/cut", 5)
	if err = x.Unanswered("post", "there", hide); errors.Is(err, channels.ErrNotConnected) || err.Error() != "post: no complete answer from there: the connection was [hidden]" {
		t.Errorf("cut: %v", err)
	}
	server.Close()
	x, err = post(server.URL, 5)
	if err = x.Unanswered("post", "there", nil); !errors.Is(err, channels.ErrNotConnected) || err.Error() != "cannot reach there: connection refused" {
		t.Errorf("nobody there: %v", err)
	}
}

func TestMemoryForgetsAllWhenItIsFull(t *testing.T) {
	t.Parallel()
	m := wire.Memory[string, int]{Most: 2}
	m.Put("a", 1)
	m.Put("b", 2)
	m.Forget("a")
	if _, ok := m.Get("a"); ok {
		t.Error("it is not forgotten")
	}
	m.Put("c", 3)
	m.Put("d", 4)
	_, b := m.Get("b")
	if d, ok := m.Get("d"); d != 4 || !ok || b {
		t.Errorf("full: %d %v %v", d, ok, b)
	}
}

func TestHandInTriesAgainWithWhatCameMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		log, began := slog.New(slog.DiscardHandler), time.Now()
		n, took := 0, -1
		accept := func() error {
			if n < 2 {
				return errors.New("not now")
			}
			took = n
			return nil
		}
		if err := wire.HandIn(ctx, log, time.Second, time.Minute, accept, func() error { n++; return nil }); err != nil || took != 2 || time.Since(began) != 3*time.Second {
			t.Errorf("%d were taken after %s: %v", took, time.Since(began), err)
		}
		n = 0
		lost := errors.New("lost")
		if err := wire.HandIn(ctx, log, time.Second, time.Minute, accept, func() error { return lost }); !errors.Is(err, lost) {
			t.Errorf("what cannot be added to: %v", err)
		}
		end()
		if err := wire.HandIn(ctx, log, time.Second, time.Minute, accept, func() error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("ended: %v", err)
		}
	})
}
