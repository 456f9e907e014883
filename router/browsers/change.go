package browsers

import "strconv"

// The rules by which a browser is signed in besides "token:" and a token's name, and by which its person is let in then.
const (
	RuleLink = "signin.link" // a link that the program printed
	RuleCode = "signin.code" // a code that the person was sent in a chat
)

// A Change signs a browser in or out, or makes a link that does. Returned by the store where it cannot be done: core.ErrNotFound, where what signs in is not
// good, or there is no such browser.
type Change struct {
	Kind ChangeKind
	// Browser is filled in. To sign in, About, Token and ExpiresAt say what it will be, and Person whose, if Used is nil. To sign out,
	// Person says whose, and ID which one; 0: all.
	// To make a link, Person says whose, and ExpiresAt until when it is good.
	Browser Browser
	Hash    []byte // SignIn: of the browser's secret
	Used    []byte // SignIn: the hash of what is used up for it; nil: nothing. MakeLink: of the link
}

// A ChangeKind is what a Change does.
type ChangeKind string

// The kinds.
const (
	SignIn   ChangeKind = "signin"
	SignOut  ChangeKind = "signout"
	MakeLink ChangeKind = "link"
)

// Names implements core.Change.
func (c *Change) Names() (action, target string) {
	target = "browsers of " + c.Browser.Person
	if c.Kind == MakeLink {
		target = "person " + c.Browser.Person
	} else if c.Browser.ID != 0 {
		target = "browser " + strconv.FormatInt(c.Browser.ID, 10) + " of " + c.Browser.Person
	}
	return "browser." + string(c.Kind), target
}
