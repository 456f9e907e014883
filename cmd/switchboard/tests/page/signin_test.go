package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/cmd/switchboard/programtest"
)

// A visit is a browser without a screen: it keeps no cookies by itself.
type visit struct {
	*site
	t      testing.TB
	cookie string
}

// asks makes a call as browsers do, from a page of ours unless headers say otherwise.
func (v *visit) asks(method, path string, form url.Values, headers ...string) (*http.Response, string) {
	v.t.Helper()
	r, err := http.NewRequest(method, "http://"+v.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", "http://"+v.address)
	}
	if v.cookie != "" {
		r.Header.Set("Cookie", "switchboard="+v.cookie)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range resp.Cookies() {
		if c.Name == "switchboard" {
			v.cookie = c.Value
		}
	}
	return resp, string(body)
}

// is fails unless a call is answered with a status, and says so in words.
func (v *visit) is(status int, says, method, path string, form url.Values, headers ...string) *http.Response {
	v.t.Helper()
	resp, body := v.asks(method, path, form, headers...)
	if resp.StatusCode != status || !strings.Contains(body, says) {
		v.t.Errorf("%s %s is answered %s, want %d with %q:\n%.1500s", method, path, resp.Status, status, says, body)
	}
	return resp
}

// secretOf is what stands behind the # of a link.
func secretOf(link string) url.Values {
	_, secret, _ := strings.Cut(link, "#")
	return url.Values{"secret": {secret}}
}

// Links and codes are good once, cookies are nobody's but the browser's, and nobody gives one to another.
func TestSigningIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *site) {
		v := &visit{site: s, t: t}
		v.is(http.StatusSeeOther, "", "GET", "/", nil)
		v.is(http.StatusOK, "prints a link", "GET", "/signin", nil)
		link := s.link("ada")
		// What looks at an address before a person does uses nothing up.
		v.is(http.StatusOK, "", "GET", "/signin", nil)
		v.is(http.StatusOK, "in as <strong>ada</strong>", "POST", "/signin/whose", secretOf(link))
		if v.cookie != "" {
			t.Error("to ask whose a link is signs in")
		}
		resp := v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(link))
		got := resp.Header.Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Lax", "Max-Age=2592000", "Path=/"} {
			if !strings.Contains(got, want) {
				t.Errorf("the cookie %q has no %s", got, want)
			}
		}
		first := v.cookie
		resp = v.is(http.StatusOK, "New chat", "GET", "/", nil)
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if resp.Header.Get(name) != want {
				t.Errorf("%s is %q", name, resp.Header.Get(name))
			}
		}
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("the policy is %q", policy)
		}
		for _, path := range []string{"/signin/link", "/signin/whose"} {
			(&visit{site: s, t: t}).is(http.StatusUnauthorized, "not good any more", "POST", path, secretOf(link))
			(&visit{site: s, t: t}).is(http.StatusUnauthorized, "not good any more", "POST", path, url.Values{"secret": {"made up"}})
		}

		// Who signs in again has another secret, and the former opens nothing: nobody plants one.
		v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("bob")))
		if v.cookie == first {
			t.Error("the secret is the same as before")
		}
		(&visit{s, t, first}).is(http.StatusSeeOther, "", "GET", "/", nil)
		planted := &visit{s, t, "planted"}
		planted.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("ada")))
		if planted.cookie == "planted" {
			t.Error("a secret that was planted is taken")
		}

		// Other pages and names.
		for _, from := range [][]string{
			{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, {"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, {"Host", "evil.example"},
		} {
			v.is(http.StatusForbidden, "", "POST", "/chat", url.Values{"text": {"forged"}}, from...)
		}
		v.is(http.StatusForbidden, "", "GET", "/", nil, "Host", "evil.example:80")
		v.is(http.StatusNotFound, "", "GET", "/signout", nil)

		// Files that signing in needs, and nothing else, are there for everybody.
		for _, path := range []string{"/assets/page.css", "/assets/page.js", "/assets/htmx.min.js", "/manifest.webmanifest"} {
			(&visit{site: s, t: t}).is(http.StatusOK, "", "GET", path, nil)
		}
		for _, path := range []string{"/sessions", "/c/web:ada%2Fx", "/c/web:ada%2Fx/live", "/files/1", "/turns/1"} {
			if resp, body := (&visit{site: s, t: t}).asks("GET", path, nil); resp.StatusCode != http.StatusSeeOther && resp.StatusCode != http.StatusUnauthorized || strings.Contains(body, "ada") {
				t.Errorf("%s is answered %s to nobody", path, resp.Status)
			}
		}

		v.is(http.StatusSeeOther, "", "POST", "/signout", nil)
		v.is(http.StatusSeeOther, "", "GET", "/", nil)
	})
}

