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
	s.mux.HandleFunc("GET /secrets", s.forAdmins(s.secrets))
	s.mux.HandleFunc("POST /secrets/set", s.forAdmins(s.setSecret))
	s.mux.HandleFunc("POST /secrets/remove", s.forAdmins(s.removeSecret))
}

// A secretRow is a secret in the list. Its value is nowhere.
type secretRow struct {
	settings.Secret
	By []string // settings
}

func (s *Site) secrets(w http.ResponseWriter, r *http.Request) {
	list, err := s.SecretList.Secrets(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	rows := make([]secretRow, len(list))
	for i, one := range list {
		one.Ciphertext = nil
		rows[i] = secretRow{one, s.Secrets.UsedBy(one.Name)}
	}
	s.page(w, r, "secrets", "Secrets", "secrets", rows)
}

// setSecret stores a value, sealed. What goes wrong is said without it.
func (s *Site) setSecret(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSpace(r.PostFormValue("name"))
	err := settings.CheckSecretName(name)
	var sealed []byte
	if err == nil {
		sealed, err = s.Secrets.Seal(secrets.Secret(strings.TrimRight(r.PostFormValue("value"), "\r\n")))
	}
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, "Nothing was stored: "+err.Error()+".")
		return
	}
	c := &settings.SecretChange{Kind: settings.SetSecret, Name: name, Ciphertext: sealed}
	if tools := listed(r.PostFormValue("tools")); len(tools) > 0 {
		c.Tools = tools
	}
	s.led(w, r, "/secrets", s.Changer.Change(r.Context(), c, visitorOf(r).actor()))
}

func (s *Site) removeSecret(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("name")
	c, err := settings.SecretRemoval(name, s.Secrets.UsedBy(name))
	if err == nil {
		err = s.Changer.Change(r.Context(), c, visitorOf(r).actor())
	}
	if errors.Is(err, core.ErrNotFound) {
		err = &core.StateError{Sentence: "There is no secret of that name."}
	}
	s.led(w, r, "/secrets", err)
}
