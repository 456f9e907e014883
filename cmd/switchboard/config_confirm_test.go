package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// shows are the buttons that a message of the bot shows, by label.
func (r *telegramRig) shows(chat, id int64) map[string]string {
	shown := map[string]string{}
	for _, m := range r.bot.FromBot(chat) {
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
func (r *telegramRig) loses(chat, id int64) {
	r.t.Helper()
	r.await("its buttons are gone", 20*time.Second, func() bool { return len(r.shows(chat, id)) == 0 })
}

// A button to confirm a change confirms that change and no other, and is gone once it is decided
// what becomes of it, by whatever decided it.
func TestConfirmButtonIsOfItsVersion(t *testing.T) {
	onBoth(t, "", func(t *testing.T, r *telegramRig) {
		chief := r.chief.ID
		first, _ := r.orders(chief, "/config set router.message_limit 2KB", "This could lock you out")
		stale := r.shows(chief, first)["Confirm"]
		r.orders(chief, "/config undo", "Version 1 is taken back")
		r.loses(chief, first)
		second, _ := r.orders(chief, "/config set router.message_limit 3KB", "This could lock you out")
		r.counts("router.message_limit", "3KB")
		r.bot.PressStale(chief, chief, first, stale)
		r.taken()
		r.orders(chief, "/config confirm 1", "Version 1 does not count any more")
		r.orders(chief, "/config confirm 9", "No change of the settings waits")
		r.orders(chief, "/config", "to be confirmed within")
		r.orders(chief, "/config confirm", "Confirmed: version 2 stays")
		r.loses(chief, second)
		r.orders(chief, "/config confirm 2", "Version 2 does not have to be confirmed any more")

		third, _ := r.orders(chief, "/config set router.message_limit 4KB", "This could lock you out")
		r.counts("router.message_limit", "4KB")
		r.bot.Press(chief, chief, third, "Confirm")
		confirmed := int64(0)
		r.await("it is confirmed", 20*time.Second, func() bool {
			for _, m := range r.bot.FromBot(chief) {
				if strings.Contains(m.Text, "Confirmed: version 3 stays") {
					confirmed = m.ID
				}
			}
			return confirmed != 0
		})
		r.loses(chief, third)
		r.bot.Press(chief, chief, confirmed, "Undo")
		r.await("it can be undone", 20*time.Second, func() bool {
			return strings.Contains(strings.Join(r.answers(chief), "\n"), "router.message_limit is \"3KB\", was \"4KB\"")
		})
	})
}
