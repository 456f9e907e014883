package tools

import "errors"

// ErrUnsafe is the cause with which the context of a side effect ends when the
// engine's leases could soon be somebody else's: what was begun must stop at once,
// and nobody knows how far it came.
var ErrUnsafe = errors.New("this engine's leases may have run out")
