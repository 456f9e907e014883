package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels"
)

// pictures are the types that the platform shows as photos.
//
// Source: https://core.telegram.org/bots/api#sendphoto.
var pictures = []string{"image/jpeg", "image/png", "image/webp"}

func isPicture(f channels.File) bool { return f.Size <= maxPhoto && slices.Contains(pictures, f.Type) }

// sendFiles sends the files of a part: one as a photo or document, several as an
// album. Pictures that the platform takes for no photo (by their sides) go as
// documents.
func (c *Client) sendFiles(ctx context.Context, out channels.Outbound) (channels.MessageID, error) {
	files := out.Body.Files
	asPhotos := !slices.ContainsFunc(files, func(f channels.File) bool { return !isPicture(f) })
	id, err := c.upload(ctx, out, asPhotos)
	if asPhotos && (said(err, "photo_") || said(err, "image_process_failed") || said(err, "wrong type of the web page")) {
		id, err = c.upload(ctx, out, false)
	}
	return id, err
}

// upload opens the files and makes one call with them.
func (c *Client) upload(ctx context.Context, out channels.Outbound, asPhotos bool) (channels.MessageID, error) {
	op := "sendDocument"
	switch {
	case len(out.Body.Files) > 1:
		op = "sendMediaGroup"
	case asPhotos:
		op = "sendPhoto"
	}
	at, err := placeOf(op, out.Conversation)
	if err != nil {
		return "", err
	}
	list, err := entities(op, out.Body)
	if err != nil {
		return "", err
	}
	if len(out.Body.Files) > maxAlbum {
		return "", &channels.RefusedError{Op: op, Reason: fmt.Sprintf("it has more than %d files", maxAlbum)}
	}
	streams, err := open(out)
	defer func() {
		for _, s := range streams {
			_ = s.Close()
		}
	}()
	if err != nil {
		return "", &channels.RefusedError{Op: op, Reason: err.Error()}
	}
	x, err := c.exchange(ctx, op, at.chat, uploadTimeout, post(op, at, out, list, streams, asPhotos))
	for _, s := range streams {
		if failed := s.failed(); failed != nil && (x.reply == nil || !x.reply.OK) {
			return "", &channels.RefusedError{Op: op, Reason: failed.Error()} // a body without its end is not taken
		}
	}
	if err != nil {
		return "", c.defect(ctx, out.Body, list, err)
	}
	return sentID(op, x)
}

// post is the call op.
func post(op string, at place, out channels.Outbound, list []models.MessageEntity, streams []*stream, asPhotos bool) call {
	body, reply := out.Body, replying(out.ReplyTo)
	switch op {
	case "sendPhoto":
		return with((*bot.Bot).SendPhoto, &bot.SendPhotoParams{
			ChatID: at.chat, MessageThreadID: at.topic, Photo: streams[0].input(), Caption: body.Text,
			CaptionEntities: list, ReplyParameters: reply, ReplyMarkup: markup(body.Buttons),
		})
	case "sendDocument":
		return with((*bot.Bot).SendDocument, &bot.SendDocumentParams{
			ChatID: at.chat, MessageThreadID: at.topic, Document: streams[0].input(), Caption: body.Text,
			CaptionEntities: list, ReplyParameters: reply, ReplyMarkup: markup(body.Buttons),
			DisableContentTypeDetection: true,
		})
	}
	media := make([]models.InputMedia, len(streams))
	for i, s := range streams {
		media[i] = s.media(asPhotos, i, body.Text, list)
	}
	return with((*bot.Bot).SendMediaGroup, &bot.SendMediaGroupParams{
		ChatID: at.chat, MessageThreadID: at.topic, Media: media, ReplyParameters: reply,
	})
}

// A stream is a file on its way out.
type stream struct {
	io.ReadCloser
	name string // unique in its message, and plain: it is also a part's name in the form
	err  atomic.Pointer[error]
}

// open opens all files of a part before anything of it leaves.
func open(out channels.Outbound) (streams []*stream, err error) {
	if out.Open == nil {
		return nil, errors.New("its files cannot be opened")
	}
	names := map[string]bool{}
	for _, f := range out.Body.Files {
		r, err := out.Open(f)
		if err != nil {
			return streams, fmt.Errorf("open %q: %w", f.Name, err)
		}
		s := &stream{ReadCloser: r, name: plainName(f.Name)}
		for n := 2; names[s.name]; n++ {
			ext := path.Ext(s.name)
			s.name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(plainName(f.Name), ext), n, ext)
		}
		names[s.name] = true
		streams = append(streams, s)
	}
	return streams, nil
}

// Read notes a fault of the file itself.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("read %q: %w", s.name, err)
		s.err.Store(&err)
	}
	return n, err
}

func (s *stream) failed() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *stream) input() models.InputFile {
	return &models.InputFileUpload{Filename: s.name, Data: s}
}

// media is the file as the i-th of an album; the first one bears the text.
func (s *stream) media(photo bool, i int, caption string, list []models.MessageEntity) models.InputMedia {
	if i > 0 {
		caption, list = "", nil
	}
	if photo {
		return &models.InputMediaPhoto{Media: "attach://" + s.name, Caption: caption, CaptionEntities: list, MediaAttachment: s}
	}
	return &models.InputMediaDocument{
		Media: "attach://" + s.name, Caption: caption, CaptionEntities: list,
		DisableContentTypeDetection: true, MediaAttachment: s,
	}
}

// mostName is how long a file's name may be, in bytes, its extension included.
const mostName = 200

// plainName is a file's name with what a form, a folder or a reader might take amiss
// replaced, and no longer than mostName.
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

// Fetch implements channels.Fetcher. The platform hands out files of up to 20 MB.
//
// Source: https://core.telegram.org/bots/api#getfile.
func (c *Client) Fetch(ctx context.Context, file channels.Attachment, w io.Writer) error {
	type place struct {
		Path string `json:"file_path"`
	}
	at, err := ask[place](ctx, c, "getFile", with((*bot.Bot).GetFile, &bot.GetFileParams{FileID: file.ID}))
	if err != nil {
		return err
	}
	const op = "download"
	if at.Path == "" || strings.HasPrefix(at.Path, "/") {
		return &channels.RefusedError{Op: op, Reason: "the platform names no path to load it from (a Bot API server in local mode keeps files on its own disk)"}
	}
	acc, err := c.open()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	parts := strings.Split(at.Path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	address := c.api + "/file/bot" + acc.secret.Reveal() + "/" + strings.Join(parts, "/")
	return c.download(ctx, op, address, w)
}

func (c *Client) download(ctx context.Context, op, address string, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return &scrubbed{op + ": " + c.scrub(err.Error()), nil}
	}
	resp, err := c.wire.transport.RoundTrip(req)
	if err != nil {
		return &scrubbed{op + ": " + c.scrub(err.Error()), []error{err}}
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
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}
