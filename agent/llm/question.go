package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A question is the body of a request. The SDK's own type encodes every message
// once a level of its nesting, which for long prompts is most of a call's CPU.
type question struct {
	Model               string    `json:"model"`
	Messages            []turn    `json:"messages"`
	MaxTokens           int       `json:"max_tokens,omitzero"`
	MaxCompletionTokens int       `json:"max_completion_tokens,omitzero"`
	Temperature         *float64  `json:"temperature,omitempty"`
	ResponseFormat      *strictly `json:"response_format,omitempty"`
}

type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type strictly struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

func (p *provider) encode(t target, req Request) ([]byte, error) {
	q := question{Model: t.id, Messages: make([]turn, 0, 2), Temperature: t.model.Temperature}
	if req.System != "" {
		q.Messages = append(q.Messages, turn{"system", req.System})
	}
	q.Messages = append(q.Messages, turn{"user", req.User})
	if p.ownTokens {
		q.MaxCompletionTokens = t.model.MaxOutputTokens
	} else {
		q.MaxTokens = t.model.MaxOutputTokens
	}
	if req.Schema != nil {
		q.ResponseFormat = &strictly{Type: "json_schema"}
		format := &q.ResponseFormat.JSONSchema
		format.Name, format.Strict, format.Schema = req.Schema.Name, true, req.Schema.JSON
	}
	body := bytes.NewBuffer(make([]byte, 0, len(req.System)+len(req.User)+(len(req.System)+len(req.User))/8+4096))
	enc := json.NewEncoder(body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(q); err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	return body.Bytes(), nil
}
