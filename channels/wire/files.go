package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"unicode"

	"switchboard/channels"
)

// mostName is how long a file's name may be, in bytes, its extension included.
const mostName = 200

// PlainName is a file's name with what a form, a folder or a reader might take amiss
// replaced, and no longer than 200 bytes; "file" for one of which nothing is left.
func PlainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || strings.ContainsRune("/\\\"<>|:*?\ufffd", r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = cmp.Or(strings.Trim(name, ". "), "file")
	if len(name) <= mostName {
		return name
	}
	ext := path.Ext(name)
	if len(ext) > mostName/4 {
		ext = ""
	}
	return strings.TrimRight(strings.ToValidUTF8(name[:mostName-len(ext)], ""), ". ") + ext
}

// A File is one on its way out.
type File struct {
	io.ReadCloser
	Name  string // plain
	fault atomic.Pointer[error]
}

// Read notes a fault of the file itself.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read %q: %w", f.Name, err)
		f.fault.Store(&err)
	}
	return n, err
}

// Files are those of one part.
type Files []*File

// Open opens the files of a part, of which there may be most, before anything of it leaves.
// Without an error the caller closes them.
func Open(out channels.Outbound, most int) (files Files, err error) {
	switch {
	case len(out.Body.Files) > most:
		return nil, fmt.Errorf("it has more than %d files", most)
	case out.Open == nil:
		return nil, errors.New("its files cannot be opened")
	}
	for _, f := range out.Body.Files {
		r, err := out.Open(f)
		if err != nil {
			files.Close()
			return nil, fmt.Errorf("open %q: %w", f.Name, err)
		}
		files = append(files, &File{ReadCloser: r, Name: PlainName(f.Name)})
	}
	return files, nil
}

// Close closes all.
func (fs Files) Close() {
	for _, f := range fs {
		_ = f.Close()
	}
}

// Fault is why one of them could not be read; nil: it is no file's fault.
func (fs Files) Fault() error {
	for _, f := range fs {
		if err := f.fault.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// Download writes to w what is at address, asked for with header, which may be nil. refuses,
// if any, says by the answer's header that it is not the file. An answer that is final is a
// channels.RefusedError, or channels.ErrUnauthorized; what may be tried again is another
// error.
func (t *Transport) Download(ctx context.Context, address string, header http.Header, w io.Writer, refuses func(http.Header) error) error {
	const op = "download"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return Hidden(op+": "+Plainly(err), err)
	}
	if header != nil {
		req.Header = header
	}
	resp, err := t.http.RoundTrip(req)
	if err != nil {
		return Hidden(op+": "+Plainly(err), err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w", op, channels.ErrUnauthorized)
	case resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%s: the answer is %d", op, resp.StatusCode) // its words may repeat the address
	default:
		return &channels.RefusedError{Op: op, Reason: fmt.Sprintf("the answer is %d", resp.StatusCode)}
	}
	if refuses != nil {
		if err := refuses(resp.Header); err != nil {
			return &channels.RefusedError{Op: op, Reason: err.Error()}
		}
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// KindOf is what a person would call a file of a media type.
func KindOf(mediaType string) channels.AttachmentKind {
	kind, _, _ := strings.Cut(mediaType, "/")
	return cmp.Or(kinds[kind], channels.Document)
}

var kinds = map[string]channels.AttachmentKind{"image": channels.Photo, "audio": channels.Audio, "video": channels.Video}
