package tools

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestPrivateAddressesAreRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	allowed := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}
	for _, test := range []struct {
		addr string
		ok   bool
	}{
		{"1.1.1.1", true},
		{"2606:4700:4700::1111", true},
		{"::ffff:1.1.1.1", true},
		{"10.1.2.3", true},
		{"::ffff:10.1.2.3", true},
		{"fd00:1::5", true},
		{"10.2.0.1", false},
		{"172.16.0.1", false},
		{"192.168.1.1", false},
		{"127.0.0.1", false},
		{"127.8.8.8", false},
		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"100.64.0.1", false},
		{"169.254.169.254", false},
		{"192.0.0.8", false},
		{"192.0.2.1", false},
		{"198.18.0.1", false},
		{"224.0.0.1", false},
		{"239.1.1.1", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},
		{"::", false},
		{"::1", false},
		{"::127.0.0.1", false},
		{"::ffff:127.0.0.1", false},
		{"::ffff:169.254.169.254", false},
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"fc00::1", false},
		{"fd00:2::1", false},
		{"fec0::1", false},
		{"ff02::1", false},
		{"64:ff9b::a00:1", false},
		{"2002:7f00:1::", false},
		{"2001:0:1::1", false},
		{"2001:db8::1", false},
	} {
		if err := checkAddr(netip.MustParseAddr(test.addr), allowed); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.addr, err)
		}
	}
}

// site is a server with the cases of the tests below.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	text := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, body)
		})
	}
	text("/plain", "text/plain; charset=utf-8", "grüße\x00\xff")
	text("/latin", "text/plain; charset=ISO-8859-1", "gr\xfc\xdfe")
	text("/json", "application/problem+json", `{"a":1}`)
	text("/html", "text/html", `<html><head><title>T &amp; t</title><style>p{}</style><script>if (a<b) x("</p>")</SCRIPT ></head>
		<body><!-- <p>no --><h1>Big</h1><p>one   <b>two</b>&nbsp;&lt;3</p><ul><li>a<li title="x>y">b</ul> 1 < 2</body></html>`)
	text("/image", "image/png", "png")
	text("/big", "text/plain", strings.Repeat("0123456789", 10_000))
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", http.StatusNotFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/once", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		http.Redirect(w, r, "/asked", http.StatusFound)
	})
	mux.HandleFunc("/asked", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "cookies %d agent %s", len(r.Cookies()), r.UserAgent())
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		zeros := []byte(strings.Repeat("0", 1<<20))
		for range 50 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("x", 600))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestHTTPGetReadsTextAndRefusesPrivateAddresses(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	server := site(t)
	_, call := builtin(t, BuiltinConfig{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, FetchLimit: 5000})
	get := func(url string) Result {
		args, err := json.Marshal(map[string]any{"url": url, "max_bytes": nil})
		if err != nil {
			t.Fatal(err)
		}
		return call("http.get", string(args))
	}
	// One of the loopback addresses is allowed; the others stand for private ones.
	elsewhere := strings.Replace(server.URL, "127.0.0.1", "127.0.0.2", 1)
	for _, test := range []struct {
		url  string
		end  End
		code string
		want string
	}{
		{server.URL + "/plain", EndOK, "", "\n\ngrüße\uFFFD\uFFFD"},
		{server.URL + "/latin", EndOK, "", "\n\ngrüße"},
		{server.URL + "/json", EndOK, "", "\n\n{\"a\":1}"},
		{server.URL + "/html", EndOK, "", "\n\nT & t\n\nBig\n\none two <3\n\na\nb\n1 < 2\n"},
		{server.URL + "/once", EndOK, "", "cookies 0 agent switchboard"},
		{server.URL + "/image", EndError, "not_text", "image/png"},
		{server.URL + "/missing", EndError, "http_status", "not here"},
		{server.URL + "/loop", EndError, "bad_redirect", "5 redirects"},
		{server.URL + "/to?url=ftp://127.0.0.1/", EndError, "bad_redirect", "only http"},
		{server.URL + "/to?url=" + elsewhere + "/plain", EndRefused, "private_address", "127.0.0.2"},
		{server.URL + "/to?url=http://169.254.169.254/latest/meta-data", EndRefused, "private_address", "169.254.169.254"},
		{elsewhere + "/plain", EndRefused, "private_address", "127.0.0.2"},
		{strings.Replace(elsewhere, "127.0.0.2", "[::1]", 1), EndRefused, "private_address", "::1"},
		{strings.Replace(elsewhere, "127.0.0.2", "[::ffff:127.0.0.2]", 1), EndRefused, "private_address", "127.0.0.2"},
		{"http://10.0.0.1/", EndRefused, "private_address", "10.0.0.1"},
		{"file:///etc/passwd", EndRefused, "bad_url", "only http"},
		{"http://", EndRefused, "bad_url", "no host"},
		{"http://a:b@example.org/", EndRefused, "bad_url", "password"},
		{"http://exa mple", EndRefused, "bad_url", "not an address"},
		{"example.org", EndRefused, "bad_url", "only http"},
	} {
		got := get(test.url)
		if got.End != test.end || got.Code != test.code || !strings.Contains(got.Output, test.want) || got.End != EndOK && got.Hint == "" {
			t.Errorf("%s: got %+v", test.url, got)
		}
		if wantTaint := got.End != EndRefused; (got.Taint == taintWeb) != wantTaint && (got.Taint == taintTool) != wantTaint {
			t.Errorf("%s: taint %q", test.url, got.Taint)
		}
	}
	for _, path := range []string{"/big", "/bomb"} {
		got := get(server.URL + path)
		if got.End != EndOK || len(got.Output) > 5300 || !strings.HasSuffix(got.Output, "[truncated: only the first 5000 bytes were fetched]") {
			t.Errorf("%s: %d bytes, %.200s", path, len(got.Output), got.Output)
		}
	}
	if got := call("http.get", fmt.Sprintf(`{"url":%q,"max_bytes":10}`, server.URL+"/big")); !strings.Contains(got.Output, "\n\n0123456789\n[truncated") {
		t.Errorf("max_bytes: %+v", got)
	}
}

func TestHTTPGetStopsWithItsContext(t *testing.T) {
	t.Parallel()
	server := site(t)
	r := registry(t, Builtin(BuiltinConfig{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})...)
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	args := fmt.Sprintf(`{"url":%q,"max_bytes":null}`, server.URL+"/slow")
	if got := r.Run(ctx, "http.get", Call{Args: json.RawMessage(args)}); got.End != EndCancelled {
		t.Errorf("got %+v", got)
	}
}

func FuzzHTMLText(f *testing.F) {
	for _, seed := range []string{"<p>a<b", "<!--", "<script>", "</", "<a title='>'>x", "<!doctype html>x", "< >"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, page string) { _ = htmlText(page) })
}
