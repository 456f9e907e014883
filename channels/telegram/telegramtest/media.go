package telegramtest

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"path"
	"strings"
)

// maxPhoto is the largest photo, in bytes.
//
// Source: https://core.telegram.org/bots/api#sendphoto
const maxPhoto = 10 << 20

// sendFile is sendDocument, sendPhoto and so on.
func sendFile(kind string) method {
	return func(s *calls, b *Bot, p *params) any {
		out := s.outgoing(b, p)
		caption, entities := p.formatted("caption", "caption_entities", maxCaption)
		m := Message{Caption: caption, CaptionEntities: entities}
		m.put(kind, s.take(kind, kind, p.values[kind], p, "send"+kind))
		return s.deliverOne(b, p, out, m)
	}
}

// take finds the file that a call gives: as the field itself, as attach://FIELD, by its
// URL or by the file_id of one that is here already; an empty one where the call is
// rejected.
func (s *calls) take(kind, field, value string, p *params, page string) *Media {
	name, attached := strings.CutPrefix(value, "attach://")
	if attached {
		field = name
	}
	u, given := p.files[field]
	switch {
	case given:
		return s.uploaded(kind, u, p, page)
	case attached:
		p.fail(bad("inputfile", "there is no field %q with the file", field))
	case value == "":
		p.fail(bad(page, "there is no %s in the request", kind))
	case strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://"):
		f, ok := s.remote[value]
		p.failIf(!ok, "sending-files", "failed to get HTTP URL content")
		return s.uploaded(kind, upload{name: path.Base(value), data: f.Data}, p, page)
	}
	f := s.files[strings.TrimSuffix(value, "s")]
	if p.failIf(f == nil, "sending-files", "wrong file identifier/HTTP URL specified") {
		return &Media{}
	}
	return f.media()
}

// uploaded keeps a file that came with a call, unless the call is rejected.
func (s *calls) uploaded(kind string, u upload, p *params, page string) *Media {
	p.failIf(len(u.data) == 0, "sending-files", "file must be non-empty")
	if len(u.data) > maxUpload {
		p.fail(&Rejection{Code: http.StatusRequestEntityTooLarge, Description: "Request Entity Too Large", Page: docs + "#sending-files"})
	}
	if kind == "photo" {
		p.failIf(len(u.data) > maxPhoto, page, "file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(u.data), maxPhoto)
		p.failIf(!strings.HasPrefix(http.DetectContentType(u.data), "image/"), page, "IMAGE_PROCESS_FAILED")
	}
	if p.wrong != nil {
		return &Media{}
	}
	typ, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(u.name)), ";")
	return s.store(File{Kind: kind, Name: u.name, Type: cmp.Or(typ, "application/octet-stream"), Data: u.data})
}

// inputMedia is one of a media group.
type inputMedia struct {
	Type            string          `json:"type"`
	Media           string          `json:"media"`
	Caption         string          `json:"caption"`
	ParseMode       string          `json:"parse_mode"`
	CaptionEntities json.RawMessage `json:"caption_entities"`
}

func (s *calls) sendMediaGroup(b *Bot, p *params) any {
	const page = "sendmediagroup"
	out := s.outgoing(b, p)
	out.keys = nil // a media group has none
	var media []inputMedia
	p.decode("media", page, &media)
	if len(media) < 2 || len(media) > 10 {
		r := bad(page, "there must be 2-10 items in a media group")
		r.Detail = detail("%d are given", len(media))
		p.fail(r)
	}
	group := s.id()
	var messages []Message
	for _, item := range media {
		m := s.item(item, media[0].Type, p)
		m.MediaGroupID = group
		messages = append(messages, m)
	}
	return s.deliver(b, p, out, messages...)
}

// item makes a message of one of a media group. Documents and audio stand only among
// their like.
func (s *calls) item(i inputMedia, first string, p *params) (m Message) {
	alone := func(typ string) bool { return typ == "document" || typ == "audio" }
	p.failIf(i.Type != "photo" && i.Type != "video" && !alone(i.Type), "inputmedia", "can't parse InputMedia: type %q of the media is wrong", i.Type)
	p.failIf(i.Type != first && (alone(i.Type) || alone(first)), "sendmediagroup", "document and audio can't be mixed with other media types")
	own := &params{values: map[string]string{
		"caption": i.Caption, "parse_mode": i.ParseMode, "caption_entities": string(i.CaptionEntities),
	}}
	media := s.take(i.Type, "", i.Media, p, "inputmedia"+i.Type)
	m.Caption, m.CaptionEntities = own.formatted("caption", "caption_entities", maxCaption)
	p.fail(own.wrong)
	m.put(i.Type, media)
	return m
}
