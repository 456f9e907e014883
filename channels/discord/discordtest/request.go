package discordtest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"switchboard/channels/platformtest"
)

// A request is one call, read.
type request struct {
	*http.Request
	payload []byte // JSON
	files   []platformtest.File
	open    bool // it needs no token
}

// mostBody is the most that one request may hold, in bytes; a file has 10 MiB.
//
// Source: https://docs.discord.com/developers/reference#uploading-files.
const (
	mostBody = 120 << 20
	mostFile = 10 << 20
)

// read reads the body: JSON, or a form with files and the JSON in payload_json.
func (r *request) read() *Rejection {
	if r.Body == nil || r.Method == http.MethodGet {
		return nil
	}
	body := io.LimitReader(r.Body, mostBody+1)
	typ, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if typ != "multipart/form-data" {
		data, err := io.ReadAll(body)
		switch {
		case err != nil:
			return &Rejection{Status: http.StatusBadRequest, Code: 50109, Message: "The request body contains invalid JSON."}
		case len(data) > 0 && typ != "application/json":
			return invalid("Content-Type must be application/json or multipart/form-data")
		case len(data) > 0 && !json.Valid(data):
			return &Rejection{Status: http.StatusBadRequest, Code: 50109, Message: "The request body contains invalid JSON."}
		}
		r.payload = data
		return nil
	}
	return r.readForm(body, params["boundary"])
}

// decode reads the JSON of the request.
func (r *request) decode(into any) *Rejection {
	if err := json.Unmarshal(r.payload, into); err != nil {
		field := "body"
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			field = wrong.Field
		}
		return invalid(field + " is of the wrong type")
	}
	return nil
}

// readForm reads a form: files in files[N], the rest in payload_json.
//
// Source: https://docs.discord.com/developers/reference#uploading-files.
func (r *request) readForm(body io.Reader, boundary string) *Rejection {
	form := multipart.NewReader(body, boundary)
	for {
		part, err := form.NextPart()
		if err == io.EOF { //nolint:errorlint // as the package says
			break
		}
		if err != nil {
			return invalid("the form cannot be read")
		}
		data, err := io.ReadAll(part)
		switch name := part.FormName(); {
		case err != nil:
			return invalid("the form cannot be read")
		case name == "payload_json":
			r.payload = data
		case strings.HasPrefix(name, "files[") && part.FileName() != "":
			if len(data) > mostFile {
				return TooLarge
			}
			r.files = append(r.files, platformtest.File{Name: part.FileName(), Type: part.Header.Get("Content-Type"), Data: data})
		}
	}
	if r.payload == nil {
		r.payload = []byte("{}")
	}
	if len(r.files) > 10 {
		return invalid("attachments: at most 10 files")
	}
	return nil
}