var codeShape = regexp.MustCompile(`[A-Z2-7]{4}-[A-Z2-7]{4}`)

// A code comes in the chat of a platform of whoever has one, also if they wrote on the page since; nobody learns who has.
func TestSigningInByACode(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		s.Platform.Say("a1", "ada", "hello")
		s.Await("an answer", programtest.Patience, func() bool { return len(s.Platform.SentIn("a1")) == 1 })
		there := &visit{site: s, t: t}
		there.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("ada")))
		there.is(http.StatusSeeOther, "", "POST", "/chat", url.Values{"text": {"hello"}})
		v := &visit{site: s, t: t}
		_, known := v.asks("POST", "/signin/ask", url.Values{"name": {"ada"}})
		_, unknown := v.asks("POST", "/signin/ask", url.Values{"name": {"eve"}})
		if strings.ReplaceAll(known, "ada", "eve") != unknown {
			t.Errorf("somebody who is not there is told\n%s\nothers\n%s", unknown, known)
		}
		code := ""
		s.Await("the code comes", programtest.Patience, func() bool {
			for _, m := range s.Platform.SentIn("a1") {
				code = codeShape.FindString(m.Text)
			}
			return code != ""
		})
		s.Platform.Say("a1", "ada", "what did you say?")
		s.Await("an answer", programtest.Patience, func() bool { return len(s.Platform.SentIn("a1")) == 3 })
		for _, req := range s.Model.Requests() {
			if strings.Contains(req.System+req.User, code) {
				t.Errorf("a prompt has the code: %s", req.User)
			}
		}
		v.is(http.StatusUnauthorized, "not good any more", "POST", "/signin/code", url.Values{"name": {"bob"}, "code": {code}})
		v.is(http.StatusUnauthorized, "not good any more", "POST", "/signin/link", url.Values{"secret": {"code\x00ada\x00" + strings.ReplaceAll(code, "-", "")}})
		v.is(http.StatusSeeOther, "", "POST", "/signin/code", url.Values{"name": {"ada"}, "code": {strings.ToLower(code)}})
		v.is(http.StatusOK, ">ada<", "GET", "/", nil)
		again := &visit{site: s, t: t}
		again.is(http.StatusUnauthorized, "not good any more", "POST", "/signin/code", url.Values{"name": {"ada"}, "code": {code}})
		for i := range 12 {
			again.asks("POST", "/signin/code", url.Values{"name": {"ada"}, "code": {fmt.Sprint(i)}})
		}
		again.is(http.StatusTooManyRequests, "That was too often", "POST", "/signin/code", url.Values{"name": {"ada"}, "code": {"ABCD-EFGH"}})
		v.is(http.StatusOK, ">ada<", "GET", "/", nil)
	})
}

