package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// The shapes below are what we need of the platform's objects and no more: a field
// that nobody here reads cannot make an update unreadable, and a kind the library
// does not know yet does not either.
//
// Source: https://core.telegram.org/bots/api#available-types.

type wireUpdate struct {
	Message       *wireMessage  `json:"message"`
	EditedMessage *wireMessage  `json:"edited_message"`
	CallbackQuery *wireQuery    `json:"callback_query"`
	MyChatMember  *wireMember   `json:"my_chat_member"`
	Reaction      *wireReaction `json:"message_reaction"`
}

type wireUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	// of getMe alone
	CanJoinGroups           bool `json:"can_join_groups"`
	CanReadAllGroupMessages bool `json:"can_read_all_group_messages"`
}

type wireChat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private | group | supergroup | channel
	Title     string `json:"title"`
	Username  string `json:"username"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

type wireMessage struct {
	unread []string // what could not be read of it; see readUpdate

	ID             int         `json:"message_id"`
	ThreadID       int         `json:"message_thread_id"`
	IsTopicMessage bool        `json:"is_topic_message"`
	From           *wireUser   `json:"from"`
	SenderChat     *wireChat   `json:"sender_chat"`
	Date           int64       `json:"date"`
	EditDate       int64       `json:"edit_date"`
	Chat           wireChat    `json:"chat"`
	ForwardOrigin  *wireOrigin `json:"forward_origin"`
	IsAutoForward  bool        `json:"is_automatic_forward"`
	// What servers of before Bot API 7.0 send in place of forward_origin; see origin.
	ForwardFrom       *wireUser              `json:"forward_from"`
	ForwardFromChat   *wireChat              `json:"forward_from_chat"`
	ForwardSenderName string                 `json:"forward_sender_name"`
	ForwardSignature  string                 `json:"forward_signature"`
	ForwardDate       int64                  `json:"forward_date"`
	ReplyTo           *wireMessage           `json:"reply_to_message"`
	Quote             *struct{ Text string } `json:"quote"`
	ViaBot            *wireUser              `json:"via_bot"`
	MediaGroupID      string                 `json:"media_group_id"`
	Text              string                 `json:"text"`
	Entities          []wireEntity           `json:"entities"`
	Caption           string                 `json:"caption"`
	CaptionEntities   []wireEntity           `json:"caption_entities"`

	Photo     []wireFile              `json:"photo"`
	Document  *wireFile               `json:"document"`
	Voice     *wireFile               `json:"voice"`
	Audio     *wireFile               `json:"audio"`
	Video     *wireFile               `json:"video"`
	VideoNote *wireFile               `json:"video_note"`
	Animation *wireFile               `json:"animation"`
	Sticker   *struct{ Emoji string } `json:"sticker"`
	Location  *wireLocation           `json:"location"`
	Venue     *wireVenue              `json:"venue"`
	Contact   *wireContact            `json:"contact"`
	Poll      *wirePoll               `json:"poll"`
	Dice      *wireDice               `json:"dice"`

	// What people send that is not read here; only its presence counts.
	Story     json.RawMessage `json:"story"`
	Checklist json.RawMessage `json:"checklist"`
	Game      json.RawMessage `json:"game"`
	Invoice   json.RawMessage `json:"invoice"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Giveaway  json.RawMessage `json:"giveaway"`

	MigrateTo    int64           `json:"migrate_to_chat_id"`
	MigrateFrom  int64           `json:"migrate_from_chat_id"`
	TopicCreated json.RawMessage `json:"forum_topic_created"`
}

type wireEntity struct {
	Type   string    `json:"type"`
	Offset int       `json:"offset"` // in UTF-16 code units
	Length int       `json:"length"`
	User   *wireUser `json:"user"`
}

type wireOrigin struct {
	SenderUser     *wireUser `json:"sender_user"`
	SenderUserName string    `json:"sender_user_name"`
	SenderChat     *wireChat `json:"sender_chat"`
	Chat           *wireChat `json:"chat"`
	Signature      string    `json:"author_signature"`
}

