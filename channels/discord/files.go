package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"unicode"

	"switchboard/channels"
)

// A form is a body that is streamed: the message and its files.
type form struct {
	contentType string
	body        io.ReadCloser
	fault       *atomic.Pointer[error] // of a file itself
}

func (f form) failed() error {
	if err := f.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// upload opens the files of a part and makes a form of them; done closes all.
//
// Source: https://docs.discord.com/developers/reference#uploading-files.
func (c *Client) upload(p *post, out channels.Outbound) (f form, done func(), err error) {
	if len(out.Body.Files) > maxFiles {
		return f, nil, fmt.Errorf("it has more than %d files", maxFiles)
	}
	if out.Open == nil {
		return f, nil, errors.New("its files cannot be opened")
	}
	var streams []io.ReadCloser
	closeAll := func() {
		for _, s := range streams {
			_ = s.Close()
		}
	}
	p.Attachments = nil
	for i, file := range out.Body.Files {
		s, err := out.Open(file)
		if err != nil {
			closeAll()
			return f, nil, fmt.Errorf("open %q: %w", file.Name, err)
		}
		streams = append(streams, s)
		p.Attachments = append(p.Attachments, attached{i, plainName(file.Name)})
	}
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	f = newForm(form.FormDataContentType(), r)
	written := make(chan struct{})
	go func() {
		defer close(written)
		err := fill(form, p, out.Body.Files, streams)
		if fault, ok := errors.AsType[*fileFault](err); ok {
			f.fault.Store(&fault.error)
		}
		_ = w.CloseWithError(err)
	}()
	return f, func() {
		_ = r.Close()
		<-written
		closeAll()
	}, nil
}

func newForm(contentType string, body io.ReadCloser) form {
	return form{contentType, body, &atomic.Pointer[error]{}}
}

// A fileFault is the fault of a file, not of the way.
type fileFault struct{ error }

// fill writes the form.
func fill(form *multipart.Writer, p *post, files []channels.File, streams []io.ReadCloser) error {
	payload, err := json.Marshal(p)
	if err != nil {
		return err
	}
	header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="payload_json"`}, "Content-Type": {"application/json"}}
	part, err := form.CreatePart(header)
	if err == nil {
		_, err = part.Write(payload)
	}
	for i := 0; err == nil && i < len(streams); i++ {
		header := textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition(fmt.Sprintf("files[%d]", i), plainName(files[i].Name))},
			"Content-Type":        {cmp.Or(files[i].Type, "application/octet-stream")},
		}
		if part, err = form.CreatePart(header); err == nil {
			err = pour(part, streams[i], files[i].Name)
		}
	}
	return cmp.Or(err, form.Close())
}

// pour copies a file, and tells its own faults from those of the way.
func pour(to io.Writer, from io.Reader, name string) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &fileFault{fmt.Errorf("read %q: %w", name, err)}
		}
	}
}

// mostName is how long a file's name may be, in bytes, its extension included.
const mostName = 200

// plainName is a file's name with what a form, a folder or a reader might take amiss replaced,
// and no longer than mostName.
func plainName(name string) string {
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

// Fetch implements channels.Fetcher. The message is asked for a fresh address first: those that
// came with it expire.
//
// Source: https://docs.discord.com/developers/reference#signed-attachment-cdn-urls.
func (c *Client) Fetch(ctx context.Context, a channels.Attachment, w io.Writer) error {
	const op = "download"
	address, err := c.address(ctx, a.ID)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	resp, err := c.wire.transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("%s: %s", op, plainly(err))
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%s: the answer is %d", op, resp.StatusCode)
	default:
		return &channels.RefusedError{Op: op, Reason: fmt.Sprintf("the answer is %d", resp.StatusCode)}
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// address is where a file can be loaded from now.
func (c *Client) address(ctx context.Context, ref string) (string, error) {
	parts := strings.Split(ref, "/")
	var ids [3]snowflake
	for i := range ids {
		if len(parts) != 3 || ids[i].UnmarshalText([]byte(parts[i])) != nil {
			return "", &channels.RefusedError{Op: opMessage, Reason: "there is no such file"}
		}
	}
	m, err := ask[message](ctx, c, about(opMessage, ids[0], "messages", parts[1]), nil)
	switch {
	case errors.Is(err, channels.ErrNoMessage), errors.Is(err, channels.ErrGone):
		return "", &channels.RefusedError{Op: opMessage, Reason: "the message that the file came with is gone"}
	case err != nil:
		return "", err
	}
	files := m.Files
	for _, s := range m.Snapshots {
		files = append(files, s.Message.Files...)
	}
	for _, f := range files {
		if u, err := url.Parse(f.URL); f.ID == ids[2] && err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			return f.URL, nil
		}
	}
	return "", &channels.RefusedError{Op: opMessage, Reason: "the message does not have the file any more"}
}
