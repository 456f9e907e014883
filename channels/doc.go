// Package channels is the contract between the program and a messaging
// platform: the Channel interface, what one can do besides (abilities found by
// type assertion), what a conversation allows (Features), the normalised events
// that come in and the parts that go out, and the errors both sides agree on.
//
// It imports nothing else of this module. One subpackage a platform implements
// Channel; those import this package and channels/render, and never each other.
// The router is the caller.
package channels
