package telegramtest

import (
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
	return func(s *Server, b *Bot, p *params) (any, *Rejection) {
		page := "send" + kind
		l, rejected := s.letter(b, p)
		if rejected != nil {
			return nil, rejected
		}
		caption, entities, rejected := p.formatted("caption", "caption_entities", maxCaption)
		if rejected != nil {
			return nil, rejected
		}
		given, ok := p.files[kind]
		f, rejected := s.take(kind, p.values[kind], given, ok, p, page)
		if rejected != nil {
			return nil, rejected
		}
		m := Message{Caption: caption, CaptionEntities: entities}
		m.put(kind, f.media())
		sent, rejected := s.deliver(b, l, m)
		if rejected != nil {
			return nil, rejected
		}
		return sent[0].Message, nil
	}
}

// take finds the file that a call gives: as the field itself, as attach://FIELD, or by
// the file_id of one that is here already.
func (s *Server) take(kind, value string, u upload, given bool, p *params, page string) (*file, *Rejection) {
	if field, ok := strings.CutPrefix(value, "attach://"); ok {
		if u, given = p.files[field]; !given {
			return nil, bad("inputfile", "there is no field %q with the file", field)
		}
	}
	switch {
	case given:
		return s.uploaded(kind, u, page)
	case value == "":
		return nil, bad(page, "there is no %s in the request", kind)
	case strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://"):
		f, ok := s.remote[value]
		if !ok {
			return nil, bad("sending-files", "failed to get HTTP URL content")
		}
		return s.uploaded(kind, upload{name: path.Base(value), data: f.Data}, page)
	}
	f := s.files[strings.TrimSuffix(value, "s")]
	if f == nil {
		return nil, bad("sending-files", "wrong file identifier/HTTP URL specified")
	}
	return f, nil
}

// uploaded keeps a file that came with a call.
func (s *Server) uploaded(kind string, u upload, page string) (*file, *Rejection) {
	switch {
	case len(u.data) == 0:
		return nil, bad("sending-files", "file must be non-empty")
	case len(u.data) > maxUpload:
		return nil, &Rejection{Code: http.StatusRequestEntityTooLarge, Description: "Request Entity Too Large", Page: docs + "#sending-files"}
	case kind == "photo" && len(u.data) > maxPhoto:
		return nil, bad(page, "file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(u.data), maxPhoto)
	case kind == "photo" && !strings.HasPrefix(http.DetectContentType(u.data), "image/"):
		return nil, bad(page, "IMAGE_PROCESS_FAILED")
	}
	typ := mime.TypeByExtension(path.Ext(u.name))
	if typ == "" {
		typ = "application/octet-stream"
	}
	typ, _, _ = strings.Cut(typ, ";")
	m := s.store(File{Kind: kind, Name: u.name, Type: typ, Data: u.data})
	return s.files[m.FileID], nil
}

// inputMedia is one of a media group.
type inputMedia struct {
	Type            string          `json:"type"`
	Media           string          `json:"media"`
	Caption         string          `json:"caption"`
	ParseMode       string          `json:"parse_mode"`
	CaptionEntities json.RawMessage `json:"caption_entities"`
}

func (s *Server) sendMediaGroup(b *Bot, p *params) (any, *Rejection) {
	const page = "sendmediagroup"
	l, rejected := s.letter(b, p)
	if rejected != nil {
		return nil, rejected
	}
	l.keys = nil // a media group has none
	var media []inputMedia
	p.decode("media", page, &media)
	switch {
	case p.wrong != nil:
		return nil, p.wrong
	case len(media) < 2 || len(media) > 10:
		r := bad(page, "there must be 2-10 items in a media group")
		r.Detail = detail("%d are given", len(media))
		return nil, r
	}
	group := s.id()
	var messages []Message
	for _, item := range media {
		m, rejected := s.item(item, media[0].Type, p)
		if rejected != nil {
			return nil, rejected
		}
		m.MediaGroupID = group
		messages = append(messages, m)
	}
	sent, rejected := s.deliver(b, l, messages...)
	if rejected != nil {
		return nil, rejected
	}
	result := []Message{}
	for _, r := range sent {
		result = append(result, r.Message)
	}
	return result, nil
}

// item makes a message of one of a media group. Documents and audio stand only among
// their like.
func (s *Server) item(i inputMedia, first string, p *params) (m Message, rejected *Rejection) {
	const page = "sendmediagroup"
	alone := func(typ string) bool { return typ == "document" || typ == "audio" }
	switch {
	case i.Type != "photo" && i.Type != "video" && !alone(i.Type):
		return m, bad("inputmedia", "can't parse InputMedia: type %q of the media is wrong", i.Type)
	case i.Type != first && (alone(i.Type) || alone(first)):
		return m, bad(page, "document and audio can't be mixed with other media types")
	}
	f, rejected := s.take(i.Type, i.Media, upload{}, false, p, "inputmedia"+i.Type)
	if rejected != nil {
		return m, rejected
	}
	own := &params{values: map[string]string{
		"caption": i.Caption, "parse_mode": i.ParseMode, "caption_entities": string(i.CaptionEntities),
	}}
	if m.Caption, m.CaptionEntities, rejected = own.formatted("caption", "caption_entities", maxCaption); rejected != nil {
		return m, rejected
	}
	m.put(i.Type, f.media())
	return m, nil
}
