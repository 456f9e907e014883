package store_test

import (
	"errors"
	"reflect"
	"testing"

	"switchboard/router/ledger"
)

// promise: P6.encrypted
func TestSecretsAreSetReplacedAndRemoved(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		change := func(c ledger.SecretChange) error {
			return h.Router.Change(h.Ctx, &c, ledger.OwnerHand("owner"))
		}
		set := func(name, sealed string, tools ...string) {
			t.Helper()
			if err := change(ledger.SecretChange{Kind: ledger.SetSecret, Name: name, Ciphertext: []byte(sealed), Tools: tools}); err != nil {
				t.Fatal(err)
			}
		}
		set("zeta", "sealed-first-of-zeta", "http.*")
		set("alpha", "sealed\x00alpha")
		set("zeta", "sealed-second-of-zeta")
		list, err := h.Router.Secrets(h.Ctx)
		if err != nil || len(list) != 2 {
			t.Fatalf("%+v: %v", list, err)
		}
		for i, want := range []ledger.Secret{
			{Name: "alpha", Ciphertext: []byte("sealed\x00alpha"), Tools: []string{}, Person: "owner", Version: 1},
			{Name: "zeta", Ciphertext: []byte("sealed-second-of-zeta"), Tools: []string{"http.*"}, Person: "owner", Version: 2},
		} {
			if list[i].At.IsZero() {
				t.Errorf("%s was set at no time", want.Name)
			}
			if want.At = list[i].At; !reflect.DeepEqual(list[i], want) {
				t.Errorf("%+v, want %+v", list[i], want)
			}
		}
		if err := change(ledger.SecretChange{Kind: ledger.RemoveSecret, Name: "zeta"}); err != nil {
			t.Fatal(err)
		}
		if err := change(ledger.SecretChange{Kind: ledger.RemoveSecret, Name: "zeta"}); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
		h.wantCount(1, "SELECT count(*) FROM secrets")
		h.wantCount(3, "SELECT count(*) FROM audit WHERE action = 'secret.set' AND person = 'owner' AND data NOT LIKE '%sealed%'")
		h.wantCount(1, "SELECT count(*) FROM audit WHERE action = 'secret.remove' AND target = 'secret zeta'")
		if err := h.DB.EmptyLog(h.Ctx); err != nil {
			t.Fatal(err)
		}
		if path := h.DB.Path(); path != "" { // what was replaced is overwritten
			checkFiles(t, path, "sealed-first")
			checkFiles(t, path, "sealed-second")
		}
	})
}
