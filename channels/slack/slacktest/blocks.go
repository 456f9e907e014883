package slacktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxBlocks is how many blocks one message may have.
	//
	// Source: https://docs.slack.dev/reference/block-kit/blocks.
	maxBlocks = 50
	// maxBlocksText is how long all blocks may be together, in characters of JSON. No page
	// says it; what was measured is a little more.
	//
	// Source: https://github.com/slackapi/bolt-js/issues/2509.
	maxBlocksText = 13_000
	maxButtons    = 25
	maxLabel      = 75
	maxValue      = 2000
	maxID         = 255
)

// A block is one of a message.
type block struct {
	Type     string            `json:"type"`
	BlockID  string            `json:"block_id"`
	Elements []json.RawMessage `json:"elements"`
	Text     *textObject       `json:"text"`
}

type textObject struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji"`
}

// A button is an element of a block "actions".
//
// Source: https://docs.slack.dev/reference/block-kit/block-elements/button-element.
type button struct {
	Type     string      `json:"type"`
	Text     *textObject `json:"text"`
	Value    string      `json:"value"`
	ActionID string      `json:"action_id"`
	URL      string      `json:"url"`
}

// checkBlocks reads the blocks of a call, or says what is wrong as the platform does.
func (s *calls) checkBlocks(p *params) (json.RawMessage, *Rejection) {
	text := strings.TrimSpace(p.values["blocks"])
	if text == "" || text == "null" || text == "[]" {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, refuse(p.method, "invalid_blocks_format", err)
	}
	wrong := func(at int, what string, args ...any) *Rejection {
		r := refuse(p.method, "invalid_blocks")
		r.Messages = []string{fmt.Sprintf("[ERROR] %s [json-pointer:/blocks/%d]", fmt.Sprintf(what, args...), at)}
		return r
	}
	if len(list) > maxBlocks {
		return nil, wrong(maxBlocks, "no more than 50 items allowed")
	}
	ids, actions := map[string]bool{}, map[string]bool{}
	for i, raw := range list {
		var b block
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, wrong(i, "%v", err)
		}
		if len(b.BlockID) > maxID || b.BlockID != "" && ids[b.BlockID] {
			return nil, wrong(i, "block_id %q is too long or not unique", b.BlockID)
		}
		ids[b.BlockID] = true
		if what := b.check(actions); what != "" {
			return nil, wrong(i, "%s", what)
		}
	}
	if utf8.RuneCountInString(text) > maxBlocksText {
		return nil, refuse(p.method, "msg_blocks_too_long", utf8.RuneCountInString(text))
	}
	return json.RawMessage(text), nil
}

// check says what is wrong with a block; empty: nothing.
//
// Source: https://docs.slack.dev/reference/block-kit/blocks.
func (b *block) check(actions map[string]bool) string {
	switch b.Type {
	case "rich_text":
		if len(b.Elements) == 0 {
			return "must be more than 0 items: elements"
		}
		for _, raw := range b.Elements {
			if what := checkRich(raw); what != "" {
				return what
			}
		}
	case "actions":
		if n := len(b.Elements); n == 0 || n > maxButtons {
			return "must have 1 to 25 elements"
		}
		for _, raw := range b.Elements {
			if what := checkButton(raw, actions); what != "" {
				return what
			}
		}
	case "section":
		if b.Text == nil || b.Text.Text == "" || utf8.RuneCountInString(b.Text.Text) > 3000 {
			return "text must have 1 to 3000 characters"
		}
	case "divider":
	default:
		return "unsupported type: " + b.Type
	}
	return ""
}

func checkButton(raw json.RawMessage, actions map[string]bool) string {
	var b button
	if err := json.Unmarshal(raw, &b); err != nil {
		return err.Error()
	}
	switch {
	case b.Type != "button":
		return "unsupported element: " + b.Type
	case b.Text == nil || b.Text.Type != "plain_text" || b.Text.Text == "":
		return "missing required field: text of type plain_text"
	case utf8.RuneCountInString(b.Text.Text) > maxLabel:
		return "must be less than 76 characters: text"
	case utf8.RuneCountInString(b.Value) > maxValue:
		return "must be less than 2001 characters: value"
	case len(b.ActionID) > maxID:
		return "must be less than 256 characters: action_id"
	case b.ActionID != "" && actions[b.ActionID]:
		return "action_id is not unique: " + b.ActionID
	}
	actions[b.ActionID] = true
	return ""
}

// A rich is an element of rich text, or an element of one.
//
// Source: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block.
type rich struct {
	Type     string          `json:"type"`
	Elements []rich          `json:"elements"`
	Text     *string         `json:"text"`
	URL      string          `json:"url"`
	Style    json.RawMessage `json:"style"`
	UserID   string          `json:"user_id"`
	Name     string          `json:"name"`
	Range    string          `json:"range"`
	Language string          `json:"language"`
}

var richStyles = []string{"bold", "italic", "strike", "code", "underline"}

func checkRich(raw json.RawMessage) string {
	var e rich
	if err := json.Unmarshal(raw, &e); err != nil {
		return err.Error()
	}
	switch e.Type {
	case "rich_text_section", "rich_text_quote":
		return e.checkInline("text", "link", "user", "emoji", "broadcast", "channel", "usergroup", "date", "color")
	case "rich_text_preformatted":
		return e.checkInline("text", "link")
	case "rich_text_list":
		for _, item := range e.Elements {
			if item.Type != "rich_text_section" {
				return "a list holds sections"
			}
			if what := item.checkInline("text", "link", "user", "emoji"); what != "" {
				return what
			}
		}
		return ""
	}
	return "unsupported type: " + e.Type
}

func (e *rich) checkInline(types ...string) string {
	if len(e.Elements) == 0 {
		return "must be more than 0 items: elements of " + e.Type
	}
	for _, in := range e.Elements {
		switch {
		case !slices.Contains(types, in.Type):
			return "unsupported type: " + in.Type + " in " + e.Type
		case in.Type == "text" && (in.Text == nil || *in.Text == ""):
			return "must be more than 0 characters: text"
		case in.Type == "link" && (in.URL == "" || len(in.URL) > 3000):
			return "must have 1 to 3000 characters: url"
		}
		if len(in.Style) > 0 {
			var style map[string]bool
			if json.Unmarshal(in.Style, &style) != nil {
				return "must be an object: style"
			}
			for name := range style {
				if !slices.Contains(richStyles, name) {
					return "unsupported style: " + name
				}
			}
		}
	}
	return ""
}

// CheckBlocks says why the platform would not take these blocks; nil: it would.
func CheckBlocks(blocks string) error {
	_, rejected := (&Server{}).checkBlocks(&params{method: "chat.postMessage", values: map[string]string{"blocks": blocks}})
	if rejected != nil {
		return rejected
	}
	return nil
}
