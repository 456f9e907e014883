package web

import (
	"errors"
	"net/http"
	"strings"

	"switchboard/internal/secrets"
	"switchboard/router/core"
	"switchboard/router/settings"
)

func (s *Site) secretPages() {
	s.menu = append(s.menu, entry{Name: "secrets", Path: "/secrets", Label: "Secrets", Admin: true})
	s.onlyAdmins("GET /secrets", s.secrets)
	s.onlyAdmins("POST /secrets/set", s.setSecret)
	s.onlyAdmins("POST /secrets/remove", s.removeSecret)
}

// A secretRow is a secret in the list. Its value is nowhere.
type secretRow struct {
	settings.Secret
	By []string // settings
}

func (s *Site) secrets(w http.ResponseWriter, r *http.Request) error {
	list, err := s.SecretList.Secrets(r.Context())
	if err != nil {
		return err
	}
	rows := make([]secretRow, len(list))
	for i, one := range list {
		one.Ciphertext = nil
		rows[i] = secretRow{one, s.Secrets.UsedBy(one.Name)}
	}
	return s.show(w, r, "secrets", "Secrets", "secrets", rows)
}

// setSecret stores a value, sealed. What goes wrong is said without it.
func (s *Site) setSecret(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimSpace(r.PostFormValue("name"))
	err := settings.CheckSecretName(name)
	var sealed []byte
	if err == nil {
		sealed, err = s.Secrets.Seal(secrets.Secret(strings.TrimRight(r.PostFormValue("value"), "\r\n")))
	}
	if err != nil {
		return wrong("Nothing was stored: " + err.Error() + ".")
	}
	c := &settings.SecretChange{Kind: settings.SetSecret, Name: name, Ciphertext: sealed}
	if tools := listed(r.PostFormValue("tools")); len(tools) > 0 {
		c.Tools = tools
	}
	return s.led(w, r, "/secrets", s.Changer.Change(r.Context(), c, visitorOf(r).actor()))
}

func (s *Site) removeSecret(w http.ResponseWriter, r *http.Request) error {
	name := r.PostFormValue("name")
	c, err := settings.SecretRemoval(name, s.Secrets.UsedBy(name))
	if err == nil {
		err = s.Changer.Change(r.Context(), c, visitorOf(r).actor())
	}
	if errors.Is(err, core.ErrNotFound) {
		err = &core.StateError{Sentence: "There is no secret of that name."}
	}
	return s.led(w, r, "/secrets", err)
}
