package people_test

import (
	"testing"

	"switchboard/channels"
	"switchboard/router/routertest"
	"switchboard/store"
	"switchboard/store/storetest"
)

// The same ID in another workspace is somebody else.
func TestAGuestFromAnotherWorkspaceIsAStranger(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.People[1].Identities = []string{"scripted:T2/bob", "play:T1/carl"}
		r.Start()
		for i, tt := range []struct {
			sender channels.Sender
			served int
		}{
			{channels.Sender{ID: "ada"}, 1},
			{channels.Sender{ID: "ada", Team: "T1"}, 1},
			{channels.Sender{ID: "ada", Team: "T2", Guest: true}, 0},
			{channels.Sender{ID: "ada", Guest: true}, 0}, // nobody says from where
			{channels.Sender{ID: "bob", Team: "T2", Guest: true}, 1},
			{channels.Sender{ID: "bob", Team: "T1"}, 0},
			{channels.Sender{ID: "carl", Team: "T1"}, 1},
			{channels.Sender{ID: "carl", Team: "T3", Guest: true}, 0},
		} {
			e := routertest.Event(i+1, "c1", "ada", "hello")
			e.Sender = tt.sender
			if turns := r.HandIn([]channels.Event{e}); turns != tt.served {
				t.Errorf("%+v: %d turns", tt.sender, turns)
			}
		}
	})
}
