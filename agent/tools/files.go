package tools

import (
	"context"
	"errors"
	"io"
)

// Errors of Files, for the hints that tools give.
var (
	// ErrNoFile: the session has no attachment of that id.
	ErrNoFile = errors.New("there is no attachment of that id here")
	// ErrFileRefused: it is there and may not be handed out; the error says why.
	ErrFileRefused = errors.New("the attachment may not be read")
	// ErrFileGone: neither this program nor the platform has the bytes any more.
	ErrFileGone = errors.New("the attachment's bytes are gone")
)

// Files are a session's attachments; the router's are one.
type Files interface {
	// Open brings an attachment here if it is not, and reads it. The caller closes
	// it. ErrNoFile, ErrFileRefused, ErrFileGone; any other error is temporary.
	Open(ctx context.Context, session Session, id string) (File, io.ReadCloser, error)
	// Publish keeps what r yields as an attachment of the session, which a message
	// can send with a link "attachment:ID". ErrFileRefused.
	Publish(ctx context.Context, session Session, name string, taint Taint, r io.Reader) (File, error)
}

// A File is an attachment as tools see it.
type File struct {
	ID    string
	Name  string
	Type  string // media type, found by content
	Size  int64  // bytes
	Taint Taint
}
