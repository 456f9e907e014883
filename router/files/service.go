package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/words"
	"switchboard/router/core"
)

// Deps are what a Service is made of.
type Deps struct {
	Store   Store
	Blobs   Blobs
	Channel func(name string) channels.Channel // one that is a Fetcher can bring attachments; nil: there is none
	Limits  Limits                             // at the start; see Service.Apply
	// Room says in a sentence why no file can be stored just now. Nil: always can.
	Room func(ctx context.Context) error
	// Mask takes known secrets out of names.
	Mask *secrets.Masker
	Log  *slog.Logger
}

// Limits say which files are taken.
type Limits struct {
	// MaxSize is the largest file taken or published, in bytes; 0: no limit.
	MaxSize int64
	// ScanCommand judges each file before it is handed out; see scanner. Empty: none.
	ScanCommand string
}

// A Service is where attachments are: at their platform until somebody wants
// them, then here, after they passed the checks. It is the agent's tools.Files, and
// says what goes out where a text links to an attachment. Its methods may be called
// from several goroutines at once.
type Service struct {
	Deps
	now atomic.Pointer[limits]
	one tools.Locks[int64]
	// settling keeps the janitor from removing a blob between the arrival of its
	// bytes and the commit of the row that refers to it.
	settling sync.Mutex
}

// New returns a service over deps; it does no I/O.
func New(deps Deps) *Service {
	s := &Service{Deps: deps}
	s.Apply(deps.Limits)
	return s
}

// Apply has files that come from now on go by these limits.
func (s *Service) Apply(l Limits) { s.now.Store(&limits{l.MaxSize, newScanner(l.ScanCommand)}) }

// limits are Limits, ready for use.
type limits struct {
	maxSize int64
	scanner scanner
}

// maxSize is the largest file taken now.
func (s *Service) maxSize() int64 { return s.now.Load().maxSize }

// Open implements tools.Files.
func (s *Service) Open(ctx context.Context, session tools.Session, id string) (tools.File, io.ReadCloser, error) {
	a, bytes, err := s.bring(ctx, session.ID, id)
	if err != nil {
		return tools.File{}, nil, err
	}
	return a.file(), bytes, nil
}

// Outgoing is the attachment of that id as a part sends it, brought here if it is
// not. Session is the key, "channel:conversation". The errors are those of Open.
func (s *Service) Outgoing(ctx context.Context, session, id string) (channels.File, error) {
	a, bytes, err := s.bring(ctx, session, id)
	if err != nil {
		return channels.File{}, err
	}
	return channels.File{Blob: a.Blob, Name: a.Name, Type: a.Type, Size: a.Size}, bytes.Close()
}

// Bytes reads a file of an outgoing part; the caller closes it.
func (s *Service) Bytes(file channels.File) (io.ReadCloser, error) {
	return s.Blobs.Open(file.Blob)
}

// Publish implements tools.Files. What holds words from outside is held to the same
// checks as what came from there; what we made ourselves only to the scanner.
func (s *Service) Publish(ctx context.Context, session tools.Session, name string, taint tools.Taint, r io.Reader) (tools.File, error) {
	if err := s.room(ctx); err != nil {
		return tools.File{}, err
	}
	a, runs, err := s.put(ctx, name, r)
	if errors.Is(err, ErrTooLarge) {
		return tools.File{}, fileRefused(s.tooLarge())
	} else if err != nil {
		return tools.File{}, fmt.Errorf("publish %s: %w", name, err)
	}
	a.Taint = taint
	reason := ""
	if taint != tools.Clean {
		reason = runs
	}
	err = s.keep(ctx, a, reason, func(ctx context.Context, a *Attachment) error {
		if a.State != AttachmentClean {
			return nil // the janitor removes the bytes
		}
		return s.Store.AddAttachment(ctx, session.ID, a)
	})
	if err != nil {
		return tools.File{}, err
	}
	return a.file(), nil
}

// put keeps the bytes of a new document. Runs is runnable of it.
func (s *Service) put(ctx context.Context, name string, r io.Reader) (a *Attachment, runs string, err error) {
	head := head{most: typeSize}
	blob, size, err := s.Blobs.Put(ctx, s.maxSize(), func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, &head), r)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return &Attachment{
		Kind: channels.Document, Name: s.Mask.Text(fileName(name)), Type: contentType(name, head.bytes), Size: size, Blob: blob,
	}, runnable(name, head.bytes), nil
}

// file is the attachment as tools see it. What a person sent is from outside, ours
// is as tainted as what it was made of.
func (a *Attachment) file() tools.File {
	taint := a.Taint
	if a.PlatformID != "" {
		taint = taint.Join("file")
	}
	return tools.File{ID: strconv.FormatInt(a.ID, 10), Name: a.Name, Type: a.Type, Size: a.Size, Taint: taint}
}

