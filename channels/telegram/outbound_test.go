package telegram

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchboard/channels"
	"switchboard/channels/platformtest"
	"switchboard/channels/render"
	"switchboard/channels/telegram/telegramtest"
)

// met is a rig whose bot may write to Ada.
func met(t *testing.T) (*rig, int64) {
	t.Helper()
	r := newRig(t)
	return r, r.Say(r.ada.ID, "/start").ID
}

func TestSendCarriesTextButtonsAndReply(t *testing.T) {
	t.Parallel()
	r, asked := met(t)
	out := outbound(r.direct(), "")
	out.Body = r.c.Format(render.Parse("**bold** 😀 `code`"), r.c.Features(out.Conversation))[0]
	out.Body.Buttons = []channels.Button{{Label: "Yes", Code: "y"}, {Label: "No", Code: "n"}}
	out.ReplyTo = messageID(int(asked))
	id, err := r.c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	shown := r.FromBot(r.ada.ID)[0]
	if shown.Text != "bold 😀 code" || len(shown.Entities) != 2 || shown.ReplyTo == nil || shown.ReplyTo.ID != asked || messageID(int(shown.ID)) != id {
		t.Errorf("%+v", shown)
	}
	if rows := shown.ReplyMarkup.Rows; len(rows) != 2 || rows[1][0].CallbackData != "n" {
		t.Errorf("buttons %+v", rows)
	}
	if v := r.Calls("sendMessage")[0].Values; !strings.Contains(v["link_preview_options"], `"is_disabled":true`) || strings.Contains(v["reply_markup"], "copy_text") || v["parse_mode"] != "" {
		t.Errorf("sent %v", v)
	}
	out.ReplyTo = "1" // gone; the answer is not
	if _, err := r.c.Send(t.Context(), out); err != nil {
		t.Error(err)
	}
	if err := r.c.RemoveButtons(t.Context(), out.Conversation, id); err != nil {
		t.Error(err)
	}
	if err := r.c.RemoveButtons(t.Context(), out.Conversation, id); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if shown := r.FromBot(r.ada.ID)[0]; shown.ReplyMarkup != nil && len(shown.ReplyMarkup.Rows) > 0 {
		t.Errorf("the buttons stay: %+v", shown.ReplyMarkup)
	}
}

func TestDraftsAreEditedDeletedAndReactedTo(t *testing.T) {
	t.Parallel()
	r, asked := met(t)
	here := r.direct()
	id, err := r.c.Draft(t.Context(), "", outbound(here, "working"))
	if err != nil || r.Calls("sendMessage")[0].Values["disable_notification"] != "true" {
		t.Fatalf("%v, %v", err, r.Calls("sendMessage")[0].Values)
	}
	for _, text := range []string{"working harder", "working harder"} { // not modified is success
		if again, err := r.c.Draft(t.Context(), id, outbound(here, text)); err != nil || again != id {
			t.Errorf("%q, %v", again, err)
		}
	}
	if err := r.c.Edit(t.Context(), here, id, channels.Body{Text: "done"}); err != nil || r.FromBot(r.ada.ID)[0].Text != "done" {
		t.Errorf("%v: %+v", err, r.FromBot(r.ada.ID))
	}
	if err := r.c.React(t.Context(), here, messageID(int(asked)), "👍"); err != nil || len(r.Messages(r.ada.ID)[0].Reactions) != 1 {
		t.Errorf("%v: %+v", err, r.Messages(r.ada.ID)[0])
	}
	if err := r.c.React(t.Context(), here, messageID(int(asked)), ""); err != nil || len(r.Messages(r.ada.ID)[0].Reactions) != 0 {
		t.Errorf("%v: %+v", err, r.Messages(r.ada.ID)[0])
	}
	if err := r.c.Typing(t.Context(), here); err != nil || !r.Server.Typing(r.ada.ID) {
		t.Errorf("not typing: %v", err)
	}
	for range 2 { // gone already is success
		if err := r.c.Delete(t.Context(), here, id); err != nil {
			t.Error(err)
		}
	}
	if err := r.c.Edit(t.Context(), here, id, channels.Body{Text: "too late"}); !errors.Is(err, channels.ErrNoMessage) {
		t.Errorf("a message that is gone: %v", err)
	}
	if _, err := r.c.Draft(t.Context(), id, outbound(here, "too late")); !errors.Is(err, channels.ErrNoMessage) {
		t.Errorf("a draft that is gone: %v", err)
	}
	for _, bad := range []channels.Conversation{{ID: "somewhere"}, {ID: "5/x"}, {ID: "0"}, {ID: "5/-1"}} {
		if _, err := r.c.Send(t.Context(), outbound(bad, "x")); !refused(err) {
			t.Errorf("%q: %v", bad.ID, err)
		}
	}
	if err := r.c.Edit(t.Context(), here, "x", channels.Body{Text: "x"}); !refused(err) {
		t.Errorf("a message that is none: %v", err)
	}
}

