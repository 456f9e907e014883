package slacktest

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// params are what a call was given, as a form or as JSON.
//
// Source: https://docs.slack.dev/apis/web-api/.
type params struct {
	method string
	token  string
	values map[string]string
	host   string // as the caller named the platform
}

const maxBody = 1 << 20

func parse(r *http.Request) (*params, error) {
	p := &params{method: strings.TrimPrefix(r.URL.Path, "/api/"), values: map[string]string{}, host: r.Host}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if typ == "application/json" {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var fields map[string]json.RawMessage
		if len(data) > 0 && json.Unmarshal(data, &fields) != nil {
			return p, nil
		}
		for name, raw := range fields {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			p.values[name] = text
		}
	} else if err := r.ParseForm(); err != nil {
		return nil, err
	}
	for name, values := range r.Form {
		p.values[name] = values[0]
	}
	p.token = p.values["token"]
	delete(p.values, "token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		p.token = bearer
	}
	return p, nil
}

// number is a whole number; ok is false when it was given and is none.
func (p *params) number(name string, otherwise int) (n int, ok bool) {
	text := p.values[name]
	if text == "" {
		return otherwise, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func (p *params) flag(name string) bool {
	return slices.Contains([]string{"1", "true"}, p.values[name])
}
