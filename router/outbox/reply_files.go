package outbox

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/internal/retry"
)

// Attachments are what a message can send along.
type Attachments interface {
	// Outgoing is the attachment of that id of the session (its key,
	// "channel:conversation") as a part sends it, brought here if it is not. The
	// errors are those of tools.Files.
	Outgoing(ctx context.Context, session, id string) (channels.File, error)
	// Publish keeps a file that the session made, as a tool would; the errors are those
	// of tools.Files.
	Publish(ctx context.Context, session tools.Session, name string, taint tools.Taint, r io.Reader) (tools.File, error)
	// Bytes reads a file of a part; the caller closes it.
	Bytes(file channels.File) (io.ReadCloser, error)
}

const (
	outgoingTimeout = 30 * time.Second // for one file to be brought here
	outgoingTries   = 3
	noFileNote      = "(file not available)"
	largeFileNote   = "(file too large to send here)"
)

// files finds what goes along with a message, and what to note behind the
// references to files that do not: the name where the channel sends none, or that
// there is no such file.
func (c *Composer) files(ctx context.Context, session string, refs []render.AttachmentRef, features channels.Features) (files []channels.File, notes map[string]string) {
	notes = map[string]string{}
	for _, ref := range refs {
		file, err := c.outgoing(ctx, session, ref.ID)
		switch {
		case err != nil:
			c.Log.WarnContext(ctx, "a file cannot go along", "session", session, "attachment", ref.ID, "error", err)
			notes[ref.ID] = noFileNote
		case !features.Files:
			if file.Name != ref.Label {
				notes[ref.ID] = "(" + file.Name + ")"
			}
		case features.MaxFile > 0 && file.Size > features.MaxFile:
			notes[ref.ID] = largeFileNote
		default:
			files = append(files, file)
		}
	}
	return files, notes
}

// outgoing asks for one file, again when the reason not to have it is a passing one.
func (c *Composer) outgoing(ctx context.Context, session, id string) (file channels.File, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outgoingTimeout)
	defer cancel()
	for range outgoingTries {
		file, err = c.Files.Outgoing(ctx, session, id)
		if err == nil || ctx.Err() != nil ||
			errors.Is(err, tools.ErrNoFile) || errors.Is(err, tools.ErrFileRefused) || errors.Is(err, tools.ErrFileGone) {
			break
		}
		retry.Sleep(ctx, time.Second)
	}
	file.Name = c.Mask.Text(file.Name)
	return file, err
}

const (
	wholeName = "answer.md"
	// wholeNote stands under the beginning of an answer. It does not name the file: a
	// platform may take the name for an address.
	wholeNote = "\n\n(The whole answer is in the file below.)"
)

// shorten makes of a reply with too many parts its first one, and returns the files
// that go along with what was said as a file before them. Where that cannot be sent or
// kept both stay as they are.
func (c *Composer) shorten(
	ctx context.Context, reply *Reply, doc *render.Document, session string, say agent.Say, features channels.Features, files []channels.File,
) []channels.File {
	most := c.MaxParts()
	room := features.MaxText - features.Len(wholeNote)
	if most == 0 || len(reply.Parts) <= most || !features.Files || room <= 0 {
		return files
	}
	whole, err := c.KeepText(ctx, session, wholeName, say.Taint, say.Text)
	if err != nil {
		c.Log.WarnContext(ctx, "a long answer is sent in parts; it cannot be kept as a file",
			"session", session, "parts", len(reply.Parts), "error", err)
		return files
	}
	if features.MaxFile > 0 && whole.Size > features.MaxFile {
		return files
	}
	features.MaxText = room
	reply.Parts = []channels.Body{c.Marked(c.parts(doc, features)[0], "", wholeNote)}
	return append([]channels.File{whole}, files...)
}

// KeepText keeps a text, as it was written, as a file of the session.
func (c *Composer) KeepText(ctx context.Context, session, name string, taint tools.Taint, text string) (channels.File, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outgoingTimeout)
	defer cancel()
	kept, err := c.Files.Publish(ctx, tools.Session{ID: session}, name, taint, strings.NewReader(text))
	if err != nil {
		return channels.File{}, err
	}
	return c.Files.Outgoing(ctx, session, kept.ID)
}

// OpenFile is how an adapter reads the files of a part; nil when it has none.
func (c *Composer) OpenFile(body channels.Body) func(channels.File) (io.ReadCloser, error) {
	if len(body.Files) == 0 {
		return nil
	}
	return c.Files.Bytes
}