func refused(err error) bool {
	_, ok := errors.AsType[*channels.RefusedError](err)
	return ok
}

func TestTopicsAreAnsweredThere(t *testing.T) {
	t.Parallel()
	r, _ := met(t)
	forum := r.AddForum("Engines", r.ada)
	topic := r.AddTopic(forum.ID, "Analytical")
	there := channels.Conversation{ID: conversationID(forum.ID, int(topic)), Kind: channels.Thread}
	if _, err := r.c.Send(t.Context(), outbound(there, "in the topic")); err != nil {
		t.Fatal(err)
	}
	if shown := r.FromBot(forum.ID)[0]; shown.ThreadID != topic {
		t.Errorf("%+v", shown)
	}
	gone := channels.Conversation{ID: conversationID(forum.ID, 99), Kind: channels.Thread}
	if _, err := r.c.Send(t.Context(), outbound(gone, "x")); !errors.Is(err, channels.ErrGone) {
		t.Errorf("a topic that is not there: %v", err)
	}
}

func TestErrorsSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	reject := func(code int, text string) telegramtest.Fault {
		return telegramtest.Fault{Rejected: &telegramtest.Rejection{Code: code, Description: text}}
	}
	temporary := func(err error) bool {
		refused, ok := errors.AsType[*channels.RefusedError](err)
		return ok && refused.Temporary
	}
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	unknown := func(err error) bool {
		_, limited := errors.AsType[*channels.RateLimitError](err)
		return !limited && !refused(err) && !errors.Is(err, channels.ErrGone) && !errors.Is(err, channels.ErrNotConnected) &&
			!errors.Is(err, channels.ErrMoved) && !errors.Is(err, channels.ErrUnauthorized) && !errors.Is(err, channels.ErrNoMessage)
	}
	for name, test := range map[string]struct {
		fault telegramtest.Fault
		want  func(error) bool
	}{
		"blocked":      {reject(403, "Forbidden: bot was blocked by the user"), is(channels.ErrGone)},
		"kicked":       {reject(403, "Forbidden: bot was kicked from the supergroup chat"), is(channels.ErrGone)},
		"deactivated":  {reject(403, "Forbidden: user is deactivated"), is(channels.ErrGone)},
		"no chat":      {reject(400, "Bad Request: chat not found"), is(channels.ErrGone)},
		"peer":         {reject(400, "Bad Request: PEER_ID_INVALID"), is(channels.ErrGone)},
		"token":        {reject(401, "Unauthorized"), is(channels.ErrUnauthorized)},
		"no token":     {reject(404, "Not Found"), is(channels.ErrUnauthorized)},
		"no method":    {reject(404, "Not Found: method not found"), refused},
		"no rights":    {reject(400, "Bad Request: not enough rights to send text messages to the chat"), refused},
		"too long":     {reject(400, "Bad Request: message is too long"), refused},
		"ill":          {reject(500, "Internal Server Error"), temporary},
		"bad gateway":  {reject(502, "Bad Gateway"), temporary},
		"page":         {platformtest.BadGateway(1), unknown},
		"cut":          {telegramtest.Fault{Cut: true}, unknown},
		"lost":         {telegramtest.Fault{Lost: true}, unknown},
		"half":         {telegramtest.Fault{Half: true}, unknown},
		"not JSON":     {telegramtest.Fault{Status: 200, Body: "fine"}, unknown},
		"other JSON":   {telegramtest.Fault{Status: 200, Body: `[1]`}, unknown},
		"no message":   {telegramtest.Fault{Status: 200, Body: `{"ok":true,"result":true}`}, unknown},
		"no code":      {telegramtest.Fault{Status: 500, Body: `{"ok":false}`}, unknown},
		"redirect":     {telegramtest.Fault{Status: 302, Body: "<html></html>"}, unknown},
		"moved":        {telegramtest.Fault{Rejected: &telegramtest.Rejection{Code: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: -1001}}, is(channels.ErrMoved)},
		"huge answer":  {telegramtest.Fault{Status: 400, Body: strings.Repeat("x", 1<<20)}, unknown},
		"gone message": {reject(400, "Bad Request: message to edit not found"), is(channels.ErrNoMessage)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := met(t)
			test.fault.Method = "sendMessage"
			r.Break(test.fault)
			id, err := r.c.Send(t.Context(), outbound(r.direct(), "x"))
			if err == nil || id != "" || !test.want(err) {
				t.Errorf("%q, %v", id, err)
			}
		})
	}
}

