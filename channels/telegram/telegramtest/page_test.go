package telegramtest_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"switchboard/channels/telegram/telegramtest"
)

// ask requests something of the page, with headers as name, value, …
func ask(t *testing.T, s *telegramtest.Server, method, path, form string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(soon(t), method, s.URL()+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestPageIsForThisMachineOnly(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.Furnish()
	send := "user=" + itoa(ada.ID) + "&chat=" + itoa(ada.ID) + "&text=hi"
	resp, _ := ask(t, s, http.MethodGet, "/", "")
	if csp := resp.Header.Get("Content-Security-Policy"); resp.StatusCode != 200 || !strings.HasPrefix(csp, "default-src 'self'") {
		t.Errorf("the page: %d, %q", resp.StatusCode, csp)
	}
	for _, headers := range [][]string{
		{"Host", "evil.example:80"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Origin", "https://evil.example"},
	} {
		if resp, _ := ask(t, s, http.MethodPost, "/page/send", send, headers...); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%v: %d", headers, resp.StatusCode)
		}
	}
	if len(s.Messages(ada.ID)) != 0 {
		t.Error("a foreign page wrote")
	}
	if resp, body := ask(t, s, http.MethodPost, "/page/send", send); resp.StatusCode != 200 || len(s.Messages(ada.ID)) != 1 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestPageRefusesWhatPeopleCannotDo(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada, eve := s.Furnish(), s.AddUser("Eve")
	secret := s.AddGroup("Secret", ada)
	said := s.SayIn(secret.ID, ada.ID, "mine")
	for path, form := range map[string]url.Values{
		"/page/send":   {"user": {itoa(eve.ID)}, "chat": {itoa(secret.ID)}, "text": {"let me in"}},
		"/page/edit":   {"user": {itoa(ada.ID)}, "chat": {itoa(secret.ID)}, "message": {itoa(said.ID + 1)}, "text": {"x"}},
		"/page/delete": {"user": {itoa(s.Bot().User.ID)}, "chat": {itoa(secret.ID)}, "message": {itoa(said.ID)}},
		"/page/send?2": {"user": {itoa(ada.ID)}, "chat": {itoa(secret.ID)}, "text": {" \r\n "}},
		"/page/edit?2": {"user": {itoa(ada.ID)}, "chat": {itoa(secret.ID)}, "message": {itoa(said.ID)}, "text": {strings.Repeat("x", 4097)}},
		"/page/person": {"user": {itoa(ada.ID)}, "text": {" "}},
		"/page/press":  {"user": {"12"}, "text": {"x"}},
	} {
		if resp, body := ask(t, s, http.MethodPost, path, form.Encode()); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if got := s.Messages(secret.ID); len(got) != 1 || got[0].Text != "mine" {
		t.Errorf("the group shows %+v", got)
	}
}

// As in the platform's apps, a text of any length can be sent.
func TestPageSendsLongTextsInSeveral(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"fits":     {strings.Repeat("x", 4096), []string{strings.Repeat("x", 4096)}},
		"lines":    {"a b\n" + strings.Repeat("x", 4090) + "\r\n\r\nlast one", []string{"a b\n" + strings.Repeat("x", 4090), "last one"}},
		"words":    {"a " + strings.Repeat("x", 4096), []string{"a", strings.Repeat("x", 4096)}},
		"one word": {strings.Repeat("😀", 4097), []string{strings.Repeat("😀", 2048), strings.Repeat("😀", 2048), "😀"}},
		"blank":    {"a\n" + strings.Repeat(" ", 9000) + "b", []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := telegramtest.New(t)
			ada := s.AddUser("Ada")
			first := s.Say(ada.ID, "first")
			form := url.Values{"user": {itoa(ada.ID)}, "chat": {itoa(ada.ID)}, "message": {itoa(first.ID)}, "text": {tt.text}}
			if resp, body := ask(t, s, http.MethodPost, "/page/send", form.Encode()); resp.StatusCode != http.StatusOK {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			var got []string
			for i, m := range s.Messages(ada.ID)[1:] {
				got = append(got, m.Text)
				if (m.ReplyTo != nil) != (i == 0) {
					t.Errorf("message %d answers to %v", i, m.ReplyTo)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%d messages: %.50q, want %d", len(got), got, len(tt.want))
			}
		})
	}
}

func TestPageHandsOutFilesAsDownloads(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.AddUser("Ada")
	page := s.Post(telegramtest.Post{Chat: ada.ID, Files: []telegramtest.File{{Name: "a ü.html", Type: "text/html", Data: []byte("<script>alert(1)</script>")}}})[0]
	picture := s.Post(telegramtest.Post{Chat: ada.ID, Files: []telegramtest.File{{Kind: "photo", Name: "p.png", Data: picture(t)}}})[0]
	resp, _ := ask(t, s, http.MethodGet, "/page/file?show=1&id="+page.FileID(), "")
	if resp.Header.Get("Content-Type") != "application/octet-stream" || resp.Header.Get("Content-Disposition") != "attachment; filename*=UTF-8''a%20%C3%BC.html" {
		t.Errorf("a page: %v", resp.Header)
	}
	if resp, _ = ask(t, s, http.MethodGet, "/page/file?show=1&id="+picture.FileID(), ""); resp.Header.Get("Content-Type") != "image/png" {
		t.Errorf("a picture: %v", resp.Header)
	}
	if resp, _ = ask(t, s, http.MethodGet, "/page/file?id=none", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("nothing: %d", resp.StatusCode)
	}
}

// A page in a browser drives no bot, though it knows the token.
func TestTheAPIIsForProgramsOnly(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	for _, path := range []string{"/bot" + s.Token() + "/getMe", "/file/bot" + s.Token() + "/x"} {
		for _, headers := range [][]string{
			{"Host", "evil.example:80"},
			{"Host", "127.0.0.1.evil.example"},
			{"Origin", "https://evil.example"},
			{"Origin", "null"},
			{"Origin", s.URL()},
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
		} {
			if resp, _ := ask(t, s, http.MethodGet, path, "", headers...); resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %v: %d", path, headers, resp.StatusCode)
			}
		}
	}
	if len(s.Calls()) != 0 {
		t.Errorf("calls came through: %+v", s.Calls())
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "none"}, {"Host", "localhost"}, {"Host", "[::1]:1"}} {
		if resp, body := ask(t, s, http.MethodGet, "/bot"+s.Token()+"/getMe", "", headers...); resp.StatusCode != http.StatusOK {
			t.Errorf("with %v: %d %s", headers, resp.StatusCode, body)
		}
	}
}

func TestFormerTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	former := s.Token()
	s.Login(nil)
	if resp, _ := ask(t, s, http.MethodGet, "/bot"+former+"/getMe", ""); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the former one: %d", resp.StatusCode)
	}
	first := s.Token()
	if resp, _ := ask(t, s, http.MethodGet, "/bot"+first+"/getMe", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("the new one: %d", resp.StatusCode)
	}
	if s.Login(nil); s.Token() == first || !strings.HasPrefix(first, itoa(s.Bot().User.ID)+":") {
		t.Errorf("%q, then %q", first, s.Token())
	}
}
