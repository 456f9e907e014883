package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/api"
	"switchboard/router/core"
	"switchboard/router/files"
)

// Files are attachments.
type Files interface {
	// MaxSize is the largest file that is taken now, in bytes; 0: no limit.
	MaxSize() int64
	// Upload keeps a file that comes before its message. files.ErrTooLarge; tools.ErrFileRefused: nothing can be stored now.
	Upload(ctx context.Context, uploader, name string, r io.Reader) (*files.Attachment, error)
	// Found is an attachment whoever's it is. core.ErrNotFound.
	Found(ctx context.Context, id int64) (*files.Found, error)
	// Read opens the bytes of one, brought here first, whatever its state is then. tools.ErrFileGone.
	Read(ctx context.Context, f *files.Found) (io.ReadSeekCloser, error)
}

const (
	// slowest is how many bytes of an upload have to come in a second, all in all.
	slowest = 8 << 10
	// formRoom is what a form may have around its file, in bytes.
	formRoom = 64 << 10
	// internalHeader has the token of /internal, to which internalScope belongs.
	internalHeader       = "X-Internal-Token"
	internalScope  Scope = "internal"
)

func (a *API) fileCalls() {
	binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	form := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"file": binary}, Required: []string{"file"}}
	a.handle(Call{
		Scope: Messages, Method: http.MethodPost, Path: "/v1/uploads", ID: "upload", Tag: "files",
		Summary: "Bring a file that a message names by its id. It is removed after a day if none does.",
	}, description{
		params: []*huma.Param{param("query", "name", "What the file is called; a form says it itself.")},
		takes:  schemas{"application/octet-stream": binary, "multipart/form-data": form},
		gives:  schemas{"application/json": schemaOf[channels.SessionFile](a, "")}, about: "What is known of it.",
	}, a.upload)
	a.handle(Call{
		Scope: Read, Method: http.MethodGet, Path: "/v1/attachments/{id}", ID: "getAttachment", Tag: "files",
		Summary: "The bytes of a file that came with a message, that one links to, or that was uploaded.",
	}, description{
		params: []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9]+$"}}},
		gives:  schemas{"application/octet-stream": binary}, about: "The file, or the part of it that the Range header asks for.",
	}, a.attachment)
	a.mux.HandleFunc("GET /internal/attachments/{id}/binary", a.internalAttachment) // with HEAD
}

// uploader is who a caller is to the files that they bring.
func (c *Caller) uploader() string {
	if c.Local {
		return "local"
	}
	return "token:" + c.Token
}

// upload takes a file in.
func (a *API) upload(w http.ResponseWriter, r *http.Request) error {
	file, err := a.uploaded(w, r)
	if err != nil {
		return err
	}
	kept, err := a.Files.Upload(r.Context(), CallerOf(r.Context()).uploader(), file.name, file)
	_ = file.out.SetReadDeadline(time.Now().Add(bodyWait)) // for what a form has behind it
	if err == nil {
		api.Reply(w, http.StatusCreated, channels.SessionFile{ID: kept.ID, Name: kept.Name, Type: kept.Type, Size: kept.Size, State: kept.State})
		return nil
	}
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large, errors.Is(err, files.ErrTooLarge):
		return a.tooLarge()
	case file.err != nil:
		return api.Failed(http.StatusBadRequest, "send it again", "the file did not come whole")
	case errors.Is(err, tools.ErrFileRefused):
		return api.Failed(http.StatusServiceUnavailable, "", "%v", err)
	}
	return err
}

func (a *API) tooLarge() error {
	return api.Failed(http.StatusRequestEntityTooLarge, "files.max_size is the limit", "the file is larger than %d bytes", a.Files.MaxSize())
}

// uploaded is the file in a call: the body, or the field "file" of a form. What is too large by its length is refused unread.
func (a *API) uploaded(w http.ResponseWriter, r *http.Request) (*upload, error) {
	mediaType, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	limit, form := a.Files.MaxSize(), mediaType == "multipart/form-data"
	file := &upload{name: r.URL.Query().Get("name"), in: r.Body, out: http.NewResponseController(w)}
	if limit > 0 {
		file.until = time.Now().Add(bodyWait + time.Duration(limit/slowest)*time.Second)
		if form {
			limit += formRoom
		}
		if r.ContentLength > limit {
			return nil, a.tooLarge()
		}
		file.in = http.MaxBytesReader(w, r.Body, limit)
	}
	if form {
		body := *file
		for parts := multipart.NewReader(&body, params["boundary"]); ; {
			part, err := parts.NextPart()
			if err != nil {
				return nil, api.Failed(http.StatusBadRequest, "curl -F file=@NAME sends one", "the form has no field %q", "file")
			}
			if part.FormName() == "file" {
				file.in, file.name = part, cmp.Or(part.FileName(), file.name)
				break
			}
		}
	}
	file.name = cmp.Or(file.name, "file")
	return file, nil
}

