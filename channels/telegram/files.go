package telegram

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"switchboard/channels"
	"switchboard/channels/wire"
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
	list, err := wire.Rich[[]models.MessageEntity](op, out.Body)
	if err != nil {
		return "", err
	}
	files, err := open(out)
	if err != nil {
		return "", wire.Refuse(op, err)
	}
	defer files.Close()
	x, err := c.exchange(ctx, op, at.chat, wire.UploadTimeout, post(op, at, out, list, files, asPhotos))
	if fault := files.Fault(); fault != nil && (x.reply == nil || !x.reply.OK) {
		return "", wire.Refuse(op, fault) // a body without its end is not taken
	}
	if err != nil {
		return "", c.defect(ctx, out.Body, list, err)
	}
	return sentID(op, x)
}

// post is the call op.
func post(op string, at place, out channels.Outbound, list []models.MessageEntity, files wire.Files, asPhotos bool) call {
	body, reply := out.Body, replying(out.ReplyTo)
	switch op {
	case "sendPhoto":
		return wire.With((*bot.Bot).SendPhoto, &bot.SendPhotoParams{
			ChatID: at.chat, MessageThreadID: at.topic, Photo: input(files[0]), Caption: body.Text,
			CaptionEntities: list, ReplyParameters: reply, ReplyMarkup: markup(body.Buttons),
		})
	case "sendDocument":
		return wire.With((*bot.Bot).SendDocument, &bot.SendDocumentParams{
			ChatID: at.chat, MessageThreadID: at.topic, Document: input(files[0]), Caption: body.Text,
			CaptionEntities: list, ReplyParameters: reply, ReplyMarkup: markup(body.Buttons),
			DisableContentTypeDetection: true,
		})
	}
	album := make([]models.InputMedia, len(files))
	for i, f := range files {
		album[i] = media(f, asPhotos, i, body.Text, list)
	}
	return wire.With((*bot.Bot).SendMediaGroup, &bot.SendMediaGroupParams{
		ChatID: at.chat, MessageThreadID: at.topic, Media: album, ReplyParameters: reply,
	})
}

// open opens the files of a part. Their names are unique: they are also parts' names in the
// form.
func open(out channels.Outbound) (wire.Files, error) {
	files, err := wire.Open(out, maxAlbum)
	names := map[string]bool{}
	for _, f := range files {
		ext := path.Ext(f.Name)
		base := strings.TrimSuffix(f.Name, ext)
		for n := 2; names[f.Name]; n++ {
			f.Name = fmt.Sprintf("%s-%d%s", base, n, ext)
		}
		names[f.Name] = true
	}
	return files, err
}

func input(f *wire.File) models.InputFile {
	return &models.InputFileUpload{Filename: f.Name, Data: f}
}

// media is the file as the i-th of an album; the first one bears the text.
func media(f *wire.File, photo bool, i int, caption string, list []models.MessageEntity) models.InputMedia {
	if i > 0 {
		caption, list = "", nil
	}
	if photo {
		return &models.InputMediaPhoto{Media: "attach://" + f.Name, Caption: caption, CaptionEntities: list, MediaAttachment: f}
	}
	return &models.InputMediaDocument{
		Media: "attach://" + f.Name, Caption: caption, CaptionEntities: list,
		DisableContentTypeDetection: true, MediaAttachment: f,
	}
}

// Fetch implements channels.Fetcher. The platform hands out files of up to 20 MB.
//
// Source: https://core.telegram.org/bots/api#getfile.
func (c *Client) Fetch(ctx context.Context, file channels.Attachment, w io.Writer) error {
	type place struct {
		Path string `json:"file_path"`
	}
	at, err := ask[place](ctx, c.api, "getFile", wire.With((*bot.Bot).GetFile, &bot.GetFileParams{FileID: file.ID}))
	if err != nil {
		return err
	}
	const op = "download"
	if at.Path == "" || strings.HasPrefix(at.Path, "/") {
		return &channels.RefusedError{Op: op, Reason: "the platform names no path to load it from (a Bot API server in local mode keeps files on its own disk)"}
	}
	login, err := c.Login()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	parts := strings.Split(at.Path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	address := c.API + "/file/bot" + login.Token.Reveal() + "/" + strings.Join(parts, "/")
	return c.Wire.Download(ctx, address, nil, w, nil)
}
