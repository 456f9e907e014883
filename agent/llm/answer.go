package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A completion is what we read of an answer. Servers differ in more than they
// agree on, so this is less than the SDK's type and more tolerant.
type completion struct {
	Error   json.RawMessage `json:"error"` // some servers say 200 and then this
	Choices []struct {
		FinishReason string  `json:"finish_reason"`
		Message      message `json:"message"`
	} `json:"choices"`
	Usage struct {
		In      int64 `json:"prompt_tokens"`
		Out     int64 `json:"completion_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type message struct {
	Content          json.RawMessage `json:"content"` // text, null, or parts
	Refusal          string          `json:"refusal"`
	Reasoning        json.RawMessage `json:"reasoning"` // OpenRouter, newer vLLM
	ReasoningContent json.RawMessage `json:"reasoning_content"`
}

// read fills resp from a 2xx answer.
func (p *provider) read(resp *Response, w *wire, t target, req Request) error {
	var c completion
	if err := json.Unmarshal(w.body, &c); err != nil {
		return fmt.Errorf("%w: its answer is not JSON: %s", ErrUnavailable, p.text(err.Error()))
	}
	resp.Usage = Usage{In: c.Usage.In, Out: c.Usage.Out, Cached: c.Usage.Details.Cached}
	resp.Usage.Cost = (float64(c.Usage.In)*t.model.PriceIn + float64(c.Usage.Out)*t.model.PriceOut) / 1e6
	if len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) {
		var e apiError
		_ = json.Unmarshal(c.Error, &e)
		return p.fault(e.status(), w.header, resp.Exchange.Response, t, req)
	}
	if len(c.Choices) == 0 {
		return fmt.Errorf("%w: its answer is empty (no choices)", ErrUnavailable)
	}
	choice := c.Choices[0]
	text, thoughts := choice.Message.split()
	text, more := withoutThoughts(text, req.Schema != nil)
	resp.Text, resp.Reasoning, resp.Finish = text, join(thoughts, more), choice.FinishReason
	switch {
	case choice.FinishReason == "length":
		return fmt.Errorf("%w: its answer was cut off at %d tokens; raise max_output_tokens of the model", ErrUnavailable, t.model.MaxOutputTokens)
	case text == "" && choice.Message.Refusal != "":
		return fmt.Errorf("%w by the model: %s", ErrRefused, p.text(choice.Message.Refusal))
	case text == "":
		return fmt.Errorf("%w: its answer is empty (%s)", ErrUnavailable, choice.FinishReason)
	case req.Schema != nil && !json.Valid([]byte(text)):
		return fmt.Errorf("%w: its answer is not the JSON that was asked for", ErrUnavailable)
	}
	return nil
}

// split takes the answer and the reasoning out of a message's fields.
func (m message) split() (text, thoughts string) {
	if json.Unmarshal(m.Content, &text) != nil {
		var parts []struct {
			Type     string          `json:"type"`
			Text     string          `json:"text"`
			Thinking json.RawMessage `json:"thinking"`
		}
		_ = json.Unmarshal(m.Content, &parts)
		for _, part := range parts {
			if part.Type == "text" {
				text += part.Text
			} else {
				thoughts = join(thoughts, words(part.Thinking))
			}
		}
	}
	if field := words(m.Reasoning); field != "" { // servers that send both repeat themselves
		return text, join(thoughts, field)
	}
	return text, join(thoughts, words(m.ReasoningContent))
}

// words is a JSON text as it reads; another JSON value is kept as written.
func words(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "\n" + b
}

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// withoutThoughts takes <think> blocks out of an answer. A closing tag alone
// ends a block whose beginning was in the server's own template, an opening tag
// alone at the start was never closed. Of a structured answer only what precedes
// the JSON is taken: inside, the words may be somebody's text.
func withoutThoughts(text string, structured bool) (answer, thoughts string) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, thinkOpen) && !strings.Contains(text, thinkClose) {
		return text, ""
	}
	if structured && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) {
		return text, ""
	}
	var kept strings.Builder
	for {
		open, end := strings.Index(text, thinkOpen), strings.Index(text, thinkClose)
		switch {
		case end >= 0 && (open < 0 || end < open): // begun before the answer
			if kept.Len() == 0 {
				thoughts = join(thoughts, strings.TrimSpace(text[:end]))
			} else {
				kept.WriteString(text[:end])
			}
		case end >= 0:
			kept.WriteString(text[:open])
			thoughts = join(thoughts, strings.TrimSpace(text[open+len(thinkOpen):end]))
		case open == 0 && strings.TrimSpace(kept.String()) == "":
			return "", join(thoughts, strings.TrimSpace(text[len(thinkOpen):]))
		default:
			kept.WriteString(text)
			return strings.TrimSpace(kept.String()), thoughts
		}
		text = text[end+len(thinkClose):]
		if structured && strings.HasPrefix(strings.TrimSpace(text), "{") {
			return strings.TrimSpace(text), thoughts
		}
	}
}
