package discordtest

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"switchboard/channels/platformtest"
)

// A kept is a file of a message.
type kept struct {
	platformtest.File
	Attachment
	place string
}

// attach keeps the files of a message and makes its attachments. The address is one of this
// server. It is called under the lock.
func (s *world) attach(m *Message, files []platformtest.File) {
	m.Attachments = []Attachment{}
	for _, f := range files {
		a := Attachment{ID: s.id(), Filename: filename(f.Name), ContentType: f.Type, Size: f.Bytes()}
		if a.Filename != f.Name {
			a.Title = strings.TrimSuffix(f.Name, path.Ext(f.Name))
		}
		if f.Kind == "voice" {
			a.Seconds, a.Waveform, a.ContentType = 1.5, "AAAA", cmp.Or(f.Type, "audio/ogg")
			m.Flags |= flagVoice
		}
		a.URL = s.URL() + "/attachments/" + m.ChannelID + "/" + a.ID + "/" + url.PathEscape(a.Filename) + "?ex=1&hm=" + a.ID
		a.ProxyURL = a.URL
		s.files[a.ID] = &kept{f, a, m.ChannelID}
		m.Attachments = append(m.Attachments, a)
	}
}

// flagVoice says that a message was spoken; flagSuppress that links show no preview; flagSilent
// that nobody is notified of it, which no edit changes.
//
// Source: https://docs.discord.com/developers/resources/message#message-object-message-flags.
const (
	flagSuppress  = 1 << 2
	flagSilent    = 1 << 12
	flagEphemeral = 1 << 6
	flagVoice     = 1 << 13
)

// filename is a name as the platform keeps it: only letters, digits, "_", "-" and "." of ASCII
// stay; the name as it was given is the title.
//
// Source: https://docs.discord.com/developers/resources/message#attachment-object.
func filename(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// serveFile serves an attachment to whoever has its address.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	call := Call{Method: "GET /attachments", Values: map[string]string{"id": r.PathValue("id")}}
	s.Lock()
	f := s.files[r.PathValue("id")]
	s.Unlock()
	if f == nil || r.FormValue("hm") != f.ID {
		call.Rejected = &Rejection{Status: http.StatusNotFound, Message: "This content is no longer available."}
	}
	s.Answer(w, r, call, func() ([]byte, platformtest.Rejection) {
		w.Header().Set("Content-Type", cmp.Or(f.ContentType, "application/octet-stream"))
		w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
		return bytes.Clone(f.Data), nil
	})
}

// File implements platformtest.Page.
func (s *Server) File(id string) (f File, ok bool) {
	s.Lock()
	defer s.Unlock()
	k := s.files[id]
	if k == nil {
		return f, false
	}
	return k.File, true
}
