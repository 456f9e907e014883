package platforms_test

import (
	"fmt"
	"strings"
	"testing"

	"switchboard/channels/discord/discordtest"
	"switchboard/channels/platformtest"
	"switchboard/channels/slack/slacktest"
	"switchboard/channels/telegram/telegramtest"
	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/outbox"
)

// answer writes a command and waits for an answer with all these texts.
func (d *desk) answer(command string, texts ...string) platformtest.Message {
	d.ada.T.Helper()
	d.ada.Writes(d.slash + command)
	return d.ada.Found(texts...)
}

// refusals say for good no to a message.
var refusals = map[string]platformtest.Fault{
	"telegram": {Method: "sendMessage", Rejected: &telegramtest.Rejection{Code: 400, Description: "Bad Request: no"}},
	"slack":    {Method: "chat.postMessage", Rejected: &slacktest.Rejection{Code: "restricted_action"}},
	"discord":  {Method: discordtest.CreateMessage, Rejected: &discordtest.Rejection{Status: 400, Code: 50035, Message: "Invalid Form Body"}},
}

// undelivered has the next answer at a desk refused, and returns its delivery.
func (o *office) undelivered(d *desk) (id int64) {
	o.T.Helper()
	d.breaks(refusals[d.kind])
	d.ada.Writes(d.slash + "whoami")
	o.Await("an answer is given up at "+d.kind, programtest.Patience, func() bool {
		for _, dead := range programtest.List[[]outbox.Info](o.Rig, "delivery", "list", "--json", "--state", "dead") {
			if dead.Channel == d.kind {
				id = dead.ID
			}
		}
		return id != 0
	})
	return id
}

// output is what a command line prints.
func (o *office) output(args ...string) string {
	o.T.Helper()
	out, errs, _ := o.Command(args...)
	return out + errs
}

// Commands over the wire of each platform: what is asked is answered there, what is set is set, and
// buttons under an answer give the next command.
func TestCommandsOverEachPlatform(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "allowlist", "")
	o.opens()
	o.claims()
	o.each(func(d *desk) func() {
		d.ada.Writes(d.slash + "status")
		return func() { d.ada.Found("The model here is fake/model.", "Nothing was asked yet.") }
	})
	o.each(func(d *desk) func() {
		d.ada.Writes(d.slash + "mode ask")
		return func() {
			d.ada.Presses(d.ada.Found("Mode: ask"), "act")
			d.ada.Found("Mode: act")
		}
	})
	o.each(func(d *desk) func() {
		d.ada.Writes(d.slash + `tool time {"zone": "Europe/Rome"}`)
		return func() { d.ada.Found("Europe/Rome") }
	})
	ids := map[string]string{"telegram": "telegram:4711", "slack": "slack:T0TEST/U4711TEST", "discord": "discord:80351110224678912"}
	o.each(func(d *desk) func() {
		d.ada.Writes(d.slash + "people add guest-" + d.kind + " " + ids[d.kind])
		return func() { d.ada.Found("guest-"+d.kind+" can write to me now: user", ids[d.kind]) }
	})
	for _, d := range o.desks { // each changes what the one before took back
		set := d.answer("config set log.level debug", `is "debug", was "info"`)
		o.Await("it is set by "+d.kind, programtest.Patience, func() bool { return strings.Contains(o.output("config", "get", "log.level"), "debug") })
		d.ada.Presses(set, "Undo")
		d.ada.Found(`is "info", was "debug"`)
		o.Await("it is undone by "+d.kind, programtest.Patience, func() bool { return strings.Contains(o.output("config", "get", "log.level"), "info") })
		limit := fmt.Sprintf("%dKB", 3+len(d.kind)) // what could lock its admin out
		set = d.answer("config set router.message_limit "+limit, limit, "This could lock you out")
		o.Counts("router.message_limit", limit)
		d.ada.Presses(set, "Confirm")
		d.ada.Found("Confirmed: version")
	}
	for _, d := range o.desks {
		id := o.undelivered(d)
		d.ada.Presses(d.answer("deliveries", fmt.Sprint(id), "on "+d.kind), fmt.Sprint("Drop ", id))
		d.ada.Found(fmt.Sprintf("Delivery %d was dead and is dropped now.", id))
	}
}
