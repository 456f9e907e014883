package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A question is the body of a request.
type question struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	MaxTokens           int             `json:"max_tokens,omitzero"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitzero"`
	Temperature         *float64        `json:"temperature,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	Stream              bool            `json:"stream,omitzero"`
	StreamOptions       *options        `json:"stream_options,omitempty"`
}

type options struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// A frame is a question without what the person says: the same for every call of
// a role, and most of a request.
type frame struct {
	target     target
	system     string
	schema     *Schema
	stream     bool
	format     format
	head, tail []byte // before and behind the user's text
}

// maxFrames bounds how many are kept of a provider.
const maxFrames = 16

// emptyUser stands in a question without the user's text, and nowhere else: inside
// a text its quotes would be escaped.
const emptyUser = `{"role":"user","content":""}`

func (p *provider) encode(t target, req Request, m mode) ([]byte, error) {
	if req.Embed != nil {
		return json.Marshal(toEmbed{t.id, req.Embed})
	}
	f, err := p.frame(t, req, m)
	if err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	body := bytes.NewBuffer(make([]byte, 0, len(f.head)+len(req.User)+len(req.User)/8+len(f.tail)+64))
	body.Write(f.head)
	if err := encodeTo(body, req.User); err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	body.Truncate(body.Len() - 1) // the encoder's newline
	body.Write(f.tail)
	return body.Bytes(), nil
}

func (p *provider) frame(t target, req Request, m mode) (*frame, error) {
	p.framing.Lock()
	defer p.framing.Unlock()
	stream := req.Stream != nil && !m.asOne
	for _, f := range p.frames {
		if f.target == t && f.system == req.System && f.stream == stream && f.format == m.format && sameSchema(f.schema, req.Schema) {
			return f, nil
		}
	}
	f := &frame{target: t, system: req.System, schema: req.Schema, stream: stream, format: m.format}
	whole := bytes.NewBuffer(make([]byte, 0, len(req.System)+len(req.System)/8+4096))
	if err := encodeTo(whole, p.question(f)); err != nil {
		return nil, err
	}
	at := bytes.Index(whole.Bytes(), []byte(emptyUser)) + len(emptyUser) - len(`""}`)
	f.head, f.tail = whole.Bytes()[:at], whole.Bytes()[at+len(`""`):]
	if len(p.frames) == maxFrames {
		p.frames = p.frames[1:]
	}
	p.frames = append(p.frames, f)
	return f, nil
}

func sameSchema(a, b *Schema) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name && bytes.Equal(a.JSON, b.JSON)
}

// question is f's without the user's text.
func (p *provider) question(f *frame) question {
	t := f.target
	q := question{Model: t.id, Messages: make([]chatMessage, 0, 2), Temperature: t.model.Temperature}
	system := f.system
	if f.schema != nil && f.format != strictSchema {
		system += f.schema.instructions()
	}
	if system != "" {
		q.Messages = append(q.Messages, chatMessage{"system", system})
	}
	q.Messages = append(q.Messages, chatMessage{Role: "user"})
	if p.ownTokens {
		q.MaxCompletionTokens = t.model.MaxOutputTokens
	} else {
		q.MaxTokens = t.model.MaxOutputTokens
	}
	switch {
	case f.schema == nil:
	case f.format == strictSchema:
		q.ResponseFormat = &responseFormat{"json_schema", &jsonSchema{f.schema.Name, true, f.schema.JSON}}
	case f.format == jsonObject:
		q.ResponseFormat = &responseFormat{Type: "json_object"}
	}
	if f.stream {
		q.Stream, q.StreamOptions = true, &options{IncludeUsage: true}
	}
	return q
}

func encodeTo(body *bytes.Buffer, v any) error {
	enc := json.NewEncoder(body)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
