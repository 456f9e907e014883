//go:build linux

package web_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
	"switchboard/store/storetest"
)

// The tokens of these tests, each with what it may.
const (
	tokenAda   = "token-of-ada-0123456789abcdef"   // messages and read, for ada
	tokenBob   = "token-of-bob-0123456789abcdef"   // the same for bob
	tokenAny   = "token-of-any-0123456789abcdef"   // the same for everybody of role user
	tokenAdmin = "token-of-admin-0123456789abcdef" // admin and read, for root
	internal   = "internal-0123456789abcdef"
)

// A page is the program with its port open.
type page struct {
	*programtest.Rig
	addr   string
	client *http.Client // nil: over TCP
}

// open starts the program with tokens for ada and bob, who are users, and root, an admin.
func open(t *testing.T, extra string) *page {
	t.Helper()
	p := &page{addr: testkit.FreeAddress(t)}
	token := func(name, value, scopes, people string) string {
		return fmt.Sprintf("[[server.tokens]]\nname = %q\nvalue = %q\nscopes = [%s]\npeople = [%s]\n", name, value, scopes, people)
	}
	p.Rig = programtest.NewRig(t, []string{"root"}, extra+fmt.Sprintf("[server]\nlisten = %q\ninternal_token = %q\n", p.addr, internal)+
		token("ada", tokenAda, `"messages", "read"`, `"ada"`)+token("bob", tokenBob, `"messages", "read"`, `"bob"`)+
		token("any", tokenAny, `"messages", "read"`, "")+token("admin", tokenAdmin, `"admin", "read", "messages"`, `"root"`)+
		"[[people]]\nname = \"ada\"\nidentities = [\"scripted:ada\"]\n[[people]]\nname = \"bob\"\nidentities = [\"scripted:bob\"]\ntools = [\"time\"]\n")
	return p
}

// each has a test done on both databases.
func each(t *testing.T, extra string, test func(*testing.T, *page)) {
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			store := ""
			if database == "postgres" {
				store = fmt.Sprintf("[store]\nurl = %q\n", storetest.MigratedURL(t))
			}
			p := open(t, extra+store)
			p.Ready()
			test(t, p)
		})
	}
}

// An answer of the program.
type answer struct {
	*http.Response
	body string
}

// call makes a call with pairs of headers.
func (p *page) call(method, path, token string, body io.Reader, headers ...string) answer {
	p.T.Helper()
	req, err := http.NewRequestWithContext(p.T.Context(), method, "http://"+p.addr+path, body)
	if err != nil {
		p.T.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := cmp.Or(p.client, http.DefaultClient).Do(req)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	return answer{resp, string(text)}
}

// want fails the test unless the answer has that status; the code is that of an error.
func (a answer) want(t testing.TB, what string, status int, code string) {
	t.Helper()
	var failure struct{ Error struct{ Code string } }
	_ = json.Unmarshal([]byte(a.body), &failure)
	if a.StatusCode != status || failure.Error.Code != code {
		t.Errorf("%s: %s %.400s; want %d %s", what, a.Status, a.body, status, code)
	}
}

// into reads an answer that is JSON.
func into[T any](t testing.TB, a answer) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("%s %.400s: %v", a.Status, a.body, err)
	}
	return value
}

// upload brings a file.
func (p *page) upload(token, name, content string) channels.SessionFile {
	p.T.Helper()
	a := p.call("POST", "/v1/uploads?name="+name, token, strings.NewReader(content))
	a.want(p.T, "upload "+name, http.StatusCreated, "")
	return into[channels.SessionFile](p.T, a)
}

// post writes a message with files.
func (p *page) post(token, session, user, text string, files ...string) answer {
	p.T.Helper()
	body, err := json.Marshal(map[string]any{"session": session, "user": user, "content": text, "attachments": files, "metadata": map[string]any{"ref": 7}})
	if err != nil {
		p.T.Fatal(err)
	}
	return p.call("POST", "/v1/messages", token, bytes.NewReader(body))
}

// messages are those of a session.
func (p *page) messages(token, session string) (list []channels.SessionMessage) {
	p.T.Helper()
	a := p.call("GET", "/v1/sessions/"+session+"/events?after=0&until=1000000", token, nil)
	err := channels.ReadEvents(strings.NewReader(a.body), func(e channels.SessionEvent) bool {
		if e.Message != nil {
			list = append(list, *e.Message)
		}
		return true
	})
	if err != nil {
		p.T.Fatalf("%s: %v", a.body, err)
	}
	return list
}