// An upload is read for as long as it comes, but not slower than slowest.
type upload struct {
	name  string
	in    io.Reader
	out   *http.ResponseController
	until time.Time // it has to be whole; zero: whenever
	err   error     // that ended it
}

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	next := time.Now().Add(bodyWait)
	if !u.until.IsZero() && next.After(u.until) {
		next = u.until
	}
	_ = u.out.SetReadDeadline(next) // not every connection has one
	n, err := u.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		u.err = err
	}
	return n, err
}

// found is the attachment that a call names.
func (a *API) found(r *http.Request) (*files.Found, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return nil, core.ErrNotFound
	}
	return a.Files.Found(r.Context(), id)
}

// attachment answers with the bytes of a file.
func (a *API) attachment(w http.ResponseWriter, r *http.Request) error {
	c := CallerOf(r.Context())
	f, err := a.found(r)
	if err == nil && f.Uploader != c.uploader() && !c.Has(Admin) {
		_, err = a.readable(r.Context(), c, place{key: f.Session})
	}
	if err != nil {
		return err
	}
	return Deliver(w, r, a.Files, f, false)
}

// internalAttachment answers a program beside this one, which judges by itself what it does with a file that is held back.
func (a *API) internalAttachment(w http.ResponseWriter, r *http.Request) {
	err := CallerOf(r.Context()).may(internalScope)
	if err == nil {
		var f *files.Found
		if f, err = a.found(r); err == nil {
			err = Deliver(w, r, a.Files, f, true)
		}
	}
	if err != nil {
		a.refuse(w, r, err)
	}
}

// Deliver answers with the bytes of a file; an error: it answered nothing. Held: also one that is held back.
func Deliver(w http.ResponseWriter, r *http.Request, from Files, f *files.Found, held bool) error {
	quarantined := func() error {
		if held || f.State != files.AttachmentQuarantined {
			return nil
		}
		return api.Failed(http.StatusForbidden, "", "the file is held back: %s", f.Reason)
	}
	if err := quarantined(); err != nil {
		return err
	}
	bytes, err := from.Read(r.Context(), f)
	if errors.Is(err, tools.ErrFileGone) {
		return api.Failed(http.StatusNotFound, "", "the file is not kept any more")
	} else if err != nil {
		return err
	}
	defer bytes.Close()
	if err := quarantined(); err != nil {
		return err
	}
	h, how := w.Header(), "attachment"
	if Showable(f.Type) && f.State == files.AttachmentClean {
		how = "inline"
	}
	h.Set("Content-Type", cmp.Or(f.Type, "application/octet-stream"))
	h.Set("Content-Disposition", cmp.Or(mime.FormatMediaType(how, map[string]string{"filename": f.Name}), how))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", `"`+f.Blob+`"`)
	if held {
		h.Set("X-Attachment-Status", f.State)
		h.Set("X-Attachment-Size", strconv.FormatInt(f.Size, 10))
	}
	out := &slowly{ResponseWriter: w, out: http.NewResponseController(w)}
	http.ServeContent(out, r, "", time.Time{}, bytes)
	if out.beyond {
		return api.Failed(http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("the file has %d bytes", f.Size), "the file does not have that range")
	}
	return nil
}

// Showable says whether a browser may show a file of that type in its place: it is a picture made of dots, sound or film.
func Showable(mediaType string) bool {
	family, kind, _ := strings.Cut(mediaType, "/")
	return family == "image" && !strings.HasPrefix(kind, "svg") || family == "audio" || family == "video"
}

// slowly writes to a client for as long as that reads.
type slowly struct {
	http.ResponseWriter
	out    *http.ResponseController
	beyond bool // a range was asked for that is not there: nothing is written
}

// WriteHeader implements http.ResponseWriter.
func (w *slowly) WriteHeader(status int) {
	if w.beyond = status == http.StatusRequestedRangeNotSatisfiable; !w.beyond {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (w *slowly) Write(p []byte) (int, error) {
	if w.beyond {
		return len(p), nil
	}
	_ = w.out.SetWriteDeadline(time.Now().Add(bodyWait)) // not every connection has one
	return w.ResponseWriter.Write(p)
}

// attached is an upload as a message has it.
func attached(f *files.Attachment) channels.Attachment {
	return channels.Attachment{Upload: f.ID, Kind: f.Kind, Name: f.Name, Type: f.Type, Size: f.Size}
}

// uploads are the files that a message names by their ids, of those that the caller brought; whoever runs the program may
// name any.
func (a *API) uploads(ctx context.Context, c *Caller, ids []string) (list []*files.Found, err error) {
	for _, text := range ids {
		id, _ := strconv.ParseInt(text, 10, 64)
		f, err := a.Files.Found(ctx, id)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return nil, err
		}
		if err != nil || f.Uploader == "" || f.Uploader != c.uploader() && !c.Local || f.State == files.AttachmentGone {
			return nil, api.Failed(http.StatusNotFound, "POST /v1/uploads gives an id", "attachments: there is no upload %.40q of yours", text)
		}
		list = append(list, f)
	}
	return list, nil
}
