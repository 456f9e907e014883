package main_test

import (
	"net/http"
	"net/url"

	"switchboard/channels/platformtest"
)

// presses a button of a message.
func (p *page) presses(m platformtest.Message, label string) {
	p.t.Helper()
	if status := p.pressed(m, label); status != http.StatusOK {
		p.t.Fatalf("press %q: %d", label, status)
	}
}

// pressed presses a button, which may be gone by now, and says how the page takes it.
func (p *page) pressed(m platformtest.Message, label string) int {
	p.t.Helper()
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Label != label {
				continue
			}
			resp, err := posted(p.at+"/page/press", url.Values{"user": {p.user}, "chat": {p.chat}, "message": {m.ID}, "text": {b.Code}})
			if err != nil || resp.Body.Close() != nil {
				p.t.Fatalf("press %q: %v, %v", label, resp, err)
			}
			return resp.StatusCode
		}
	}
	p.t.Fatalf("no button %q", label)
	return 0
}
