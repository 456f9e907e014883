package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// attachments are the tools attachment.read, attachment.save and workspace.publish.
type attachments struct {
	files
	Files
}

// taintFile marks what is read from a file that a person sent: nobody knows who
// wrote it.
const taintFile Taint = "file"

func (w attachments) readAttachment(ctx context.Context, call Call, args struct {
	ID     string
	Offset int64
	Limit  int
},
) Result {
	file, body, err := w.Open(ctx, call.Session, args.ID)
	if err != nil {
		return fileFault(args.ID, err)
	}
	defer body.Close()
	res := readPiece(file, body, args.Offset, cmp.Or(args.Limit, maxReadBytes))
	res.Taint = file.Taint.Join(taintFile) // its name is outside text as well
	return res
}

// readPiece reads limit bytes of a text from offset on, in whole characters, and
// says where to go on.
func readPiece(file File, body io.Reader, offset int64, limit int) Result {
	start, err := io.ReadAll(io.LimitReader(body, binaryLookHead))
	if err != nil {
		return failed("io", "", "attachment %s: %v", file.ID, plain(err))
	}
	as := encodingOf(start)
	if as == nil {
		return refused("not_text", "say so; where exec is permitted, attachment.save and a program for this kind of file may help",
			"%q is %s (%s, %d bytes)", file.Name, kindOf(file.Type), file.Type, file.Size)
	}
	offset = as.align(offset)
	if offset >= file.Size && offset > 0 {
		return Result{End: EndOK, Output: fmt.Sprintf("[the file ends before offset %d: it has %d bytes]\n", offset, file.Size)}
	}
	text := io.MultiReader(bytes.NewReader(start), body)
	if _, err := io.CopyN(io.Discard, text, offset); err != nil && !errors.Is(err, io.EOF) {
		return failed("io", "", "attachment %s: %v", file.ID, plain(err))
	}
	raw, err := io.ReadAll(io.LimitReader(text, int64(limit)+1))
	if err != nil {
		return failed("io", "", "attachment %s: %v", file.ID, plain(err))
	}
	more := len(raw) > limit
	if more {
		raw = raw[:as.whole(raw[:limit])]
	}
	out := as.decode(raw, offset == 0)
	if more {
		next := offset + int64(len(raw))
		out = joinMark(out, fmt.Sprintf("[%d bytes more: go on with offset %d]", file.Size-next, next), "")
	}
	return Result{End: EndOK, Output: out}
}

// kindOf says what a file is that cannot be read as text.
func kindOf(mediaType string) string {
	const office = "an office document; its text cannot be read here"
	const archive = "an archive; what is in it cannot be read here"
	for _, kind := range [][2]string{
		{"application/pdf", "a PDF document; its text cannot be read here"},
		{"image/", "an image; what it shows cannot be read here"},
		{"audio/", "a sound recording; it cannot be listened to here"},
		{"video/", "a video; it cannot be watched here"},
		{"officedocument", office},
		{"opendocument", office},
		{"ms-", office},
		{"application/msword", office},
		{"zip", archive},
		{"compressed", archive},
		{"application/x-tar", archive},
	} {
		if strings.Contains(mediaType, kind[0]) {
			return kind[1]
		}
	}
	return "not a text"
}

func (w attachments) save(ctx context.Context, call Call, args struct{ ID, Path, Mode string }) Result {
	root, name, fault := enterFile(call.Workspace, args.Path)
	if fault != nil {
		return *fault
	}
	defer root.Close()
	if _, fault := w.former(root, name, args.Mode); fault != nil {
		return *fault
	}
	file, body, err := w.Open(ctx, call.Session, args.ID)
	if err != nil {
		return fileFault(args.ID, err)
	}
	defer body.Close()
	if fault := w.room(ctx, root, name, file.Size); fault != nil {
		return *fault
	}
	call.Taint = file.Taint.Join(taintFile)
	if err := store(ctx, root, name, body, call, false); err != nil {
		return ioFault(name, err)
	}
	return Result{End: EndOK, Taint: call.Taint, Output: fmt.Sprintf("saved %s: %d bytes, %s\n", name, file.Size, file.Type)}
}

func (w attachments) publish(ctx context.Context, call Call, args struct{ Path string }) Result {
	root, name, fault := enter(call.Workspace, args.Path)
	if fault != nil {
		return *fault
	}
	defer root.Close()
	body, info, fault := openRegular(root, name)
	if fault != nil {
		return *fault
	}
	defer body.Close()
	if info.Size() == 0 {
		return refused("empty_file", "write something into it first, or say in words that there is nothing in it",
			"%s is empty, and a message cannot send an empty file", name)
	}
	taint := readLedger(call.Workspace).of(name)
	file, err := w.Publish(ctx, call.Session, path.Base(name), taint, body)
	if err != nil {
		res := fileFault(name, err)
		res.Taint = taint
		return res
	}
	return Result{End: EndOK, Taint: taint, Output: fmt.Sprintf(
		"published %s as attachment %s: %d bytes, %s\nA msg sends it with this link: [%s](attachment:%s)\n",
		name, file.ID, file.Size, file.Type, linkText.Replace(file.Name), file.ID)}
}

// linkText keeps a name from ending the link's text.
var linkText = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, "`", "\\`", "\n", " ")

// fileFault is the result of a file that was not handed out. Why may be said in
// words of others.
func fileFault(id string, err error) Result {
	var res Result
	switch {
	case errors.Is(err, ErrNoFile):
		return refused("no_attachment", "use an id that stands under Attachments", "there is no attachment %q here", id)
	case errors.Is(err, ErrFileRefused):
		res = refused("file_refused", "tell the person why; asking again will not help", "%s: %v", id, err)
	case errors.Is(err, ErrFileGone):
		res = failed("file_gone", "ask the person to send it again", "%s: %v", id, err)
	default: // the details are the operator's
		res = failed("unavailable", "try once more, then tell the person", "%s: the file could not be brought here just now", id)
	}
	res.Taint = taintFile
	return res
}

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
