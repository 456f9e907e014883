package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"

	"switchboard/channels"
	"switchboard/channels/wire"
)

// A form is a body that is streamed: the message and its files.
type form struct {
	contentType string
	body        io.ReadCloser
	files       wire.Files
}

// upload opens the files of a part and makes a form of them; done closes all.
//
// Source: https://docs.discord.com/developers/reference#uploading-files.
func (c *Client) upload(p *post, out channels.Outbound) (f form, done func(), err error) {
	files, err := wire.Open(out, maxFiles)
	if err != nil {
		return f, nil, err
	}
	p.Attachments = nil
	for i, file := range files {
		p.Attachments = append(p.Attachments, attached{i, file.Name})
	}
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = w.CloseWithError(fill(form, p, files, out.Body.Files))
	}()
	f.contentType, f.body, f.files = form.FormDataContentType(), r, files
	return f, func() {
		_ = r.Close()
		<-written
		files.Close()
	}, nil
}

// fill writes the form.
func fill(form *multipart.Writer, p *post, files wire.Files, about []channels.File) error {
	payload, err := json.Marshal(p)
	if err != nil {
		return err
	}
	header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="payload_json"`}, "Content-Type": {"application/json"}}
	part, err := form.CreatePart(header)
	if err == nil {
		_, err = part.Write(payload)
	}
	for i := 0; err == nil && i < len(files); i++ {
		header := textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition(fmt.Sprintf("files[%d]", i), files[i].Name)},
			"Content-Type":        {cmp.Or(about[i].Type, "application/octet-stream")},
		}
		if part, err = form.CreatePart(header); err == nil {
			_, err = io.Copy(part, files[i])
		}
	}
	if err != nil {
		return err // with its end the form would be taken
	}
	return form.Close()
}

// Fetch implements channels.Fetcher. The message is asked for a fresh address first: those that
// came with it expire.
//
// Source: https://docs.discord.com/developers/reference#signed-attachment-cdn-urls.
func (c *Client) Fetch(ctx context.Context, a channels.Attachment, w io.Writer) error {
	address, err := c.address(ctx, a.ID)
	if err != nil {
		return err
	}
	return c.Wire.Download(ctx, address, nil, w, nil)
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
	m, err := ask[message](ctx, c.api, about(opMessage, ids[0], "messages", parts[1]), nil)
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
