package router

import (
	"context"
	"errors"
	"io"
	"time"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/render"
)

// Attachments are what a message can send along; *FileService is one.
type Attachments interface {
	// Outgoing is the attachment of that id of the session (its key,
	// "channel:conversation") as a part sends it, brought here if it is not. The
	// errors are those of tools.Files.
	Outgoing(ctx context.Context, session, id string) (channels.File, error)
	// Bytes reads a file of a part; the caller closes it.
	Bytes(file channels.File) (io.ReadCloser, error)
}

const (
	outgoingPatience = 30 * time.Second // for one file to be brought here
	outgoingTries    = 3
	noFileNote       = "(file not available)"
	largeFileNote    = "(file too large to send here)"
)

// files finds what goes along with a message, and what to note behind the
// references to files that do not: the name where the channel sends none, or that
// there is no such file.
func (l *line) files(ctx context.Context, session string, refs []render.AttachmentRef, features channels.Features) (files []channels.File, notes map[string]string) {
	notes = map[string]string{}
	for _, ref := range refs {
		file, err := l.outgoing(ctx, session, ref.ID)
		switch {
		case err != nil:
			l.router.Log.WarnContext(ctx, "a file cannot go along", "channel", l.name, "session", session, "attachment", ref.ID, "error", err)
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
func (l *line) outgoing(ctx context.Context, session, id string) (file channels.File, err error) {
	if l.router.Files == nil {
		return file, tools.ErrNoFile
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outgoingPatience)
	defer cancel()
	for range outgoingTries {
		file, err = l.router.Files.Outgoing(ctx, session, id)
		if err == nil || ctx.Err() != nil ||
			errors.Is(err, tools.ErrNoFile) || errors.Is(err, tools.ErrFileRefused) || errors.Is(err, tools.ErrFileGone) {
			break
		}
		sleep(ctx, time.Second)
	}
	return file, err
}

// openFile is how an adapter reads the files of a part; nil when it has none.
func (l *line) openFile(body channels.Body) func(channels.File) (io.ReadCloser, error) {
	if len(body.Files) == 0 {
		return nil
	}
	return func(file channels.File) (io.ReadCloser, error) {
		if l.router.Files == nil {
			return nil, tools.ErrFileGone
		}
		return l.router.Files.Bytes(file)
	}
}
