package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/retry"
)

const (
	// maxFiles is how many files one message gets.
	maxFiles = 10
	// maxFile is the largest file that is taken, in bytes.
	//
	// Source: https://slack.com/help/articles/201330736-Add-files-to-Slack.
	maxFile = 1 << 30
	// shareTries is how often the message is looked for that shows files.
	shareTries = 20
)

// sendFiles uploads the files of a part and shows them in one message. What is uploaded
// and not shown nobody sees. Showing takes no metadata, so the IDs are noted before.
//
// Source: https://docs.slack.dev/messaging/working-with-files "Uploading files".
func (c *Client) sendFiles(ctx context.Context, out channels.Outbound) (channels.MessageID, error) {
	const op = "files.completeUploadExternal"
	channel, thread, err := place(op, out.Conversation)
	if err != nil {
		return "", err
	}
	files, err := wire.Open(out, maxFiles)
	if err != nil {
		return "", wire.Refuse(op, err)
	}
	defer files.Close()
	var summaries []slack.FileSummary
	var ids []string
	for i, f := range files {
		id, err := c.upload(ctx, f, out.Body.Files[i].Size)
		if err != nil {
			return "", err
		}
		summaries, ids = append(summaries, slack.FileSummary{ID: id, Title: f.Name}), append(ids, id)
	}
	params := slack.CompleteUploadExternalParameters{Files: summaries, Channel: channel, ThreadTimestamp: thread}
	if out.Body.Text != "" {
		list, err := blocks(op, out.Body)
		if err != nil {
			return "", err
		}
		params.Blocks = slack.Blocks{BlockSet: list}
	}
	if out.Note != nil {
		if err := out.Note(ctx, strings.Join(ids, " ")); err != nil {
			return "", unsent("note", err)
		}
	}
	if _, err = c.call(ctx, op, wire.CallTimeout, wire.With((*slack.Client).CompleteUploadExternalContext, params)); err != nil {
		return "", err
	}
	if ts, _ := c.shareOf(ctx, ids[0], channel); ts != "" {
		return channels.MessageID(ts), nil
	}
	return channels.MessageID(ids[0]), nil
}

// upload brings the bytes of a file. Whatever goes wrong here, nothing is shown.
func (c *Client) upload(ctx context.Context, f *wire.File, size int64) (id string, err error) {
	const op = "files.getUploadURLExternal"
	if size <= 0 || size > maxFile {
		return "", &channels.RefusedError{Op: op, Reason: fmt.Sprintf("%q is empty or too large", f.Name)}
	}
	type place struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	to, _, err := ask[place](ctx, c.api, op, wire.CallTimeout,
		wire.With((*slack.Client).GetUploadURLExternalContext, slack.GetUploadURLExternalParameters{FileName: f.Name, FileSize: int(size)}))
	if err != nil {
		return "", unsent(op, err)
	}
	if !idShape.MatchString(to.ID) {
		return "", &channels.RefusedError{Op: op, Reason: "the answer names no place for the file", Temporary: true}
	}
	if err := c.put(ctx, f, size, to.URL); err != nil {
		return "", unsent("upload", err)
	}
	return to.ID, nil
}

// unsent is err of a step that shows nothing yet: the part surely was not sent.
func unsent(op string, err error) error {
	_, limited := errors.AsType[*channels.RateLimitError](err)
	_, refused := errors.AsType[*channels.RefusedError](err)
	if limited || refused || wire.Unless(err, channels.ErrUnauthorized, channels.ErrNotConnected, channels.ErrGone) == nil {
		return err
	}
	return &channels.RefusedError{Op: op, Reason: err.Error(), Temporary: true}
}

// put sends the bytes of a file where the platform said.
func (c *Client) put(ctx context.Context, f *wire.File, size int64, address string) error {
	const op = "upload"
	u, err := url.Parse(address)
	if err != nil || !c.mayTrust(u) {
		return &channels.RefusedError{Op: op, Reason: "the platform names a place for the file that is not its own"}
	}
	ctx, cancel := context.WithTimeout(ctx, wire.UploadTimeout)
	defer cancel()
	x := &wire.Exchange{}
	if err := c.Wire.Post(ctx, x, address, "application/octet-stream", io.LimitReader(f, size), size); err != nil {
		return x.Unanswered(op, u.Host, nil)
	}
	switch {
	case x.Status == http.StatusOK:
		return nil
	case x.Status == http.StatusTooManyRequests:
		return x.TooManyRequests(op)
	}
	return &channels.RefusedError{Op: op, Reason: fmt.Sprintf("the answer is %d", x.Status), Temporary: x.Status >= http.StatusInternalServerError}
}

