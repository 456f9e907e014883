package chat_test

import (
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

// What a model reads of a hello that an admin says, with all that there is by default.
func TestHelloIsShort(t *testing.T) {
	t.Parallel()
	r := programtest.NewTelegram(t, "")
	r.Channel("telegram", r.Bot, r.Bot.Token(), "")
	r.Ready()
	r.Bot.Say(r.Chief.ID, "hello")
	r.Await("she is answered", programtest.Patience, func() bool { return len(r.Answers(r.Chief.ID)) > 0 })
	req := r.Model.Requests()[0]
	if messages, schema := len(req.System)+len(req.User), len(req.SchemaJSON); messages > 8<<10 || schema > 1500 {
		t.Errorf("%d bytes of messages, %d of schema", messages, schema)
	} else {
		t.Logf("%d bytes of messages, %d of schema", messages, schema)
	}
}
