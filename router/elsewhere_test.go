package router_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"switchboard/router/core"
	"switchboard/router/routertest"
)

// What somebody writes on the page into a chat of theirs is shown there, once, and then answered there. Nobody writes into another's.
func TestPageWritesIntoAChat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Start()
		r.Platform.Say("c1", "ada", "hello")
		r.Await(1)
		const session = "play:c1"
		for range 2 { // the second is a repetition
			if got, err := r.Router.WriteIn(t.Context(), "ada", session, "k1", "what *is*\nthis", nil); err != nil || got.Rejected != "" || got.Busy != "" {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		r.Until("it is answered", func() bool {
			return slices.ContainsFunc(routertest.Texts(r.Platform.Sent()), func(s string) bool { return strings.HasPrefix(s, "re: what") })
		})
		if texts := routertest.Texts(r.Platform.Sent()); len(texts) != 3 || !strings.HasPrefix(texts[1], "You wrote on the page:") || !strings.Contains(texts[1], "is") {
			t.Errorf("the chat shows %q", texts)
		}
		for _, wrong := range [][2]string{{"bob", session}, {"ada", "play:c2"}, {"nobody", session}} {
			if _, err := r.Router.WriteIn(t.Context(), wrong[0], wrong[1], "k2", "x", nil); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%v: %v", wrong, err)
			}
		}
	})
}
