package browsers_test

import (
	"strconv"
	"testing"

	"switchboard/router/browsers"
	"switchboard/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// Of more browsers than a person may have, the one used longest ago is signed out.
func TestBrowsersOfAPersonAreBounded(t *testing.T) {
	storetest.EachHouse(t, func(t *testing.T, h *storetest.House) {
		h.SetPeople(storetest.Root)
		s := &browsers.Service{Store: h.Router, Changer: h.Router}
		var first, second string
		for i := range browsers.Most + 1 {
			secret, _, err := s.ByToken(h.Ctx, "root", "ci", nil, strconv.Itoa(i))
			if err != nil {
				t.Fatal(err)
			}
			switch i {
			case 0:
				first = secret
			case 1:
				second = secret
			case browsers.Most - 1:
				old, err := s.Find(h.Ctx, first)
				if err == nil {
					err = h.Router.BrowserUsed(h.Ctx, old.ID, old.ExpiresAt)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.Find(h.Ctx, first); err != nil {
			t.Errorf("one that was used since: %v", err)
		}
		if _, err := s.Find(h.Ctx, second); err != browsers.ErrNotSignedIn {
			t.Errorf("the one used longest ago: %v", err)
		}
		if list, err := h.Router.Browsers(h.Ctx, "root"); err != nil || len(list) != browsers.Most {
			t.Errorf("%d browsers, %v", len(list), err)
		}
	})
}
