package telegram

import (
	"context"
	"time"

	"github.com/go-telegram/bot"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
)

const (
	// maxToast is the longest notice that a pressed button shows.
	//
	// Source: https://core.telegram.org/bots/api#answercallbackquery "text".
	maxToast = 200
	// maxInRow is how many buttons of a row can still be read.
	maxInRow = 4
	// pressesAtOnce and pressTimeout bound the answers under way: they are a courtesy.
	pressesAtOnce = 16
	pressTimeout  = 5 * time.Second
)

// answer tells the platform that a press was taken, so that the button stops turning,
// and shows toast to whoever pressed it. It does not wait for that.
func (c *Client) answer(ctx context.Context, s *session, query, toast string) {
	if !s.presses.TryGo(func() error {
		_, err := c.exchange(ctx, "answerCallbackQuery", 0, pressTimeout, wire.With((*bot.Bot).AnswerCallbackQuery, &bot.AnswerCallbackQueryParams{CallbackQueryID: query, Text: render.Clip(toast, maxToast)}))
		if err != nil {
			c.Log.DebugContext(ctx, "the press of a button was not answered", "error", err)
		}
		return nil
	}) {
		c.Log.DebugContext(ctx, "too many buttons are pressed at once to answer each")
	}
}

// A keyboard is rows of buttons under a message. The library's type for buttons sends
// fields that are not set.
//
// Source: https://core.telegram.org/bots/api#inlinekeyboardmarkup.
type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// markup is the buttons of a body; nil: none.
func markup(buttons []channels.Button) any {
	if len(buttons) == 0 {
		return nil
	}
	var k keyboard
	for _, row := range channels.Rows(buttons, maxButtons, maxInRow) {
		var keys []key
		for _, b := range row {
			keys = append(keys, key{Text: b.Label, Data: b.Code})
		}
		k.Rows = append(k.Rows, keys)
	}
	return k
}
