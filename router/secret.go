package router

import (
	"switchboard/router/intake"
	"switchboard/router/settings"
)

// setsSecret says that a command sets a secret, so that what followed it is not merely hidden.
func setsSecret(control *intake.ControlIntent) bool {
	c, ok := control.Change.(*settings.SecretChange)
	return ok && c.Kind == settings.SetSecret
}