// shareOf is the message in which a file is shown; empty: there is none. The platform shows it
// some time after it said so.
//
// Source: https://docs.slack.dev/reference/objects/file-object "shares".
func (c *Client) shareOf(ctx context.Context, id, channel string) (ts string, err error) {
	for try := range shareTries {
		if try > 0 && !retry.Sleep(ctx, c.pace.shares) {
			return "", context.Cause(ctx)
		}
		var f *wireFile
		if f, err = c.fileInfo(ctx, id); err != nil {
			if wire.Final(err) {
				return "", err
			}
			continue
		}
		for _, list := range [][]wireShare{f.Shares.Public[channel], f.Shares.Private[channel]} {
			if len(list) > 0 && tsShape.MatchString(list[0].TS) {
				return list[0].TS, nil
			}
		}
	}
	return "", err
}

// Fetch implements channels.Fetcher. The platform hands a page out to whoever may not see
// a file.
//
// Source: https://docs.slack.dev/reference/objects/file-object "url_private".
func (c *Client) Fetch(ctx context.Context, file channels.Attachment, w io.Writer) error {
	const op = "download"
	f, err := c.fileInfo(ctx, file.ID)
	if err != nil {
		return err
	}
	address := cmp.Or(f.Download, f.Private)
	u, err := url.Parse(address)
	if err != nil || address == "" || !c.mayTrust(u) {
		return &channels.RefusedError{Op: op, Reason: "the file is not kept by the platform itself"}
	}
	login, err := c.Login()
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return c.Wire.Download(ctx, address, http.Header{"Authorization": {"Bearer " + login.Token.Reveal()}}, w, func(h http.Header) error {
		if shown, _, _ := mime.ParseMediaType(h.Get("Content-Type")); shown == "text/html" && !strings.HasPrefix(f.Type, "text/html") {
			return errors.New("the platform asks to sign in; the scope files:read is needed")
		}
		return nil
	})
}

// findSkew is how far the platform's clock may be behind ours.
const findSkew = 2 * time.Minute

// Find implements channels.Finder: a part is looked up by its nonce, files by their IDs. None
// was shown whose IDs were not noted. Where more than maxPages pages came since the first try
// (15 messages each for some apps), nobody knows what is behind them.
//
// Source: https://docs.slack.dev/messaging/message-metadata.
func (c *Client) Find(ctx context.Context, out channels.Outbound) (id channels.MessageID, ok bool, err error) {
	channel, thread, err := place("find", out.Conversation)
	if err != nil {
		return "", false, err
	}
	if readerOf(out.ReplyTo) != "" {
		return "", false, errors.New("history does not tell what one person alone is shown")
	}
	if len(out.Body.Files) > 0 {
		return c.findFiles(ctx, strings.Fields(out.Noted), channel)
	}
	me, err := c.known(ctx)
	if err != nil {
		return "", false, err
	}
	oldest := ""
	if !out.FirstTry.IsZero() {
		oldest = tsOf(out.FirstTry.Add(-findSkew))
	}
	for p, err := range c.pages(ctx, channel, thread, oldest) {
		if err != nil {
			return "", false, wire.Unless(err, channels.ErrGone)
		}
		for _, raw := range p.Messages {
			var m wireMessage
			if json.Unmarshal(raw, &m) != nil || m.User != me.User && (m.BotID == "" || m.BotID != me.Bot) {
				continue
			}
			if m.Metadata != nil && m.Metadata.Type == eventType && m.Metadata.Payload.Nonce == out.Nonce && out.Nonce != "" {
				return channels.MessageID(m.TS), true, nil
			}
		}
	}
	return "", false, nil
}

// findFiles looks for the message that shows the files of a part.
//
// Source: https://docs.slack.dev/reference/methods/files.info "file_not_found".
func (c *Client) findFiles(ctx context.Context, ids []string, channel string) (channels.MessageID, bool, error) {
	if len(ids) == 0 {
		return "", false, nil
	}
	ts, err := c.shareOf(ctx, ids[0], channel)
	if refused, ok := errors.AsType[*channels.RefusedError](err); ok && strings.HasPrefix(refused.Reason, "file_") {
		err = nil
	}
	return channels.MessageID(ts), ts != "", err
}
