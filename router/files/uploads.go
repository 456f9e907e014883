package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/router/core"
)

// MaxSize is the largest file that is taken now, in bytes; 0: no limit.
func (s *Service) MaxSize() int64 { return s.maxSize() }

// Upload keeps a file that comes before its message, held to the checks of what comes from platforms. One that does not pass
// is quarantined, which is no error. ErrTooLarge; tools.ErrFileRefused: nothing can be stored now; r's own error.
func (s *Service) Upload(ctx context.Context, uploader, name string, r io.Reader) (*Attachment, error) {
	if err := s.room(ctx); err != nil {
		return nil, err
	}
	a, runs, err := s.put(ctx, name, r)
	if err != nil {
		return nil, err
	}
	a.Kind = kindOf(a.Type)
	err = s.keep(ctx, a, runs, func(ctx context.Context, a *Attachment) error { return s.Store.AddUpload(ctx, uploader, a) })
	if err != nil && !(a.ID != 0 && errors.Is(err, tools.ErrFileRefused)) {
		return nil, err
	}
	return a, nil
}

// kindOf is what a person would call a file of a media type.
func kindOf(mediaType string) channels.AttachmentKind {
	switch family, _, _ := strings.Cut(mediaType, "/"); family {
	case "image":
		return channels.Photo
	case "audio":
		return channels.Audio
	case "video":
		return channels.Video
	}
	return channels.Document
}

// Found is an attachment whoever's it is. core.ErrNotFound.
func (s *Service) Found(ctx context.Context, id int64) (*Found, error) { return s.Store.Found(ctx, id) }

// Read opens the bytes of an attachment, brought here where they are not; f is what is known of it then. It also opens what
// is quarantined: the caller judges f.State. tools.ErrFileGone; any other error is temporary.
func (s *Service) Read(ctx context.Context, f *Found) (io.ReadSeekCloser, error) {
	if f.PlatformID != "" && f.Session != "" && (f.State == AttachmentReferenced || f.State == AttachmentClean) {
		_, bytes, err := s.bring(ctx, f.Session, strconv.FormatInt(f.ID, 10))
		if err == nil {
			err = bytes.Close()
		}
		if err != nil && !errors.Is(err, tools.ErrFileRefused) {
			return nil, err
		}
		now, err := s.Store.Found(ctx, f.ID)
		if err != nil {
			return nil, err
		}
		*f = *now
	}
	bytes, err := s.Blobs.Open(f.Blob)
	if errors.Is(err, core.ErrNotFound) {
		return nil, fmt.Errorf("attachment %d: %w", f.ID, tools.ErrFileGone)
	}
	return bytes, err
}
