package main_test

import "testing"

// What a model reads of a hello that an admin says, with all that there is by default.
func TestHelloIsShort(t *testing.T) {
	t.Parallel()
	r := newTelegram(t, "")
	r.channel("telegram", r.bot, r.bot.Token(), "")
	r.ready()
	r.bot.Say(r.chief.ID, "hello")
	r.await("she is answered", patience, func() bool { return len(r.answers(r.chief.ID)) > 0 })
	req := r.model.Requests()[0]
	if messages, schema := len(req.System)+len(req.User), len(req.SchemaJSON); messages > 8<<10 || schema > 1500 {
		t.Errorf("%d bytes of messages, %d of schema", messages, schema)
	} else {
		t.Logf("%d bytes of messages, %d of schema", messages, schema)
	}
}