// bring returns an attachment of the session with its bytes. Who asks for one that
// is being fetched waits for it.
func (s *Service) bring(ctx context.Context, session, id string) (*Attachment, io.ReadSeekCloser, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != id { // one name for one file
		return nil, nil, tools.ErrNoFile
	}
	release, err := s.one.Take(ctx, number)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	a, err := s.Store.Attachment(ctx, session, number)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil, tools.ErrNoFile
	} else if err != nil {
		return nil, nil, fmt.Errorf("look up attachment %d: %w", number, err)
	}
	switch a.State {
	case AttachmentQuarantined:
		return nil, nil, fileRefused(a.Reason)
	case AttachmentGone:
		return nil, nil, tools.ErrFileGone
	case AttachmentClean:
		bytes, err := s.Blobs.Open(a.Blob)
		if !errors.Is(err, core.ErrNotFound) {
			return a, bytes, err
		}
		s.Log.WarnContext(ctx, "the bytes of an attachment are missing", "attachment_id", a.ID, "blob", a.Blob)
	}
	if err := s.fetch(ctx, a); err != nil {
		return nil, nil, err
	}
	bytes, err := s.Blobs.Open(a.Blob)
	return a, bytes, err
}

// room is an ErrFileRefused where no file can be stored.
func (s *Service) room(ctx context.Context) error {
	if s.Room == nil {
		return nil
	}
	if err := s.Room(ctx); err != nil {
		return fileRefused(err.Error())
	}
	return nil
}

func fileRefused(why string) error { return fmt.Errorf("%w: %s", tools.ErrFileRefused, why) }

// tooLarge says why a file is not taken.
func (s *Service) tooLarge() string {
	return fmt.Sprintf("it is larger than the %s that one file may have", words.Size(s.maxSize()))
}

// fetch brings the bytes of an attachment from its platform, checks them, and
// records what it is.
func (s *Service) fetch(ctx context.Context, a *Attachment) error {
	fetcher, _ := s.Channel(a.Channel).(channels.Fetcher)
	switch {
	case a.PlatformID == "": // ours, and lost
		return tools.ErrFileGone
	case fetcher == nil:
		return fmt.Errorf("%w: the channel %s, which it came by, cannot bring it", tools.ErrFileGone, a.Channel)
	case s.maxSize() > 0 && a.Size > s.maxSize():
		return fileRefused(s.tooLarge())
	}
	if err := s.room(ctx); err != nil {
		return err
	}
	head := head{most: typeSize}
	blob, size, err := s.Blobs.Put(ctx, s.maxSize(), func(w io.Writer) error {
		kept := &keeping{to: w}
		err := fetcher.Fetch(ctx, channels.Attachment{
			ID: a.PlatformID, Kind: a.Kind, Name: a.Name, Type: a.Type, Size: a.Size,
		}, io.MultiWriter(kept, &head))
		return cmp.Or(kept.err, err) // whatever the adapter makes of our error
	})
	if err != nil {
		return s.unfetched(ctx, a, err)
	}
	a.Blob, a.Size, a.Type = blob, size, contentType(a.Name, head.bytes)
	return s.keep(ctx, a, runnable(a.Name, head.bytes), s.Store.SetAttachment)
}

// keeping remembers the error that ended it.
type keeping struct {
	to  io.Writer
	err error
}

func (k *keeping) Write(p []byte) (n int, err error) {
	n, err = k.to.Write(p)
	k.err = cmp.Or(k.err, err)
	return n, err
}

// unfetched says what a failed fetch means to who asked.
func (s *Service) unfetched(ctx context.Context, a *Attachment, err error) error {
	switch refused, ok := errors.AsType[*channels.RefusedError](err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrTooLarge): // whatever size the platform gave; it is not fetched a second time
		a.State, a.Reason = AttachmentQuarantined, s.tooLarge()
		if err := s.Store.SetAttachment(context.WithoutCancel(ctx), a); err != nil {
			return fmt.Errorf("record attachment %d: %w", a.ID, err)
		}
		return fileRefused(a.Reason)
	case ok && !refused.Temporary:
		return fileRefused("the platform does not hand it out: " + oneLine(refused.Reason))
	case errors.Is(err, channels.ErrGone):
		return tools.ErrFileGone
	}
	s.Log.WarnContext(ctx, "an attachment could not be fetched", "attachment_id", a.ID, "channel", a.Channel, "error", err)
	return fmt.Errorf("fetch attachment %d: %w", a.ID, err)
}

// keep has the scanner look at an attachment whose bytes are here, unless there is
// a reason already not to hand it out, and records what it is. ErrFileRefused:
// recorded as quarantined.
func (s *Service) keep(ctx context.Context, a *Attachment, reason string, record func(context.Context, *Attachment) error) error {
	if reason == "" {
		var err error
		if reason, err = s.now.Load().scanner.judge(ctx, s.Blobs.Path(a.Blob)); err != nil {
			return err
		}
	}
	a.State, a.Reason = AttachmentClean, ""
	if reason != "" {
		a.State, a.Reason = AttachmentQuarantined, reason
		s.Log.WarnContext(ctx, "an attachment is quarantined", "attachment_id", a.ID, "reason", reason)
	}
	s.settling.Lock()
	defer s.settling.Unlock()
	bytes, err := s.Blobs.Open(a.Blob)
	if err != nil { // the janitor was quicker
		return fmt.Errorf("keep attachment %d: %w", a.ID, err)
	}
	if err := errors.Join(bytes.Close(), record(context.WithoutCancel(ctx), a)); err != nil {
		return fmt.Errorf("record attachment %d: %w", a.ID, err)
	}
	if reason != "" {
		return fileRefused(reason)
	}
	return nil
}
