package slack

import (
	"encoding/json"
	"slices"

	"switchboard/channels/wire"
)

// A reply is what every answer of the Web API has.
//
// Source: https://docs.slack.dev/apis/web-api/ "Evaluating responses".
type reply struct {
	OK       *bool  `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

// An exchange is what is known of one call.
type exchange struct {
	wire.Exchange
	reply *reply // nil: no answer, or none of the Web API
}

// read looks for the platform's reply in what was answered.
func (x *exchange) read() {
	var r reply
	if x.Status != 0 && json.Unmarshal(x.Body, &r) == nil && r.OK != nil {
		x.reply = &r
	}
}

func (x *exchange) ok() bool { return x.reply != nil && *x.reply.OK }

// refused reports whether the platform refused with one of these codes.
func (x *exchange) refused(codes ...string) bool {
	return x != nil && x.reply != nil && slices.Contains(codes, x.reply.Error)
}