// A browser is signed out with the token that signed it in.
func TestBrowserEndsWithItsToken(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		sign := func(name string, more ...string) *visit {
			made, errs, code := s.Command(append([]string{"token", "create", name, "--person", "ada", "--scope", "messages", "--scope", "read"}, more...)...)
			if code != 0 {
				t.Fatal(errs)
			}
			v := &visit{site: s, t: t}
			v.is(http.StatusSeeOther, "", "POST", "/signin/token", url.Values{"token": {strings.TrimSpace(made)}})
			return v
		}
		stays, revoked, expired := sign("stays"), sign("revoked"), sign("expired", "--expires", "1h")
		if _, errs, code := s.Command("token", "revoke", "revoked"); code != 0 {
			t.Fatal(errs)
		}
		s.rows("UPDATE tokens SET expires_at = 1 WHERE name = 'expired' RETURNING name")
		for _, v := range []*visit{revoked, expired} {
			if resp := v.is(http.StatusSeeOther, "", "GET", "/me", nil); resp.Header.Get("Location") != "/signin" {
				t.Error(resp.Header)
			}
		}
		if _, page := stays.asks("GET", "/me", nil); strings.Count(page, "A browser")+strings.Count(page, "Go-http-client") != 1 {
			t.Errorf("browsers that are signed out are listed, or one that is not is missing:\n%s", page)
		}
	})
}

// A token of one person signs that person in.
func TestSigningInByAToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite", programtest.Token("mine", []string{"messages", "read"}, "ada")+programtest.Token("both", []string{"messages", "read"}, "ada", "bob")+programtest.Token("less", []string{"messages"}, "ada")+
		programtest.Token("below", []string{"messages", "read"}, "root")+programtest.Token("all", []string{"messages", "read", "admin"}, "root"))
	for token, says := range map[string]string{"both": "not of one person", "less": "needs the scopes", "below": "needs the scope admin", "other": "not valid"} {
		(&visit{site: s, t: t}).is(http.StatusUnauthorized, says, "POST", "/signin/token", url.Values{"token": {token}})
	}
	v := &visit{site: s, t: t}
	v.is(http.StatusSeeOther, "", "POST", "/signin/token", url.Values{"token": {"mine"}})
	v.is(http.StatusOK, ">ada<", "GET", "/", nil)
	(&visit{site: s, t: t}).is(http.StatusSeeOther, "", "POST", "/signin/token", url.Values{"token": {"all"}})
}

// A link says whom it signs in before it is pressed, and that it is used up as soon as it is opened.
func TestLinkSaysWhomItSignsIn(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		b := &browser{Page: pagetest.Start(t), site: s, t: t}
		link := s.link("bob")
		b.Run(chromedp.Navigate(link))
		b.shows("This link signs this browser in as bob.")
		b.Shoot("link")
		b.clicks("#link button")
		b.Await("the page", `document.querySelector("#composer")`)
		b.Run(chromedp.Navigate(link))
		b.shows("not good any more")
		b.Await("nothing to press", `!document.querySelector("#link")`)
		b.Run(chromedp.Navigate("http://" + s.address + "/signin"))
		b.Do(fmt.Sprintf(`location.href = %q`, s.link("ada")))
		b.shows("This link signs this browser in as ada.")
	})
}

// A link code that the page shows stands in no prompt after it.
func TestNoPromptHasALinkCode(t *testing.T) {
	t.Parallel()
	either(t, func(t *testing.T, s *site) {
		v := &visit{site: s, t: t}
		v.is(http.StatusSeeOther, "", "POST", "/signin/link", secretOf(s.link("ada")))
		chat, code := v.is(http.StatusSeeOther, "", "POST", "/chat", url.Values{"text": {"/link"}}).Header.Get("Location"), ""
		s.Await("the code", programtest.Patience, func() bool {
			_, page := v.asks("GET", chat, nil)
			code = regexp.MustCompile(`link ([A-Z2-7-]{14})`).FindString(page)
			return code != ""
		})
		v.is(http.StatusSeeOther, "", "POST", chat+"/messages", url.Values{"text": {"what did you say?"}})
		s.Await("an answer", programtest.Patience, func() bool { return s.Model.Count() > 0 })
		if req := s.Model.Requests()[0]; strings.Contains(req.System+req.User, strings.TrimPrefix(code, "link ")) {
			t.Errorf("the prompt has the code: %s", req.User)
		}
	})
}
