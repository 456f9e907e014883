package slacktest

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"switchboard/channels/platformtest"
)

// maxFile is the largest file that is taken, in bytes.
//
// Source: https://slack.com/help/articles/201330736-Add-files-to-Slack.
const maxFile = 1 << 30

// A file is kept under its ID.
type file struct {
	File
	id       string
	by       string
	created  int64
	uploaded bool // its bytes are here
	complete bool
	shares   map[string][]string // ts by conversation
	hidden   bool                // messages tell no more than its ID
}

func (s *workspace) store(f File, by string) *file {
	kept := &file{File: f, id: s.id("F"), by: by, created: s.Now().Unix(), shares: map[string][]string{}}
	s.files[kept.id] = kept
	return kept
}

// told is what the platform tells of a file.
func (s *workspace) toldFile(f *file, withShares bool) SharedFile {
	if f.hidden && !withShares {
		return SharedFile{ID: f.id, FileAccess: "check_file_info", Mode: "file_access"}
	}
	address := s.address() + "/files-pri/" + s.team + "-" + f.id + "/" + f.Name
	told := SharedFile{
		ID: f.id, Name: f.Name, Title: f.Name, Mimetype: f.Type, Filetype: strings.TrimPrefix(path.Ext(f.Name), "."), Mode: "hosted",
		FileAccess: "visible", Size: f.Bytes(), User: f.by, Created: f.created, URLPrivate: address, URLDownload: address,
	}
	if f.Kind == "voice" {
		told.Subtype = "slack_audio"
	}
	if withShares {
		public, private := map[string]any{}, map[string]any{}
		for id, all := range f.shares {
			list := []map[string]string{}
			for _, ts := range all {
				list = append(list, map[string]string{"ts": ts})
			}
			if c := s.places[id]; c.kind() == "channel" {
				public[id] = list
			} else {
				private[id] = list
			}
		}
		told.Shares = map[string]any{"public": public, "private": private}
	}
	return told
}

// uploadURL begins an upload.
//
// Source: https://docs.slack.dev/reference/methods/files.getUploadURLExternal.
func (s *calls) uploadURL(p *params) (map[string]any, *Rejection) {
	length, ok := p.number("length", 0)
	switch {
	case !ok || length <= 0:
		return nil, refuse(p.method, "invalid_arguments", "length")
	case length > maxFile:
		return nil, refuse(p.method, "file_upload_size_restricted")
	case p.values["filename"] == "":
		return nil, refuse(p.method, "invalid_arguments", "filename")
	}
	f := s.store(File{Name: p.values["filename"], Size: int64(length)}, s.bot.ID)
	return map[string]any{"upload_url": "http://" + p.host + "/upload/v1/" + f.id, "file_id": f.id}, nil
}

// serveUpload takes the bytes of a file, raw or as a form.
//
// Source: https://docs.slack.dev/messaging/working-with-files "Uploading files".
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	data, err := uploaded(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	id := path.Base(r.URL.Path)
	call := Call{Method: "upload", Values: map[string]string{"file": id}}
	s.Lock()
	f := s.files[id]
	if f == nil || f.complete || int64(len(data)) != f.Size {
		call.Rejected = &Rejection{Code: "upload_failed", Status: http.StatusBadRequest, Page: "https://docs.slack.dev/messaging/working-with-files"}
	}
	s.Unlock()
	s.Answer(w, r, call, func() ([]byte, platformtest.Rejection) {
		s.Change(func() {
			f.Data, f.uploaded = data, true
			f.Type = http.DetectContentType(data)
		})
		w.Header().Set("Content-Type", "text/html")
		return []byte("OK - " + strconv.Itoa(len(data))), nil
	})
}

func uploaded(r *http.Request) ([]byte, error) {
	body := http.MaxBytesReader(nil, r.Body, 64<<20)
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return io.ReadAll(body)
	}
	r.Body = body
	form, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return nil, err
		}
		if part.FileName() == "" {
			continue
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, body)
		return data, err
	}
}

