package socket

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"switchboard/channels"
	"switchboard/cmd/switchboard/access"
	"switchboard/configs"
	"switchboard/router/settings"
)

// A SettingsAnswer is what a program answers who changes settings.
type SettingsAnswer struct {
	*settings.Plan
	Version *settings.Version `json:"version"` // nil: nothing was changed, for the faults
	Saved   *configs.Saved    `json:"saved,omitempty"`
}

// terminal is where whoever runs the program changes settings: no setting closes it.
var terminal = channels.Conversation{Channel: access.Console}

func (s Server) settingsRoutes(add adder) {
	changes := s.Settings.Changes()
	add("GET /v1/config/diff", func(r *http.Request) (any, error) { return changes.SettingsDiff(r.Context()) })
	add("GET /v1/config/versions", func(r *http.Request) (any, error) { return changes.SettingsVersions(r.Context(), limit(r)) })
	for how, plan := range map[string]func(*http.Request) (*settings.Plan, error){
		"set": func(r *http.Request) (*settings.Plan, error) {
			if err := r.ParseForm(); err != nil {
				return nil, err
			}
			keys, values, set := r.Form["key"], r.Form["value"], map[string]string{}
			for i := range min(len(keys), len(values)) {
				set[keys[i]] = values[i]
			}
			return changes.PlanSettings(r.Context(), terminal, set)
		},
		"unset": func(r *http.Request) (*settings.Plan, error) {
			return changes.PlanSettings(r.Context(), terminal, nil, r.FormValue("key"))
		},
		"undo": func(r *http.Request) (*settings.Plan, error) {
			version, err := strconv.ParseInt(r.FormValue("version"), 10, 64)
			if err != nil {
				return nil, err
			}
			return changes.PlanUndo(r.Context(), terminal, version)
		},
		"confirm": func(*http.Request) (*settings.Plan, error) {
			return &settings.Plan{Change: &settings.Change{Kind: settings.Confirm, Counting: changes.SettingsCounting()}}, nil
		},
	} {
		add("POST /v1/config/"+how, func(r *http.Request) (any, error) {
			p, err := plan(r)
			if err != nil {
				return nil, err
			}
			return s.changeSettings(r.Context(), SettingsAnswer{Plan: p})
		})
	}
	add("POST /v1/config/save", func(r *http.Request) (any, error) {
		saved, change, err := changes.Save(r.Context())
		if err != nil {
			return nil, err
		}
		return s.changeSettings(r.Context(), SettingsAnswer{Plan: &settings.Plan{Change: change}, Saved: &saved})
	})
}

// changeSettings makes the change of an answer, if there is one.
func (s Server) changeSettings(ctx context.Context, a SettingsAnswer) (any, error) {
	if a.Change == nil {
		return a, nil
	}
	err := s.Router.Change(ctx, a.Change, owner)
	a.Version = a.Change.Version
	return a, err
}

// A SecretUse is a secret as it is listed.
type SecretUse struct {
	settings.Secret
	By []string `json:"used_by"` // settings
}

func (s Server) secretRoutes(add adder) {
	add("POST /v1/credentials/{name}", func(r *http.Request) (any, error) {
		name := r.PathValue("name")
		if err := errors.Join(r.ParseForm(), settings.CheckSecretName(name)); err != nil {
			return nil, err
		}
		sealed, err := base64.RawURLEncoding.DecodeString(r.Form.Get("sealed"))
		if err != nil {
			return nil, fmt.Errorf("the secret came garbled: %w", err)
		}
		if _, err := s.Settings.Now().Vault.Open(sealed); err != nil {
			return nil, err
		}
		return s.changeSecret(r.Context(), &settings.SecretChange{Kind: settings.SetSecret, Name: name, Ciphertext: sealed, Tools: r.Form["tool"]})
	})
	add("DELETE /v1/credentials/{name}", func(r *http.Request) (any, error) {
		name := r.PathValue("name")
		c, err := settings.SecretRemoval(name, s.Settings.UsedBy(name))
		if err != nil {
			return nil, err
		}
		return s.changeSecret(r.Context(), c)
	})
}

func (s Server) changeSecret(ctx context.Context, c *settings.SecretChange) (any, error) {
	used := SecretUse{settings.Secret{Name: c.Name}, s.Settings.UsedBy(c.Name)}
	return used, s.Router.Change(ctx, c, owner)
}
