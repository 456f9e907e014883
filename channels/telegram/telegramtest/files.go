package telegramtest

import (
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"switchboard/channels/platformtest"
)

// maxDownload is the largest file that a bot may fetch, in bytes.
//
// Source: https://core.telegram.org/bots/api#getfile
const maxDownload = 20 << 20

// A file is kept under its file_id.
type file struct {
	File
	id   string
	path string // of the download
}

// store keeps a file and returns what messages tell of it.
func (s *world) store(f File) *Media {
	id := s.id()
	kept := &file{File: f, id: "F" + id + "AgACfake", path: folder(f.Kind) + "/file_" + id + path.Ext(f.Name)}
	s.files[kept.id] = kept
	return kept.media()
}

func folder(kind string) string {
	switch kind {
	case "photo":
		return "photos"
	case "voice":
		return "voice"
	case "audio":
		return "music"
	case "video":
		return "videos"
	case "sticker":
		return "stickers"
	}
	return "documents"
}

func (f *file) media() *Media {
	m := &Media{FileID: f.id, FileUniqueID: "U" + f.id[1:8], FileSize: f.Bytes()}
	no := false
	switch f.Kind {
	case "photo":
		m.Width, m.Height = 800, 600
	case "sticker":
		m.Width, m.Height, m.Emoji, m.Type, m.IsAnimated, m.IsVideo = 512, 512, "👍", "regular", &no, &no
	case "voice":
		m.MimeType, m.Duration = f.Type, 3
	case "audio", "video":
		m.FileName, m.MimeType, m.Duration = f.Name, f.Type, 60
	default:
		m.FileName, m.MimeType = f.Name, f.Type
	}
	return m
}

// attach puts a new file into m.
func (s *world) attach(m *Message, f File) { m.put(f.Kind, s.store(f)) }

// put shows a file that is kept as the kind says.
func (m *Message) put(kind string, media *Media) {
	switch kind {
	case "photo":
		small := *media
		small.FileID, small.Width, small.Height, small.FileSize = media.FileID+"s", 90, 67, min(media.FileSize, 1200)
		m.Photo = []Media{small, *media}
	case "voice":
		m.Voice = media
	case "audio":
		m.Audio = media
	case "video":
		m.Video = media
	case "sticker":
		m.Sticker = media
	default:
		m.Document = media
	}
}

// FileID is the reference to the file in m, of the largest size of a photo; empty
// when there is none.
func (m *Message) FileID() string {
	for _, media := range []*Media{m.Document, m.Voice, m.Audio, m.Video, m.Sticker} {
		if media != nil {
			return media.FileID
		}
	}
	if len(m.Photo) > 0 {
		return m.Photo[len(m.Photo)-1].FileID
	}
	return ""
}

// File is what is kept under a file_id; ok is false when there is nothing.
func (s *Server) File(fileID string) (f File, ok bool) {
	s.Lock()
	defer s.Unlock()
	if kept := s.files[strings.TrimSuffix(fileID, "s")]; kept != nil {
		return kept.File, true
	}
	return File{}, false
}

// Publish lets the platform fetch f when a bot sends the URL instead of bytes; it
// reaches nothing else.
func (s *Server) Publish(url string, f File) { s.Change(func() { s.remote[url] = f }) }

// Forget makes the platform lose a file: the bot is told that the file_id is wrong.
func (s *Server) Forget(fileID string) { s.Change(func() { delete(s.files, fileID) }) }

func (s *calls) getFile(_ *Bot, p *params) any {
	id := p.values["file_id"]
	p.failIf(id == "", "getfile", "file_id is empty")
	f := s.files[strings.TrimSuffix(id, "s")]
	if p.failIf(f == nil, "getfile", "invalid file_id") || p.failIf(f.Bytes() > maxDownload, "getfile", "file is too big") {
		return nil
	}
	return map[string]any{
		"file_id": f.id, "file_unique_id": f.media().FileUniqueID, "file_size": f.Bytes(), "file_path": f.path,
	}
}

// serveFile serves /file/bot<token>/<file_path>.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	token, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/file/bot"), "/")
	call := Call{Method: "file", Values: map[string]string{"file_path": name}}
	s.Lock()
	var found *file
	for _, f := range s.files {
		if f.path == name {
			found = f
		}
	}
	if b := s.byToken(token); b == nil {
		call.Rejected = unauthorized()
	} else if found == nil {
		call.Rejected = notFound("Not Found")
	}
	s.Unlock()
	s.Answer(w, r, call, func() ([]byte, platformtest.Rejection) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(found.Data)))
		w.Header().Set("Content-Disposition", "attachment; filename="+url.PathEscape(path.Base(name)))
		return found.Data, nil
	})
}
