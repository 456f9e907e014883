package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Request is one question, as it came over the wire.
type Request struct {
	N      int         // the server's count, from 1
	Body   []byte      // the exact bytes
	Header http.Header //
	At     time.Time   // when it had come

	Model       string
	System      string          // the system message
	User        string          // the user message; several are joined by a blank line
	Format      string          // json_schema | json_object; empty: none is asked for
	Schema      string          // name of the schema, wherever it stands; empty: free text is wanted
	SchemaJSON  json.RawMessage // the schema itself, of the format json_schema
	Role        string          // who seems to ask: planner (schema plan), reviewer (review), worker (none), else the schema's name
	MaxTokens   int64
	Read        int // tokens of the prompt, where the server counts them (Forgets)
	Temperature *float64
	Stream      bool
	StreamUsage bool     // the stream is to tell what was used
	Input       []string // the texts to be embedded, of the role embeddings
}

// Has says whether the prompt holds text.
func (r Request) Has(text string) bool {
	return strings.Contains(r.System, text) || strings.Contains(r.User, text)
}

// Section is the part of the prompt below the heading "## title", without
// blank lines around it; empty when there is none. Headings inside fences do
// not count.
func (r Request) Section(title string) string {
	for _, text := range []string{r.System, r.User} {
		var found []string
		inside := false
		for line, fenced := range lines(text) {
			if !fenced && strings.HasPrefix(line, "## ") {
				inside = strings.TrimSpace(line[3:]) == title
				continue
			}
			if inside {
				found = append(found, line)
			}
		}
		if found != nil {
			return strings.TrimSpace(strings.Join(found, "\n"))
		}
	}
	return ""
}

// Headings are the lines "## title" of the prompt outside of fences.
func (r Request) Headings() (titles []string) {
	for _, text := range []string{r.System, r.User} {
		for line, fenced := range lines(text) {
			if title, ok := strings.CutPrefix(line, "## "); ok && !fenced {
				titles = append(titles, strings.TrimSpace(title))
			}
		}
	}
	return titles
}

// lines yields each line and whether it stands in a fence: between a line
// "<<<data-…" and a line "data-…>>>".
func lines(text string) func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		boundary := ""
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			fenced := boundary != ""
			if open, ok := strings.CutPrefix(line, "<<<"); ok && !fenced && strings.HasPrefix(open, "data-") {
				boundary, fenced = open, true
			} else if fenced && line == boundary+">>>" {
				boundary = ""
			}
			if !yield(line, fenced) {
				return
			}
		}
	}
}

// pathError is a request that is no question at all.
type pathError struct {
	status int
	text   string
}

func (e *pathError) Error() string { return e.text }

// says is a 400 in the provider's own words, capitals and full stops included.
func says(format string, args ...any) error {
	return &pathError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

type wireRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema *struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Strict      *bool           `json:"strict"`
			Schema      json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	MaxTokens           int64          `json:"max_tokens"`
	MaxCompletionTokens int64          `json:"max_completion_tokens"`
	Temperature         *float64       `json:"temperature"`
	Stream              bool           `json:"stream"`
	StreamOptions       map[string]any `json:"stream_options"`
}

// parse reads a request and says what is wrong with it, as the provider would.
func parse(r *http.Request, body []byte) (Request, error) {
	req := Request{Body: body, Header: r.Header.Clone(), At: time.Now()}
	embeds := r.URL.Path == "/v1/embeddings"
	if r.Method != http.MethodPost || !embeds && r.URL.Path != "/v1/chat/completions" {
		return req, &pathError{http.StatusNotFound, fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)}
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return req, &pathError{http.StatusUnsupportedMediaType, "Unsupported content type; expected application/json."}
	}
	if embeds {
		return req, req.texts(body)
	}
	var wire wireRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&wire); err != nil {
		return req, says("We could not parse the JSON body of your request: %v", err)
	}
	req.Model, req.Temperature, req.Stream = wire.Model, wire.Temperature, wire.Stream
	req.MaxTokens = max(wire.MaxTokens, wire.MaxCompletionTokens)
	if wire.StreamOptions != nil && !wire.Stream {
		return req, says("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	req.StreamUsage = wire.StreamOptions["include_usage"] == true
	if wire.Model == "" {
		return req, says("you must provide a model parameter")
	}
	if t := wire.Temperature; t != nil && (*t < 0 || *t > 2) {
		return req, says("Invalid 'temperature': expected a value between 0 and 2, but got %g instead.", *t)
	}
	if err := req.messages(wire); err != nil {
		return req, err
	}
	req.Role = "worker"
	format := wire.ResponseFormat
	switch {
	case format == nil || format.Type == "text":
	case format.Type == "json_object":
		req.Format = format.Type
		if !strings.Contains(strings.ToLower(req.System+req.User), "json") {
			return req, says("'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
		}
	case format.Type != "json_schema" || format.JSONSchema == nil:
		return req, &schemaError{param: "response_format", text: "Invalid 'response_format': this server takes json_schema and json_object only."}
	default:
		req.Format, req.Schema, req.SchemaJSON = format.Type, format.JSONSchema.Name, format.JSONSchema.Schema
	}
	if req.Schema == "" { // where a server has no schemas the prompt holds it
		_, after, _ := strings.Cut(req.System, "has to fit the JSON schema `")
		req.Schema, _, _ = strings.Cut(after, "`")
	}
	if req.Schema != "" {
		req.Role = req.Schema
	}
	switch req.Schema {
	case "plan":
		req.Role = "planner"
	case "review":
		req.Role = "reviewer"
	}
	if req.Format != "json_schema" {
		return req, nil
	}
	return req, CheckSchema(req.Schema, format.JSONSchema.Strict != nil && *format.JSONSchema.Strict, req.SchemaJSON)
}

func (r *Request) messages(wire wireRequest) error {
	if len(wire.Messages) == 0 {
		return says("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, m := range wire.Messages {
		var text string
		if err := json.Unmarshal(m.Content, &text); err != nil {
			return says("Invalid type for 'messages[%d].content': expected a string.", i)
		}
		switch m.Role {
		case "system", "developer":
			if i > 0 {
				return says("messages[%d]: the system message comes first", i)
			}
			r.System = text
		case "user":
			if r.User != "" {
				text = r.User + "\n\n" + text
			}
			r.User = text
		case "assistant":
		default:
			return says("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user' and 'developer'.", m.Role)
		}
	}
	if strings.TrimSpace(r.User) == "" {
		return says("messages: there is no user message")
	}
	return nil
}