func TestASendThatIsCutShortIsUnknown(t *testing.T) {
	t.Parallel()
	r, _ := met(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.c.Send(ended, outbound(r.direct(), "x")); !errors.Is(err, channels.ErrNotConnected) {
		t.Errorf("a context that ended before: %v", err)
	}
	r.Break(telegramtest.Fault{Method: "sendMessage", Mute: true})
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = r.Await(short, func() bool { return len(r.FromBot(r.ada.ID)) == 1 })
		cancel()
	}()
	if _, err := r.c.Send(short, outbound(r.direct(), "x")); err == nil || errors.Is(err, channels.ErrNotConnected) || refused(err) {
		t.Errorf("a context that ended after it left: %v", err)
	}
	if n := len(r.FromBot(r.ada.ID)); n != 1 {
		t.Errorf("%d messages are shown", n)
	}
}

func TestThirdLimitedChatMakesACrowd(t *testing.T) {
	t.Parallel()
	var l crowd
	now := time.Now()
	for i, step := range []struct {
		chat int64
		at   time.Duration
		want bool
	}{{1, 0, false}, {1, 1, false}, {2, 1, false}, {3, 1, true}, {4, 10 * time.Second, false}, {0, 11 * time.Second, true}} {
		if got := l.add(step.chat, 5*time.Second, now.Add(step.at)); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
}

// A text that cannot be parsed is logged as an error: it is our fault.
func TestDefectsAreLogged(t *testing.T) {
	t.Parallel()
	r, _ := met(t)
	var log lockedBuffer
	r.c.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, rich := range []string{`[{"type":"bold","offset":2,"length":9}]`, `nonsense`} {
		out := outbound(r.direct(), "bold")
		out.Body.Rich = []byte(rich)
		if _, err := r.c.Send(t.Context(), out); !refused(err) {
			t.Errorf("%s: %v", rich, err)
		}
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d defects: %s", n, &log)
	}
}

func TestSendToAMovedGroupReportsTheMove(t *testing.T) {
	t.Parallel()
	r, _ := met(t)
	group := r.AddGroup("Engines", r.ada)
	r.run(t)
	r.settled(t)
	before := len(r.Sink.Events())
	now := r.Migrate(group.ID)
	_, err := r.c.Send(t.Context(), outbound(conv(group.ID, channels.Group), "x"))
	if !errors.Is(err, channels.ErrMoved) {
		t.Fatal(err)
	}
	r.settled(t)
	var moves []channels.Event
	for _, e := range r.Sink.Events()[before:] {
		if e.Kind == channels.EventMoved {
			moves = append(moves, e)
		}
	}
	if len(moves) != 1 || moves[0].Former != conversationID(group.ID, 0) || moves[0].Conversation.ID != conversationID(now.ID, 0) {
		t.Errorf("told %d times: %+v", len(moves), moves)
	}
}

func files(list ...channels.File) channels.Body { return channels.Body{Files: list} }

func opener(data map[string]string) func(channels.File) (io.ReadCloser, error) {
	return func(f channels.File) (io.ReadCloser, error) {
		text, ok := data[f.Blob]
		if !ok {
			return nil, errors.New("no such blob")
		}
		return io.NopCloser(io.MultiReader(strings.NewReader(text), failing(strings.HasPrefix(f.Blob, "broken")))), nil
	}
}

type failing bool

func (f failing) Read([]byte) (int, error) {
	if f {
		return 0, errors.New("the disk is broken")
	}
	return 0, io.EOF
}

func TestFilesGoOutByTheMethodOfTheirKind(t *testing.T) {
	t.Parallel()
	r, _ := met(t)
	data := map[string]string{"a": "text\n", "p": "picture", "big": strings.Repeat("0123456789", 30_000), "broken": strings.Repeat("x", 100_000)}
	text := channels.File{Blob: "a", Name: "note.txt", Type: "text/plain", Size: 5}
	photo := channels.File{Blob: "p", Name: "ph/\"o\n.png", Type: "image/png", Size: 7}
	big := channels.File{Blob: "big", Name: "note.txt", Type: "application/octet-stream", Size: 300_000}
	send := func(body channels.Body) (channels.MessageID, error) {
		out := outbound(r.direct(), "")
		out.Body, out.Open = body, opener(data)
		return r.c.Send(t.Context(), out)
	}
	for _, test := range []struct {
		body   channels.Body
		method string
		names  []string
	}{
		{files(text), "sendDocument", []string{"note.txt"}},
		{files(photo), "sendPhoto", []string{"ph__o_.png"}},
		{files(big), "sendDocument", []string{"note.txt"}},
		{files(text, big), "sendMediaGroup", []string{"note.txt", "note-2.txt"}},
		{files(photo, photo), "sendMediaGroup", []string{"ph__o_.png", "ph__o_-2.png"}},
		{files(photo, text), "sendMediaGroup", []string{"ph__o_.png", "note.txt"}},
	} {
		before := len(r.FromBot(r.ada.ID))
		id, err := send(test.body)
		if err != nil || id == "" {
			t.Errorf("%s: %q, %v", test.method, id, err)
			continue
		}
		calls := r.Calls(test.method)
		if len(calls) == 0 {
			t.Errorf("%+v did not go by %s", test.body, test.method)
			continue
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(test.names)), slices.Sorted(slices.Values(calls[len(calls)-1].Files))); diff != "" {
			t.Errorf("%s: %s", test.method, diff)
		}
		if n := len(r.FromBot(r.ada.ID)) - before; n != len(test.names) {
			t.Errorf("%s shows %d messages", test.method, n)
		}
	}
	r.Break(telegramtest.Fault{Method: "sendPhoto", Rejected: &telegramtest.Rejection{Code: 400, Description: "Bad Request: PHOTO_INVALID_DIMENSIONS"}})
	documents := len(r.Calls("sendDocument"))
	if _, err := send(files(photo)); err != nil || len(r.Calls("sendDocument")) != documents+1 {
		t.Errorf("a picture that is no photo: %v", err)
	}
	shown := len(r.FromBot(r.ada.ID))
	for _, bad := range []channels.Body{files(channels.File{Blob: "gone", Name: "x"}), files(text, channels.File{Blob: "broken", Name: "x"}), files(make([]channels.File, 11)...)} {
		if _, err := send(bad); !refused(err) {
			t.Errorf("%d files: %v", len(bad.Files), err)
		}
	}
	if n := len(r.FromBot(r.ada.ID)); n != shown {
		t.Errorf("%d messages of files that could not be read", n-shown)
	}
}

