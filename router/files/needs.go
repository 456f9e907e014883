package files

import (
	"context"
	"errors"
	"io"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
)

// A Store holds what is known of attachments, in and out.
type Store interface {
	// Attachment reads one that belongs to the session (key "channel:conversation").
	// ErrNotFound.
	Attachment(ctx context.Context, session string, id int64) (*Attachment, error)
	// SetAttachment records state, blob, type and size.
	SetAttachment(ctx context.Context, a *Attachment) error
	// AddAttachment stores one that the session made itself, and its ID in a.
	AddAttachment(ctx context.Context, session string, a *Attachment) error
	// Forget marks attachments older than before as gone, at most limit of them. It
	// returns how many it marked, and the blobs that nothing refers to any more.
	Forget(ctx context.Context, before time.Time, limit int) (blobs []string, marked int, err error)
	// ForgetUploads is Forget for uploads that came with no message.
	ForgetUploads(ctx context.Context, before time.Time, limit int) (blobs []string, marked int, err error)
	// AddUpload stores a file that comes before its message, and its ID in a.
	AddUpload(ctx context.Context, uploader string, a *Attachment) error
	// Found reads an attachment whoever's it is. ErrNotFound.
	Found(ctx context.Context, id int64) (*Found, error)
	// Referred says whether any attachment or open delivery refers to blob.
	Referred(ctx context.Context, blob string) (bool, error)
}

// States of attachments.
const (
	AttachmentReferenced  = "referenced"  // at the platform alone
	AttachmentClean       = "clean"       // the bytes are here and passed every check
	AttachmentQuarantined = "quarantined" // the bytes are here and may not be handed out
	AttachmentGone        = "gone"        // the bytes are nowhere any more
)

// An Attachment is a file by reference.
type Attachment struct {
	ID         int64
	Channel    string // of the message it came with
	PlatformID string // the platform's reference; empty: made here
	Kind       channels.AttachmentKind
	Name       string
	Type       string // found by content once it is here; before, as the platform says
	Size       int64  // bytes; 0: not known
	State      string
	Reason     string // quarantined: why
	Blob       string // where the bytes are; empty: not here
	Taint      tools.Taint
}

// Found is an attachment with whose it is.
type Found struct {
	Attachment
	Session  string // the key of the session that it belongs to; empty: to none, or a stranger's
	Uploader string // who brought it here before its message; empty: nobody did
}

// Blobs holds the bytes of attachments, each under a name made of its content.
type Blobs interface {
	// Put stores what fill writes, at most limit bytes (0: no limit; more is
	// ErrTooLarge), and returns its name and size. What is there already is kept once.
	Put(ctx context.Context, limit int64, fill func(w io.Writer) error) (blob string, size int64, err error)
	// Open reads a blob. ErrNotFound.
	Open(blob string) (io.ReadSeekCloser, error)
	// Path is where the blob is on this machine's disk, for a scanner to read.
	Path(blob string) string
	// Remove deletes a blob; one that is not there is no error.
	Remove(blob string) error
	// List names the blobs last used before then.
	List(before time.Time) ([]string, error)
}

// ErrTooLarge is returned by Blobs.Put; nothing was kept.
var ErrTooLarge = errors.New("it is larger than the limit")