// said waits for what the bot says.
func (p *page) said(token, session, text string) channels.SessionMessage {
	p.T.Helper()
	var found channels.SessionMessage
	defer func() {
		if found.ID == 0 {
			p.T.Logf("%s has %+v", session, p.messages(token, session))
		}
	}()
	p.Await("the bot says "+text, 20*time.Second, func() bool {
		for _, m := range p.messages(token, session) {
			if m.Direction == "out" && strings.Contains(m.Text, text) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func TestUploadIsReadByTheModelAndByWhoMayRead(t *testing.T) {
	t.Parallel()
	each(t, "", func(t *testing.T, p *page) {
		file := p.upload(tokenAda, "list.txt", "milk and bread\n")
		if file.Type != "text/plain" || file.Name != "list.txt" || file.Size != 15 || file.State != "clean" {
			t.Fatalf("%+v", file)
		}
		path := fmt.Sprintf("/v1/attachments/%d", file.ID)
		p.call("GET", path, tokenBob, nil).want(t, "another's upload", http.StatusNotFound, "not_found")
		p.post(tokenBob, "s0", "bob", "read it", fmt.Sprint(file.ID)).want(t, "attaching another's upload", http.StatusNotFound, "not_found")
		p.post(tokenAda, "s1", "ada", "read it", "99999").want(t, "no such upload", http.StatusNotFound, "not_found")
		p.post(tokenAda, "s1", "ada", "read it", "odd").want(t, "no number", http.StatusNotFound, "not_found")
		p.post(tokenAda, "s1", "ada", "read it", fmt.Sprint(file.ID)).want(t, "attaching", http.StatusAccepted, "")
		p.said(tokenAda, "s1", "milk and bread")
		in := p.messages(tokenAda, "s1")[0]
		if len(in.Attachments) != 1 || in.Attachments[0] != file || string(in.Metadata) != `{"ref":7}` {
			t.Errorf("the message is %+v with %s", in, in.Metadata)
		}
		// The same file with another message is a file of its own.
		p.post(tokenAda, "s2", "ada", "read it", fmt.Sprint(file.ID)).want(t, "attaching again", http.StatusAccepted, "")
		p.said(tokenAda, "s2", "milk and bread")

		a := p.call("GET", path, tokenAda, nil)
		if a.want(t, "reading it", http.StatusOK, ""); a.body != "milk and bread\n" || a.Header.Get("X-Content-Type-Options") != "nosniff" ||
			a.Header.Get("Content-Security-Policy") != "sandbox" || a.Header.Get("Content-Disposition") != "attachment; filename=list.txt" {
			t.Errorf("%q, %v", a.body, a.Header)
		}
		if a := p.call("GET", path, tokenAda, nil, "Range", "bytes=5-7"); a.StatusCode != http.StatusPartialContent || a.body != "and" {
			t.Errorf("a range: %s %q", a.Status, a.body)
		}
		p.call("GET", path, tokenAda, nil, "Range", "bytes=50-70").want(t, "a range behind the end", http.StatusRequestedRangeNotSatisfiable, "bad_request")
		if a := p.call("HEAD", path, tokenAda, nil); a.StatusCode != http.StatusOK || a.body != "" || a.ContentLength != 15 {
			t.Errorf("HEAD: %s %q", a.Status, a.body)
		}
		p.call("GET", path, tokenAny, nil).want(t, "who may speak for ada", http.StatusOK, "")
		p.call("GET", path, tokenAdmin, nil).want(t, "an admin", http.StatusOK, "")
		p.call("GET", path, tokenBob, nil).want(t, "another person's session", http.StatusNotFound, "not_found")
		p.call("GET", "/v1/attachments/x", tokenAda, nil).want(t, "no number", http.StatusNotFound, "not_found")
		for name, content := range map[string]string{"a.html": "<!DOCTYPE html><script>alert(1)</script>", "a.svg": `<svg xmlns="http://www.w3.org/2000/svg"/>`} {
			file := p.upload(tokenAda, name, content)
			a := p.call("GET", fmt.Sprintf("/v1/attachments/%d", file.ID), tokenAda, nil)
			if !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") || a.Header.Get("Content-Security-Policy") != "sandbox" {
				t.Errorf("%s, %s: %v", name, file.Type, a.Header)
			}
		}
		picture := p.upload(tokenAda, "a.html", "\x89PNG\r\n\x1a\n0000")
		if a := p.call("GET", fmt.Sprintf("/v1/attachments/%d", picture.ID), tokenAda, nil); picture.Type != "image/png" || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "inline") {
			t.Errorf("%+v: %v", picture, a.Header)
		}
	})
}

// What the bot sends along is had like what came, until the session is deleted.
func TestFilesThatTheBotSendsAreRead(t *testing.T) {
	t.Parallel()
	each(t, "", func(t *testing.T, p *page) {
		p.post(tokenAda, "s1", "ada", "send me a file called milk.txt with two liters").want(t, "asking", http.StatusAccepted, "")
		out := p.said(tokenAda, "s1", "(attachment:")
		if len(out.Attachments) != 1 || out.Attachments[0].Name != "milk.txt" || out.Attachments[0].State != "clean" {
			t.Fatalf("%+v", out)
		}
		path := fmt.Sprintf("/v1/attachments/%d", out.Attachments[0].ID)
		if a := p.call("GET", path, tokenAda, nil); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "two liters") {
			t.Errorf("%s %q", a.Status, a.body)
		}
		p.call("GET", path, tokenBob, nil).want(t, "another person", http.StatusNotFound, "not_found")
		p.Await("its turn has ended", 20*time.Second, func() bool {
			return p.call("DELETE", "/v1/sessions/s1", tokenAda, nil).StatusCode == http.StatusOK
		})
		p.call("GET", path, tokenAdmin, nil).want(t, "after the session was deleted", http.StatusNotFound, "not_found")
	})
}

// Whoever runs the program has no token, and may name any upload.
func TestWhoeverRunsTheProgramMayNameAnyUpload(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	p.Ready()
	theirs := p.upload(tokenAda, "list.txt", "milk and bread\n")
	sockets, _ := filepath.Glob(filepath.Join(p.Dir, "data", "run", "*.sock"))
	if len(sockets) != 1 {
		t.Fatalf("%d sockets", len(sockets))
	}
	local := *p
	local.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", sockets[0])
	}}}
	ours := local.upload("", "ours.txt", "cheese\n")
	p.post(tokenAda, "s1", "ada", "read it", fmt.Sprint(ours.ID)).want(t, "a token", http.StatusNotFound, "not_found")
	local.post("", "s1", "root", "read it", fmt.Sprint(theirs.ID)).want(t, "whoever runs it", http.StatusAccepted, "")
	p.Await("it is read", 20*time.Second, func() bool {
		return strings.Contains(local.call("GET", "/v1/sessions/s1?user=root", "", nil).body, "milk and bread")
	})
	a := local.execute("", "time", "root", map[string]any{})
	a.want(t, "a tool", http.StatusOK, "")
	local.call("GET", fmt.Sprintf("/internal/attachments/%d/binary", ours.ID), "", nil).want(t, "without the internal token", http.StatusOK, "")
}

