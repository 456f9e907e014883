package slack

import (
	"testing"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/render/rendertest"
)

// Hard texts take no longer than others, and every part of them is taken.
func TestHardTextsAreFormattedInBoundedTime(t *testing.T) {
	features := New("sl", Config{}, discard()).Features(channels.Conversation{})
	for name, text := range rendertest.Hard() {
		t.Run(name, func(t *testing.T) {
			rendertest.Bounded(t, func() {
				for _, body := range New("sl", Config{}, discard()).Format(render.Parse(text.Source), features) {
					if render.Units(body.Text) > maxText+1 {
						t.Errorf("a part is %d long", render.Units(body.Text))
					}
				}
			})
		})
	}
}
