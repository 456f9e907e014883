package telegram

import (
	"fmt"
	"testing"
)

// A server of before Bot API 7.0 says in other fields where a message is from: its words are not
// the sender's own either.
func TestOldForwardsAreForwards(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ more, origin string }{
		"a user":      {`"forward_from":{"id":9,"first_name":"Eve"},"forward_date":1600000000`, "Eve"},
		"a channel":   {`"forward_from_chat":{"id":-100,"type":"channel","title":"News"},"forward_signature":"Eve","forward_date":1600000000`, "News (Eve)"},
		"hidden":      {`"forward_sender_name":"Eve","forward_date":1600000000`, "Eve"},
		"the date":    {`"forward_date":1600000000`, ""},
		"the user":    {`"forward_from":{"id":9,"first_name":"Eve"}`, "Eve"},
		"the channel": {`"forward_from_chat":{"id":-100,"type":"channel","title":"News"}`, "News"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.Inject(fmt.Sprintf(`{"update_id":UPDATE_ID,"message":{"message_id":7,"date":1700000000,"from":{"id":%d,"first_name":"Ada"},"chat":{"id":%[1]d,"type":"private"},"text":"hello",%s}}`, r.ada.ID, c.more))
			r.run(t)
			if got := r.Took(t, 1)[0].Message; !got.Forwarded || got.Origin != c.origin {
				t.Errorf("%+v", got)
			}
		})
	}
}
