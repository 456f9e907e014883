package tokens

import "switchboard/internal/secrets"

// A Change makes a token or revokes one. Returned by the store where it cannot be done: core.ErrNotFound where there is
// no token of the name, *core.StateError where the name is taken, a person is unknown, or the token is revoked already.
type Change struct {
	Kind ChangeKind
	// Token is what is meant: Name, and to create it Scopes, People and ExpiresAt. It is filled in as it is then.
	Token Token
	// Hash (Create) is that of the secret.
	Hash []byte
	// Secret (Create) is what the caller is shown this once. Nothing keeps it.
	Secret secrets.Secret
}

// A ChangeKind is what a Change does.
type ChangeKind string

const (
	Create ChangeKind = "create"
	Revoke ChangeKind = "revoke"
)

// Names implements core.Change.
func (c *Change) Names() (action, target string) {
	return "token." + string(c.Kind), "token " + c.Token.Name
}
