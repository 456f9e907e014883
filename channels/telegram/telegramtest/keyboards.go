package telegramtest

import (
	"encoding/json"
	"slices"
)

// Sections of the documentation that speak of keyboards.
const (
	pageKeyboard = "inlinekeyboardmarkup"
	pageButton   = "inlinekeyboardbutton"
)

// buttonKinds are the fields of which a button has exactly one.
var buttonKinds = []string{
	"callback_data", "url", "web_app", "login_url", "switch_inline_query", "switch_inline_query_current_chat",
	"switch_inline_query_chosen_chat", "copy_text", "callback_game", "pay",
}

// noKind are values that the platform takes for none; the library sends an empty
// copy_text with every button.
var noKind = []string{"", `""`, "null", "false", `{"text":""}`}

// keyboard reads reply_markup; nil: none. Keyboards other than inline ones are taken
// and not shown.
func (p *params) keyboard() *InlineKeyboard {
	var markup struct {
		Rows [][]map[string]json.RawMessage `json:"inline_keyboard"`
	}
	p.decode("reply_markup", pageKeyboard, &markup)
	var keys InlineKeyboard
	for _, row := range markup.Rows {
		var buttons []Button
		for _, fields := range row {
			b, rejected := button(fields)
			p.fail(rejected)
			buttons = append(buttons, b)
		}
		if len(buttons) > 0 {
			keys.Rows = append(keys.Rows, buttons)
		}
	}
	if len(keys.Rows) == 0 {
		return nil
	}
	return &keys
}

func button(fields map[string]json.RawMessage) (b Button, rejected *Rejection) {
	data, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	kinds := 0
	for _, kind := range buttonKinds {
		if !slices.Contains(noKind, string(fields[kind])) {
			kinds++
		}
	}
	switch {
	case err != nil:
		return b, bad(pageButton, "can't parse inline keyboard button: %v", err)
	case b.Text == "":
		return b, bad(pageButton, "can't parse inline keyboard button: Field \"text\" must be non-empty")
	case kinds == 0:
		return b, bad(pageButton, "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
	case kinds > 1:
		return b, bad(pageButton, "can't parse inline keyboard button: exactly one of the optional fields must be used")
	case len(b.CallbackData) > 64:
		r := bad(pageButton, "BUTTON_DATA_INVALID")
		r.Detail = detail("callback_data of %d bytes, 1 to 64 are allowed", len(b.CallbackData))
		return b, r
	case b.URL != "" && !linkable(b.URL):
		return b, bad(pageButton, "BUTTON_URL_INVALID")
	}
	return b, nil
}