// completeUpload shares files in a conversation; it takes no metadata.
//
// Source: https://docs.slack.dev/reference/methods/files.completeUploadExternal.
func (s *calls) completeUpload(p *params) (map[string]any, *Rejection) {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(p.values["files"]), &list) != nil || len(list) == 0 {
		return nil, refuse(p.method, "invalid_arguments", "files")
	}
	r := s.byBot()
	r.Upload, r.Text = true, p.values["initial_comment"]
	for _, one := range list {
		f := s.files[one.ID]
		if f == nil || !f.uploaded || f.complete {
			return nil, refuse(p.method, "file_not_found", one.ID)
		}
	}
	told := []map[string]string{}
	if p.values["channel_id"] != "" {
		c, rejected := s.member(p, "channel_id")
		if rejected != nil {
			return nil, rejected
		}
		if thread := p.values["thread_ts"]; thread != "" {
			root := c.root(thread)
			if root == nil {
				return nil, refuse(p.method, "thread_not_found", thread)
			}
			r.ThreadTS = root.TS
		}
		if r.Blocks, rejected = s.checkBlocks(p); rejected != nil {
			return nil, rejected
		}
		defer func() { s.event(s.told(c, r.Message)) }()
		defer s.share(c, r)
	}
	for _, one := range list {
		f := s.files[one.ID]
		f.complete = true
		r.Files = append(r.Files, s.toldFile(f, false))
		told = append(told, map[string]string{"id": one.ID, "title": one.Title})
	}
	return map[string]any{"files": told}, nil
}

// share puts a message with its files into a conversation.
func (s *workspace) share(c *place, r *record) {
	s.put(c, r)
	for _, f := range r.Files {
		if kept := s.files[f.ID]; kept != nil {
			kept.complete, kept.shares[c.ID] = true, append(kept.shares[c.ID], r.TS)
		}
	}
}

func (s *calls) fileInfo(p *params) (map[string]any, *Rejection) {
	f := s.files[p.values["file"]]
	if f == nil || !f.complete {
		return nil, refuse(p.method, "file_not_found", p.values["file"])
	}
	return map[string]any{"file": s.toldFile(f, true)}, nil
}

func (s *calls) deleteFile(p *params) (map[string]any, *Rejection) {
	f := s.files[p.values["file"]]
	if f == nil {
		return nil, refuse(p.method, "file_not_found")
	}
	delete(s.files, f.id)
	for id := range f.shares {
		for _, r := range s.places[id].messages {
			if slices.ContainsFunc(r.Files, func(o SharedFile) bool { return o.ID == f.id }) {
				r.deleted = true
			}
		}
	}
	return map[string]any{}, nil
}

// serveFile serves a download to whoever has the token; others get the page of a login,
// as a whole answer.
//
// Source: https://docs.slack.dev/reference/objects/file-object "url_private".
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/files-pri/"+s.team+"-")
	id, _, _ := strings.Cut(name, "/")
	call := Call{Method: "download", Values: map[string]string{"file": id}}
	s.Lock()
	f := s.files[id]
	good := r.Header.Get("Authorization") == "Bearer "+s.botToken && !s.revoked
	if f == nil {
		call.Rejected = &Rejection{Code: "file_not_found", Status: http.StatusNotFound, Page: docs + "files.info"}
	}
	s.Unlock()
	s.Answer(w, r, call, func() ([]byte, platformtest.Rejection) {
		if !good {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			return []byte("<!DOCTYPE html><html><title>Sign in</title></html>"), nil
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
		return f.Data, nil
	})
}

// File implements platformtest.Page.
func (s *workspace) File(id string) (f File, ok bool) {
	s.Lock()
	defer s.Unlock()
	if kept := s.files[id]; kept != nil {
		return kept.File, true
	}
	return File{}, false
}
