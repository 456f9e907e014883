package telegram

import (
	"bytes"
	"encoding/json"
	"time"

	"switchboard/channels/wire"
)

// A reply is the platform's answer to any call.
//
// Source: https://core.telegram.org/bots/api#making-requests.
type reply struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      json.RawMessage `json:"retry_after"`
		MigrateToChatID int64           `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// retryAfter is how long the platform asks to wait, within reason; 0: it does not say.
func (r *reply) retryAfter() time.Duration {
	d, _ := wire.Seconds(string(bytes.Trim(r.Parameters.RetryAfter, `"`)))
	return d
}

// An exchange is what is known of one call.
type exchange struct {
	wire.Exchange
	reply *reply // nil: no answer, or not a complete one of the platform
	chat  int64  // whom it is about; 0: nobody
}

// read looks for the platform's reply in what was answered.
func (x *exchange) read() {
	var r reply
	if x.Status != 0 && json.Unmarshal(x.Body, &r) == nil && (r.OK || r.ErrorCode != 0) {
		x.reply = &r
	}
}
