package telegramtest

// The types below are the platform's, with its names in JSON; each is described at
// https://core.telegram.org/bots/api#available-types.

// A User is a person or a bot.
type User struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	LastName     string `json:"last_name,omitempty"`
	Username     string `json:"username,omitempty"` // without the @
	LanguageCode string `json:"language_code,omitempty"`
}

// A Chat is a direct chat (its ID is the user's), a group, a supergroup or a channel.
type Chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private, group, supergroup, channel
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// A Message is one message as the platform tells it.
type Message struct {
	ID              int64           `json:"message_id"`
	ThreadID        int64           `json:"message_thread_id,omitempty"`
	From            *User           `json:"from,omitempty"`
	SenderChat      *Chat           `json:"sender_chat,omitempty"`
	Date            int64           `json:"date"`
	Chat            Chat            `json:"chat"`
	ForwardOrigin   *Origin         `json:"forward_origin,omitempty"`
	IsTopicMessage  bool            `json:"is_topic_message,omitempty"`
	ReplyTo         *Message        `json:"reply_to_message,omitempty"`
	Quote           *TextQuote      `json:"quote,omitempty"`
	EditDate        int64           `json:"edit_date,omitempty"`
	MediaGroupID    string          `json:"media_group_id,omitempty"`
	Text            string          `json:"text,omitempty"`
	Entities        []Entity        `json:"entities,omitempty"`
	Document        *Media          `json:"document,omitempty"`
	Photo           []Media         `json:"photo,omitempty"`
	Voice           *Media          `json:"voice,omitempty"`
	Audio           *Media          `json:"audio,omitempty"`
	Video           *Media          `json:"video,omitempty"`
	Sticker         *Media          `json:"sticker,omitempty"`
	Location        *Location       `json:"location,omitempty"`
	Contact         *Contact        `json:"contact,omitempty"`
	Caption         string          `json:"caption,omitempty"`
	CaptionEntities []Entity        `json:"caption_entities,omitempty"`
	ReplyMarkup     *InlineKeyboard `json:"reply_markup,omitempty"`

	NewChatMembers    []User        `json:"new_chat_members,omitempty"`
	LeftChatMember    *User         `json:"left_chat_member,omitempty"`
	MigrateToChatID   int64         `json:"migrate_to_chat_id,omitempty"`
	MigrateFromChatID int64         `json:"migrate_from_chat_id,omitempty"`
	ForumTopicCreated *TopicCreated `json:"forum_topic_created,omitempty"`
}

// A Media is a file in a message: document, a size of a photo, voice, audio, video
// or sticker; each has some of the fields.
type Media struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileName     string `json:"file_name,omitempty"`
	MimeType     string `json:"mime_type,omitempty"`
	FileSize     int64  `json:"file_size,omitempty"` // bytes
	Width        int    `json:"width,omitempty"`
	Height       int    `json:"height,omitempty"`
	Duration     int    `json:"duration,omitempty"` // seconds
	Emoji        string `json:"emoji,omitempty"`    // sticker
	Type         string `json:"type,omitempty"`     // sticker: regular
	IsAnimated   *bool  `json:"is_animated,omitempty"`
	IsVideo      *bool  `json:"is_video,omitempty"`
}

// A Location is a point on the map.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// A Contact is somebody's telephone number.
type Contact struct {
	PhoneNumber string `json:"phone_number"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name,omitempty"`
	UserID      int64  `json:"user_id,omitempty"`
}

// An Origin says where a forwarded message comes from.
type Origin struct {
	Type           string `json:"type"` // user, hidden_user, chat, channel
	Date           int64  `json:"date"`
	SenderUser     *User  `json:"sender_user,omitempty"`
	SenderUserName string `json:"sender_user_name,omitempty"`
	SenderChat     *Chat  `json:"sender_chat,omitempty"`
	Chat           *Chat  `json:"chat,omitempty"`
	MessageID      int64  `json:"message_id,omitempty"`
}

// A TextQuote is the part of a message that a reply quotes.
type TextQuote struct {
	Text     string `json:"text"`
	Position int    `json:"position"` // UTF-16 units
	IsManual bool   `json:"is_manual,omitempty"`
}

// TopicCreated is the service message that begins a topic.
type TopicCreated struct {
	Name      string `json:"name"`
	IconColor int    `json:"icon_color"`
}

// An InlineKeyboard stands under a message.
type InlineKeyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// A Button of an inline keyboard.
type Button struct {
	Text         string `json:"text"`
	CallbackData string `json:"callback_data,omitempty"`
	URL          string `json:"url,omitempty"`
}

// A Reaction is one sign on a message.
type Reaction struct {
	Type  string `json:"type"` // emoji
	Emoji string `json:"emoji,omitempty"`
}

// A Callback tells that a button was pressed.
type Callback struct {
	ID           string   `json:"id"`
	From         User     `json:"from"`
	Message      *Message `json:"message,omitempty"`
	ChatInstance string   `json:"chat_instance"`
	Data         string   `json:"data,omitempty"`
}

// A ReactionChange tells that somebody changed their reactions to a message.
type ReactionChange struct {
	Chat      Chat       `json:"chat"`
	MessageID int64      `json:"message_id"`
	User      *User      `json:"user,omitempty"`
	Date      int64      `json:"date"`
	Old       []Reaction `json:"old_reaction"`
	New       []Reaction `json:"new_reaction"`
}

// A Member is somebody's place in a chat.
type Member struct {
	User      User   `json:"user"`
	Status    string `json:"status"` // creator, administrator, member, left, kicked
	UntilDate *int64 `json:"until_date,omitempty"`
}

// A MemberChange tells that somebody's place in a chat changed.
type MemberChange struct {
	Chat Chat   `json:"chat"`
	From User   `json:"from"`
	Date int64  `json:"date"`
	Old  Member `json:"old_chat_member"`
	New  Member `json:"new_chat_member"`
}

// An Update is one thing that the platform tells a bot.
type Update struct {
	ID                int64           `json:"update_id"`
	Message           *Message        `json:"message,omitempty"`
	EditedMessage     *Message        `json:"edited_message,omitempty"`
	ChannelPost       *Message        `json:"channel_post,omitempty"`
	EditedChannelPost *Message        `json:"edited_channel_post,omitempty"`
	CallbackQuery     *Callback       `json:"callback_query,omitempty"`
	MyChatMember      *MemberChange   `json:"my_chat_member,omitempty"`
	ChatMember        *MemberChange   `json:"chat_member,omitempty"`
	MessageReaction   *ReactionChange `json:"message_reaction,omitempty"`
}

// kind is the update's field, as allowed_updates names it.
func (u Update) kind() string {
	switch {
	case u.Message != nil:
		return "message"
	case u.EditedMessage != nil:
		return "edited_message"
	case u.ChannelPost != nil:
		return "channel_post"
	case u.EditedChannelPost != nil:
		return "edited_channel_post"
	case u.CallbackQuery != nil:
		return "callback_query"
	case u.MyChatMember != nil:
		return "my_chat_member"
	case u.ChatMember != nil:
		return "chat_member"
	case u.MessageReaction != nil:
		return "message_reaction"
	}
	return ""
}

// A Command is one line of a bot's menu.
type Command struct {
	Command     string `json:"command"` // without the slash
	Description string `json:"description"`
}
