//go:build linux

package programtest

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"switchboard/channels/platformtest"
	"switchboard/internal/testkit"
)

// A Page is a fake platform's, in the direct chat of its first person.
type Page struct {
	T              *testing.T
	At, User, Chat string
}

// Found waits for a message of the bot with all these texts, and returns the newest.
func (p *Page) Found(texts ...string) (found platformtest.Message) {
	p.T.Helper()
	testkit.Await(p.T, fmt.Sprintf("%q is read at %s", texts, p.At), time.Minute, func() bool {
		for _, m := range slices.Backward(DevView(p.T, p.At, p.User, p.Chat).Messages) {
			lacks := func(text string) bool { return !strings.Contains(m.Text, text) }
			if m.Bot && !slices.ContainsFunc(texts, lacks) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// Asked waits for the question about a command, which is shown as code, with its buttons.
func (p *Page) Asked(command string) platformtest.Message {
	p.T.Helper()
	m := p.Found("May I", command)
	if got, want := Labels(m), []string{"Allow once", "Allow in this session", "Always allow", "Deny"}; !slices.Equal(got, want) {
		p.T.Errorf("the buttons at %s are %q:\n%s", p.At, got, m.Text)
	}
	units := utf16.Encode([]rune(m.Text))
	for _, mark := range m.Marks {
		if mark.Type == "pre" && strings.TrimSpace(string(utf16.Decode(units[mark.From:mark.From+mark.Length]))) == command {
			return m
		}
	}
	p.T.Errorf("the command is no code at %s: %q, %+v", p.At, m.Text, m.Marks)
	return m
}

// Typed is what a question says to type, approve or deny, with the code.
func (p *Page) Typed(m platformtest.Message, name string) string {
	p.T.Helper()
	line := regexp.MustCompile("/(?:switchboard )?" + name + " [A-Z2-7]{4}-[A-Z2-7]{4}").FindString(m.Text)
	if line == "" {
		p.T.Fatalf("it does not say how to %s:\n%s", name, m.Text)
	}
	return line
}

// File waits for the bot's file at or after a message, and reads it.
func (p *Page) File(m platformtest.Message) string {
	p.T.Helper()
	var id string
	testkit.Await(p.T, "a file is at "+p.At, time.Minute, func() bool {
		list := DevView(p.T, p.At, p.User, p.Chat).Messages
		for _, m := range list[slices.IndexFunc(list, func(l platformtest.Message) bool { return l.ID == m.ID }):] {
			for _, f := range m.Files {
				id = f.ID
			}
		}
		return id != ""
	})
	resp, err := http.Get(p.At + "/page/file?id=" + url.QueryEscape(id))
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	return string(data)
}

// Labels are those of a message's buttons.
func Labels(m platformtest.Message) (list []string) {
	for _, row := range m.Buttons {
		for _, b := range row {
			list = append(list, b.Label)
		}
	}
	return list
}

var decidedText = regexp.MustCompile(`(Allowed once|Allowed in this session|Always allowed|Allowed|Denied) by \w+|Nobody decided in time`)

// Closed waits until a question has no buttons any more, and says what was decided.
func (p *Page) Closed(id string) {
	p.T.Helper()
	testkit.Await(p.T, "the buttons are gone at "+p.At, time.Minute, func() bool {
		for _, m := range DevView(p.T, p.At, p.User, p.Chat).Messages {
			if m.ID == id {
				return len(m.Buttons) == 0 && decidedText.MatchString(m.Text) && !strings.Contains(m.Text, "I wait ")
			}
		}
		return false
	})
}

// Bots counts what the bot says at a page that has a text.
func (p *Page) Bots(text string) (n int) {
	for _, m := range DevView(p.T, p.At, p.User, p.Chat).Messages {
		if m.Bot && strings.Contains(m.Text, text) {
			n++
		}
	}
	return n
}

// Posted posts a form on a connection of its own: one that was idle may be closed as it is written to, and
// nobody makes such a post again.
func Posted(at string, form url.Values) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Close = true
	return http.DefaultClient.Do(req)
}

// Writes sends a text as the person.
func (p *Page) Writes(text string) {
	p.T.Helper()
	resp, err := Posted(p.At+"/page/send", url.Values{"user": {p.User}, "chat": {p.Chat}, "text": {text}})
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		p.T.Fatalf("send %q: %v, %v", text, resp, err)
	}
}

// Reads waits until the bot says a text.
func (p *Page) Reads(text string) {
	p.T.Helper()
	testkit.Await(p.T, fmt.Sprintf("%q is read at %s", text, p.At), time.Minute, func() bool {
		for _, m := range DevView(p.T, p.At, p.User, p.Chat).Messages {
			if m.Bot && strings.Contains(m.Text, text) {
				return true
			}
		}
		return false
	})
}

// Presses a button of a message.
func (p *Page) Presses(m platformtest.Message, label string) {
	p.T.Helper()
	if status := p.Pressed(m, label); status != http.StatusOK {
		p.T.Fatalf("press %q: %d", label, status)
	}
}

// Pressed presses a button, which may be gone by now, and says how the page takes it.
func (p *Page) Pressed(m platformtest.Message, label string) int {
	p.T.Helper()
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Label != label {
				continue
			}
			resp, err := Posted(p.At+"/page/press", url.Values{"user": {p.User}, "chat": {p.Chat}, "message": {m.ID}, "text": {b.Code}})
			if err != nil || resp.Body.Close() != nil {
				p.T.Fatalf("press %q: %v, %v", label, resp, err)
			}
			return resp.StatusCode
		}
	}
	p.T.Fatalf("no button %q", label)
	return 0
}
