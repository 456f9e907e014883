package tools

import (
	"context"
	"errors"
)

// ErrUnsafe is the cause with which the context of a side effect ends when the
// engine's leases could soon be somebody else's: what was begun must stop at once,
// and nobody knows how far it came.
var ErrUnsafe = errors.New("this engine's leases may have run out")

// CodeInterrupted is the code of a result whose tool or command was stopped midway
// for ErrUnsafe. It is neither done nor failed: nobody may simply do it again.
const CodeInterrupted = "interrupted"

const (
	hintUnsafe   = "it was stopped because this engine could no longer be sure that the work was its own; nobody knows how far it came, so look before doing it again"
	hintNotBegun = "it was not begun, because this engine could not be sure that the work was its own"
)

// notBegun is the result of what ctx ended before it began.
func notBegun(ctx context.Context) Result {
	if stopKind(ctx) == "lease" {
		return Result{End: EndError, Code: CodeInterrupted, Hint: hintNotBegun}
	}
	return Result{End: EndCancelled, Code: "cancelled"}
}

// stopKind is the outcome of a command that was stopped because ctx ended.
func stopKind(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), ErrUnsafe) {
		return "lease"
	}
	return "cancelled"
}
