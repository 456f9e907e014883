package admin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
)

// shows are the buttons that a message of the bot shows, by label.
func shows(r *programtest.TelegramRig, chat, id int64) map[string]string {
	shown := map[string]string{}
	for _, m := range r.Bot.FromBot(chat) {
		if m.ID != id || m.ReplyMarkup == nil {
			continue
		}
		for _, key := range slices.Concat(m.ReplyMarkup.Rows...) {
			shown[key.Text] = key.CallbackData
		}
	}
	return shown
}

// loses waits until a message of the bot shows no button.
func loses(r *programtest.TelegramRig, chat, id int64) {
	r.T.Helper()
	r.Await("its buttons are gone", 20*time.Second, func() bool { return len(shows(r, chat, id)) == 0 })
}

// A button to confirm a change confirms that change and no other, and is gone once it is decided
// what becomes of it, by whatever decided it.
func TestConfirmButtonIsOfItsVersion(t *testing.T) {
	onBoth(t, "", func(t *testing.T, r *programtest.TelegramRig) {
		chief := r.Chief.ID
		first, _ := orders(r, chief, "/config set router.message_limit 2KB", "This could lock you out")
		stale := shows(r, chief, first)["Confirm"]
		orders(r, chief, "/config undo", "Version 1 is taken back")
		loses(r, chief, first)
		second, _ := orders(r, chief, "/config set router.message_limit 3KB", "This could lock you out")
		r.Counts("router.message_limit", "3KB")
		r.Bot.PressStale(chief, chief, first, stale)
		r.Taken()
		orders(r, chief, "/config confirm 1", "Version 1 does not count any more")
		orders(r, chief, "/config confirm 9", "No change of the settings waits")
		orders(r, chief, "/config", "to be confirmed within")
		orders(r, chief, "/config confirm", "Confirmed: version 2 stays")
		loses(r, chief, second)
		orders(r, chief, "/config confirm 2", "Version 2 does not have to be confirmed any more")

		third, _ := orders(r, chief, "/config set router.message_limit 4KB", "This could lock you out")
		r.Counts("router.message_limit", "4KB")
		r.Bot.Press(chief, chief, third, "Confirm")
		confirmed := int64(0)
		r.Await("it is confirmed", 20*time.Second, func() bool {
			for _, m := range r.Bot.FromBot(chief) {
				if strings.Contains(m.Text, "Confirmed: version 3 stays") {
					confirmed = m.ID
				}
			}
			return confirmed != 0
		})
		loses(r, chief, third)
		r.Bot.Press(chief, chief, confirmed, "Undo")
		r.Await("it can be undone", 20*time.Second, func() bool {
			return strings.Contains(strings.Join(r.Answers(chief), "\n"), "router.message_limit is \"3KB\", was \"4KB\"")
		})
	})
}