func TestFetchStreamsFilesThatAreNotTooBig(t *testing.T) {
	t.Parallel()
	r, _ := met(t)
	r.Post(telegramtest.Post{Chat: r.ada.ID, Files: []telegramtest.File{{Kind: "document", Name: "a b.txt", Type: "text/plain", Data: []byte("some bytes")}}})
	r.Post(telegramtest.Post{Chat: r.ada.ID, Files: []telegramtest.File{{Kind: "document", Name: "big", Size: 21 << 20}}})
	r.run(t)
	events := r.Took(t, 3)
	var got bytes.Buffer
	if err := r.c.Fetch(t.Context(), events[1].Message.Attachments[0], &got); err != nil || got.String() != "some bytes" {
		t.Errorf("%q, %v", got.String(), err)
	}
	err := r.c.Fetch(t.Context(), events[2].Message.Attachments[0], &got)
	if e, ok := errors.AsType[*channels.RefusedError](err); !ok || !strings.Contains(e.Reason, "too big") {
		t.Errorf("a file of 21 MB: %v", err)
	}
}

func TestMenusAreSetWhereTheyDiffer(t *testing.T) {
	t.Parallel()
	r, _ := met(t)
	sets := []channels.CommandSet{
		{Kind: channels.Direct, Commands: []channels.Command{{Name: "help", About: "what I can do"}, {Name: "Not A Command", About: "x"}}},
		{Kind: channels.Direct, Language: "de", Commands: []channels.Command{{Name: "help", About: "was ich kann"}}},
		{Kind: channels.Group, Commands: []channels.Command{{Name: "help", About: "what I can do"}}},
		{Kind: channels.Direct, Sender: "4711", Commands: []channels.Command{{Name: "admin", About: "of a chat that is not known"}}},
		{Kind: channels.Direct, Sender: conversationString(r.ada.ID), Commands: []channels.Command{{Name: "admin", About: "more"}}},
	}
	for _, want := range []int{5, 5} { // one of them in vain each time
		if err := r.c.SetCommands(t.Context(), sets); err != nil {
			t.Fatal(err)
		}
		if n := len(r.Calls("getMyCommands")); n%want != 0 {
			t.Errorf("asked %d times", n)
		}
	}
	if n := len(r.Calls("setMyCommands")); n > 6 || r.Menus() != 4 {
		t.Errorf("set %d times: %d", n, r.Menus())
	}
	sets[2].Commands = nil
	if err := r.c.SetCommands(t.Context(), sets[2:3]); err != nil || len(r.Calls("deleteMyCommands")) != 1 {
		t.Errorf("%v, %d", err, len(r.Calls("deleteMyCommands")))
	}
	if err := r.c.SetCommands(t.Context(), []channels.CommandSet{{Kind: channels.Direct, Sender: "ada"}}); err == nil {
		t.Error("a handle is taken for an account")
	}
}

func conversationString(id int64) string { return string(conversationID(id, 0)) }

func TestWhatSomebodySentIsDeletedInADirectChat(t *testing.T) {
	t.Parallel()
	r, asked := met(t)
	if !r.c.Features(r.direct()).Removes || r.c.Features(conv(-5, channels.Group)).Removes {
		t.Error("deleting is offered elsewhere than in direct chats")
	}
	if err := r.c.Delete(t.Context(), r.direct(), messageID(int(asked))); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Messages(r.ada.ID) {
		if m.ID == asked {
			t.Errorf("it is there still: %+v", m)
		}
	}
}