// wireFile is any kind of file: all name their fields alike.
type wireFile struct {
	ID     string `json:"file_id"`
	Name   string `json:"file_name"`
	Type   string `json:"mime_type"`
	Size   int64  `json:"file_size"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

type wireLocation struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type wireVenue struct {
	Location wireLocation `json:"location"`
	Title    string       `json:"title"`
	Address  string       `json:"address"`
}

type wireContact struct {
	Phone     string `json:"phone_number"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

type wirePoll struct {
	Question string `json:"question"`
	Options  []struct {
		Text string `json:"text"`
	} `json:"options"`
}

type wireDice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

type wireQuery struct {
	ID      string       `json:"id"`
	From    wireUser     `json:"from"`
	Message *wireMessage `json:"message"` // may be inaccessible: then chat and ID alone
	Data    string       `json:"data"`
}

type wireMember struct {
	Chat wireChat   `json:"chat"`
	From wireUser   `json:"from"`
	Date int64      `json:"date"`
	Old  wireStatus `json:"old_chat_member"`
	New  wireStatus `json:"new_chat_member"`
}

type wireStatus struct {
	Status   string `json:"status"` // creator | administrator | member | restricted | left | kicked
	IsMember bool   `json:"is_member"`
	CanSend  bool   `json:"can_send_messages"`
}

type wireReaction struct {
	Chat      wireChat   `json:"chat"`
	MessageID int        `json:"message_id"`
	User      *wireUser  `json:"user"`
	ActorChat *wireChat  `json:"actor_chat"`
	Date      int64      `json:"date"`
	Old       []wireSign `json:"old_reaction"`
	New       []wireSign `json:"new_reaction"`
}

type wireSign struct {
	Type  string `json:"type"` // emoji | custom_emoji | paid
	Emoji string `json:"emoji"`
	ID    string `json:"custom_emoji_id"`
}

// decode reads a result as T.
func decode[T any](raw []byte) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// optional are the parts of a message without which the rest means the same. Who wrote
// it, where, in answer to what and in whose words is not among them: a message of which
// that cannot be read is rejected whole.
var optional = []string{
	"text", "entities", "caption", "caption_entities", "date", "edit_date", "media_group_id",
	"photo", "document", "voice", "audio", "video", "video_note", "animation",
	"sticker", "location", "venue", "contact", "poll", "dice",
}

// mostOdd is how many fields of one update may be odd.
const mostOdd = 16

// readUpdate reads an update without those optional fields that are not as documented,
// and says which they are.
func readUpdate(raw []byte) (w wireUpdate, odd []string, err error) {
	for {
		w, err = decode[wireUpdate](raw)
		field, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if !ok || len(odd) == mostOdd {
			break
		}
		path := strings.Split(field.Field, ".")
		if len(path) < 2 || path[0] != "message" && path[0] != "edited_message" || !slices.Contains(optional, path[1]) {
			break
		}
		rest, changed := without(raw, path)
		if !changed {
			break
		}
		raw, odd = rest, append(odd, strings.Join(path[1:], "."))
	}
	for _, m := range []*wireMessage{w.Message, w.EditedMessage} {
		if m != nil {
			m.unread = odd
		}
	}
	return w, odd, err
}

// without is raw without the field at path; in a list, that of each element.
func without(raw []byte, path []string) (rest []byte, changed bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil || !remove(tree, path) {
		return raw, false
	}
	rest, err := json.Marshal(tree)
	return rest, err == nil
}

func remove(tree any, path []string) (changed bool) {
	switch tree := tree.(type) {
	case []any:
		for _, element := range tree {
			changed = remove(element, path) || changed
		}
	case map[string]any:
		if len(path) > 1 {
			return remove(tree[path[0]], path[1:])
		}
		_, changed = tree[path[0]]
		delete(tree, path[0])
	}
	return changed
}
