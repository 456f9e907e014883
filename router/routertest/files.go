package routertest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest"
	"switchboard/router/core"
	"switchboard/router/files"
	"switchboard/store/storetest"
)

// Filed gives the rig's router a file service over the real database and disk.
func (r *Rig) Filed() *files.Service {
	return files.New(files.Deps{
		Store: r.DB.Router(), Blobs: storetest.Blobs(r.T), Limits: files.Limits{MaxSize: 1 << 20}, Log: slog.New(slog.DiscardHandler),
		Channel: func(string) channels.Channel { return channelstest.Scripted("play", r.Platform, r.Script) },
	})
}

// Shelf hands out files from memory.
type Shelf map[string]string

// Outgoing implements outbox.Attachments.
func (s Shelf) Outgoing(_ context.Context, session, id string) (channels.File, error) {
	data, ok := s[id]
	if !ok || session != "play:c1" {
		return channels.File{}, tools.ErrNoFile
	}
	return channels.File{Blob: "blob-" + id, Name: id + ".txt", Type: "text/plain", Size: int64(len(data))}, nil
}

// Publish implements outbox.Attachments.
func (s Shelf) Publish(context.Context, tools.Session, string, tools.Taint, io.Reader) (tools.File, error) {
	return tools.File{}, tools.ErrFileRefused
}

// Bytes implements outbox.Attachments.
func (s Shelf) Bytes(f channels.File) (io.ReadCloser, error) {
	data, ok := s[strings.TrimPrefix(f.Blob, "blob-")]
	if !ok {
		return nil, core.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader([]byte(data))), nil
}
