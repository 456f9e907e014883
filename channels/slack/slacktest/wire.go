package slacktest

import "encoding/json"

// The types below are the platform's, with its names in JSON.

// A User is a person or a bot.
//
// Source: https://docs.slack.dev/reference/objects/user-object.
type User struct {
	ID       string  `json:"id"`
	Team     string  `json:"team_id"`
	Name     string  `json:"name"`
	RealName string  `json:"real_name"`
	IsBot    bool    `json:"is_bot"`
	Deleted  bool    `json:"deleted"`
	Profile  Profile `json:"profile"`

	bot string // the bot's own ID
}

// A Profile is what people see of a user.
type Profile struct {
	DisplayName string `json:"display_name"`
	RealName    string `json:"real_name"`
	Team        string `json:"team"`
}

// A Message is one in a conversation.
//
// Source: https://docs.slack.dev/reference/events/message.
type Message struct {
	Type         string          `json:"type"`
	Subtype      string          `json:"subtype,omitempty"`
	User         string          `json:"user,omitempty"`
	BotID        string          `json:"bot_id,omitempty"`
	AppID        string          `json:"app_id,omitempty"`
	Team         string          `json:"team,omitempty"`
	UserTeam     string          `json:"user_team,omitempty"`
	SourceTeam   string          `json:"source_team,omitempty"`
	ClientMsgID  string          `json:"client_msg_id,omitempty"`
	Text         string          `json:"text"`
	TS           string          `json:"ts"`
	ThreadTS     string          `json:"thread_ts,omitempty"`
	ParentUserID string          `json:"parent_user_id,omitempty"`
	ReplyCount   int             `json:"reply_count,omitempty"`
	LatestReply  string          `json:"latest_reply,omitempty"`
	Edited       *Edited         `json:"edited,omitempty"`
	Blocks       json.RawMessage `json:"blocks,omitempty"`
	Files        []SharedFile    `json:"files,omitempty"`
	Upload       bool            `json:"upload,omitempty"`
	Reactions    []Reaction      `json:"reactions,omitempty"`
	Metadata     *Metadata       `json:"metadata,omitempty"`
}

// Edited says who changed a message, and when.
type Edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// Metadata is what an app keeps with its message.
//
// Source: https://docs.slack.dev/messaging/message-metadata.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// A Reaction is an emoji on a message, by name.
type Reaction struct {
	Name  string   `json:"name"`
	Count int      `json:"count"`
	Users []string `json:"users"`
}

// A SharedFile is a file as messages tell it.
//
// Source: https://docs.slack.dev/reference/objects/file-object.
type SharedFile struct {
	ID          string          `json:"id"`
	Name        string          `json:"name,omitempty"`
	Title       string          `json:"title,omitempty"`
	Mimetype    string          `json:"mimetype,omitempty"`
	Filetype    string          `json:"filetype,omitempty"`
	Subtype     string          `json:"subtype,omitempty"`
	Mode        string          `json:"mode,omitempty"`
	FileAccess  string          `json:"file_access,omitempty"`
	Size        int64           `json:"size,omitempty"`
	User        string          `json:"user,omitempty"`
	Created     int64           `json:"created,omitempty"`
	URLPrivate  string          `json:"url_private,omitempty"`
	URLDownload string          `json:"url_private_download,omitempty"`
	Shares      map[string]any  `json:"shares,omitempty"`
	Rest        json.RawMessage `json:"-"`
}

// A Channel is a conversation as the platform tells it.
//
// Source: https://docs.slack.dev/reference/objects/conversation-object.
type Channel struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	IsChannel   bool   `json:"is_channel"`
	IsGroup     bool   `json:"is_group"`
	IsIM        bool   `json:"is_im"`
	IsMPIM      bool   `json:"is_mpim"`
	IsPrivate   bool   `json:"is_private"`
	IsArchived  bool   `json:"is_archived"`
	IsMember    bool   `json:"is_member"`
	IsExtShared bool   `json:"is_ext_shared"`
	User        string `json:"user,omitempty"` // of a direct one
	Created     int64  `json:"created"`
}
