package telegramtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxUpload is the largest file that a bot may send, in bytes.
//
// Source: https://core.telegram.org/bots/api#sending-files
const maxUpload = 50 << 20

// An upload is a file in a call.
type upload struct {
	name string
	typ  string
	data []byte
}

// params are what a call was given. The platform takes them as query, form,
// multipart form or JSON object, all the same.
//
// Source: https://core.telegram.org/bots/api#making-requests
type params struct {
	values map[string]string
	files  map[string]upload
	wrong  *Rejection // why the call is rejected: the first fault that was found
}

// parse reads a call. The error is a *Rejection, or the connection's.
func parse(r *http.Request) (*params, error) {
	p := &params{values: map[string]string{}, files: map[string]upload{}}
	for name, values := range r.URL.Query() {
		p.values[name] = values[0]
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxUpload+1<<20)
	typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var err error
	switch typ {
	case "application/json":
		err = p.json(r)
	case "multipart/form-data":
		err = p.multipart(r)
	case "application/x-www-form-urlencoded":
		if err = r.ParseForm(); err == nil {
			for name, values := range r.PostForm {
				p.values[name] = values[0]
			}
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &Rejection{Code: http.StatusRequestEntityTooLarge, Description: "Request Entity Too Large", Page: docs + "#sending-files"}
	}
	if err == nil { // what follows a form's last part; until then nobody notices that the caller went
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil {
		return nil, err
	}
	for name, value := range p.values {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, bad("making-requests", "strings must be encoded in UTF-8")
		}
	}
	return p, nil
}

func (p *params) json(r *http.Request) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return bad("making-requests", "can't parse JSON object: %v", err)
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if text != "null" {
			p.values[name] = text
		}
	}
	return nil
}

func (p *params) multipart(r *http.Request) error {
	reader, err := r.MultipartReader()
	if err != nil {
		return bad("making-requests", "can't parse multipart form: %v", err)
	}
	for first := true; ; first = false {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return nil // the library sends an empty body when a method takes nothing
		}
		if err != nil {
			if _, ok := errors.AsType[*http.MaxBytesError](err); !ok && first && r.ContentLength == 0 {
				return nil
			}
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		name := part.FormName()
		if part.FileName() != "" {
			p.files[name] = upload{name: part.FileName(), typ: part.Header.Get("Content-Type"), data: data}
		} else {
			p.values[name] = string(data)
		}
	}
}

// fail rejects the call with r, unless r is nil or it is rejected already; it reports
// whether it is.
func (p *params) fail(r *Rejection) (rejected bool) {
	p.wrong = cmp.Or(p.wrong, r)
	return p.wrong != nil
}

// failIf rejects the call with a 400 where cond holds, unless it is rejected already; it
// reports whether it is.
func (p *params) failIf(cond bool, anchor, description string, args ...any) (rejected bool) {
	if cond {
		p.fail(bad(anchor, description, args...))
	}
	return p.wrong != nil
}

// int is a whole number; 0 when it was not given.
func (p *params) int(name string) int64 {
	text := strings.TrimSpace(p.values[name])
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	p.failIf(err != nil, "making-requests", "invalid %s specified", name)
	return n
}

// bool is true or false; false when it was not given.
func (p *params) bool(name string) bool {
	text := strings.ToLower(strings.TrimSpace(p.values[name]))
	yes := slices.Contains([]string{"true", "yes", "1"}, text)
	p.failIf(!yes && !slices.Contains([]string{"", "false", "no", "0"}, text), "making-requests", "invalid %s specified", name)
	return yes
}

// decode reads a JSON-serialized parameter into dest and reports whether it was given.
func (p *params) decode(name, anchor string, dest any) bool {
	text := strings.TrimSpace(p.values[name])
	if text == "" || text == "null" {
		return false
	}
	if err := json.Unmarshal([]byte(text), dest); err != nil {
		description := "can't parse " + name + " JSON object"
		if strings.Contains(name, "entities") {
			description = "can't parse entities: expected an Array of MessageEntity"
		}
		r := bad(anchor, "%s", description)
		r.Detail = err.Error()
		p.fail(r)
	}
	return true
}