func TestHeldBackFilesGoToProgramsBesideAlone(t *testing.T) {
	t.Parallel()
	each(t, "", func(t *testing.T, p *page) {
		file := p.upload(tokenAda, "a.txt", "#!/bin/sh\n")
		if file.State != "quarantined" {
			t.Fatalf("%+v", file)
		}
		p.call("GET", fmt.Sprintf("/v1/attachments/%d", file.ID), tokenAda, nil).want(t, "its uploader", http.StatusForbidden, "forbidden")
		p.call("GET", fmt.Sprintf("/v1/attachments/%d", file.ID), tokenAdmin, nil).want(t, "an admin", http.StatusForbidden, "forbidden")
		path := fmt.Sprintf("/internal/attachments/%d/binary", file.ID)
		for _, method := range []string{"GET", "HEAD"} {
			a := p.call(method, path, "", nil, "X-Internal-Token", internal, "X-Tenant-Id", "t1")
			if a.StatusCode != http.StatusOK || a.Header.Get("X-Attachment-Status") != "quarantined" || a.Header.Get("X-Attachment-Size") != "10" ||
				a.Header.Get("Content-Type") != "text/plain" || (a.body != "") != (method == "GET") {
				t.Errorf("%s: %s %q %v", method, a.Status, a.body, a.Header)
			}
		}
		p.call("GET", path, "", nil).want(t, "no token", http.StatusUnauthorized, "unauthorized")
		p.call("GET", path, tokenAdmin, nil).want(t, "a token of another kind", http.StatusUnauthorized, "unauthorized")
		p.call("GET", "/internal/attachments/99999/binary", "", nil, "X-Internal-Token", internal).want(t, "no such file", http.StatusNotFound, "not_found")
		for range 10 {
			p.call("GET", path, "", nil, "X-Internal-Token", "wrong").want(t, "a wrong token", http.StatusUnauthorized, "unauthorized")
		}
		p.call("GET", path, "", nil, "X-Internal-Token", "wrong").want(t, "too many", http.StatusTooManyRequests, "rate_limited")
		p.call("GET", path, "", nil, "X-Internal-Token", internal).want(t, "the right one", http.StatusOK, "")

		// A file at its platform is brought here for whoever reads it.
		sent := p.Platform.Upload(channels.Attachment{Kind: channels.Document, Name: "b.txt", Type: "text/html"}, []byte("hello"))
		p.Platform.Write(scripted.Message{Conversation: "cada", User: "ada", Text: "hello", Attachments: []channels.Attachment{sent}})
		p.Await("it is answered", 20*time.Second, func() bool { return len(p.Platform.SentIn("cada")) > 0 })
		path = fmt.Sprintf("/v1/attachments/%d", file.ID+1)
		if a := p.call("GET", path, tokenAda, nil); a.body != "hello" || a.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s %q %v", a.Status, a.body, a.Header)
		}
		p.call("GET", path, tokenBob, nil).want(t, "another person", http.StatusNotFound, "not_found")
	})
}

func TestUploadsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	p := open(t, "[files]\nmax_size = \"64KB\"\n")
	p.Ready()
	large := strings.Repeat("x", 64<<10+1)
	p.call("POST", "/v1/uploads", "", strings.NewReader("x")).want(t, "no token", http.StatusUnauthorized, "unauthorized")
	p.call("POST", "/v1/uploads", tokenAda, strings.NewReader(large)).want(t, "too large", http.StatusRequestEntityTooLarge, "too_large")
	p.call("POST", "/v1/uploads", tokenAda, io.MultiReader(strings.NewReader(large))).want(t, "too large, by itself", http.StatusRequestEntityTooLarge, "too_large")
	p.call("POST", "/v1/uploads", tokenAda, io.MultiReader(strings.NewReader(large[1:]))).want(t, "as large as it may be", http.StatusCreated, "")

	form := func(field, content string) answer {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile(field, "C:\\dir\\ü.txt")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(part, content)
		w.WriteField("more", "of it")
		w.Close()
		return p.call("POST", "/v1/uploads", tokenAda, &b, "Content-Type", w.FormDataContentType())
	}
	a := form("file", "hello")
	if a.want(t, "a form", http.StatusCreated, ""); into[channels.SessionFile](t, a).Name != "ü.txt" {
		t.Error(a.body)
	}
	form("other", "hello").want(t, "a form without a file", http.StatusBadRequest, "bad_request")
	form("file", large).want(t, "a form with too large a file", http.StatusRequestEntityTooLarge, "too_large")
	p.call("POST", "/v1/uploads", tokenAda, strings.NewReader("x"), "Content-Type", "multipart/form-data").want(t, "no form", http.StatusBadRequest, "bad_request")

	// What says that it is too large is refused before it is sent, and one that does not come whole is not kept.
	raw := func(length int, begin string) (*http.Response, time.Duration) {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		fmt.Fprintf(conn, "POST /v1/uploads HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", tokenAda, length, begin)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp, time.Since(began)
	}
	if resp, took := raw(1<<30, ""); resp.StatusCode != http.StatusRequestEntityTooLarge || took > 14*time.Second { // it would wait 15 s for the body
		t.Errorf("announced as too large: %s after %s", resp.Status, took)
	}
	if resp, took := raw(10, "slow"); resp.StatusCode != http.StatusBadRequest || took < 10*time.Second || took > 40*time.Second {
		t.Errorf("half of it: %s after %s", resp.Status, took)
	}
}
