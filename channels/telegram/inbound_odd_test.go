package telegram

import (
	"fmt"
	"testing"

	"switchboard/channels"
)

// One odd field costs what it says and no more: the rest of the message is taken, and what
// is missing is named. What says who wrote it, or in whose words, is not optional.
func TestOddFieldsAreLeftOutAndTheRestTaken(t *testing.T) {
	t.Parallel()
	const file = `"document":{"file_id":"f1","file_name":"a.txt","mime_type":"text/plain","file_size":7}`
	doc := func(name string, size int64) []channels.Attachment {
		return []channels.Attachment{{ID: "f1", Kind: channels.Document, Name: name, Type: "text/plain", Size: size}}
	}
	for name, c := range map[string]struct {
		more  string
		text  string
		files []channels.Attachment
		bad   bool
	}{
		"nothing odd":    {more: `"caption":"see",` + file, text: "see", files: doc("a.txt", 7)},
		"NUL in a name":  {more: `"caption":"see","document":{"file_id":"f1","file_name":"a\u0000.txt","mime_type":"text/plain"}`, text: "see", files: doc("a\ufffd.txt", 0)},
		"NUL in text":    {more: `"text":"a\u0000b"`, text: "a\ufffdb"},
		"escaped slash":  {more: `"text":"a\\u0000b"`, text: `a\u0000b`},
		"size 1.5":       {more: `"caption":"see","document":{"file_id":"f1","file_name":"a.txt","mime_type":"text/plain","file_size":1.5}`, text: "see\n[could not be read here: document.file_size]", files: doc("a.txt", 0)},
		"two odd":        {more: `"caption":7,"document":{"file_id":"f1","file_name":[],"mime_type":"text/plain"}`, text: "[could not be read here: caption, document.file_name]", files: []channels.Attachment{{ID: "f1", Kind: channels.Document, Name: "document-7", Type: "text/plain"}}},
		"no file at all": {more: `"caption":"see","document":"gone"`, text: "see\n[could not be read here: document]"},
		"a file's ID":    {more: `"document":{"file_id":5}`, text: "[could not be read here: document.file_id]"},
		"a photo's size": {more: `"caption":"see","photo":[{"file_id":"p1","width":"wide","height":2}]`, text: "see\n[could not be read here: photo.width]", files: []channels.Attachment{{ID: "p1", Kind: channels.Photo, Name: "photo-7.jpg", Type: "image/jpeg"}}},
		"entities":       {more: `"text":"hello","entities":{"type":"bold"}`, text: "hello\n[could not be read here: entities]"},
		"a contact":      {more: `"contact":{"phone_number":49}`, text: "[contact: , ]\n[could not be read here: contact.phone_number]"},
		"a forward":      {more: `"text":"hello","forward_origin":"somebody"`, bad: true},
		"an old forward": {more: `"text":"hello","forward_from":"somebody"`, bad: true},
		"a chat's name":  {more: `"text":"hello","sender_chat":5`, bad: true},
		"both":           {more: `"text":5,"forward_origin":"somebody"`, bad: true},
		"an answer":      {more: `"text":"hello","reply_to_message":[]`, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Inject(fmt.Sprintf(`{"update_id":UPDATE_ID,"message":{"message_id":7,"date":1700000000,"from":{"id":%d,"first_name":"Ada"},"chat":{"id":%[1]d,"type":"private"},%s}}`, r.ada.ID, c.more))
			r.run(t)
			got := r.Took(t, 1)[0]
			if c.bad {
				if got.Kind != channels.EventUndecodable {
					t.Errorf("taken: %+v", got)
				}
				return
			}
			if got.Kind != channels.EventMessage || got.Message.Text != c.text || fmt.Sprint(got.Message.Attachments) != fmt.Sprint(c.files) {
				t.Errorf("%+v, %s", got, got.Reason)
			}
		})
	}
}
