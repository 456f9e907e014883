package discordtest

import (
	"encoding/json"
	"time"
)

// A User is an account.
//
// Source: https://docs.discord.com/developers/resources/user#user-object.
type User struct {
	ID            string `json:"id"`
	Username      string `json:"username"`
	GlobalName    string `json:"global_name,omitempty"`
	Discriminator string `json:"discriminator"`
	Bot           bool   `json:"bot,omitempty"`
}

// Name is what people see.
func (u *User) Name() string {
	if u.GlobalName != "" {
		return u.GlobalName
	}
	return u.Username
}

// An Application is what a bot belongs to. Its flags tell the intents that are enabled.
//
// Source: https://docs.discord.com/developers/resources/application#application-object.
type Application struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Flags     int    `json:"flags"`
	BotPublic bool   `json:"bot_public"`
}

// flagContent says that the message content intent is enabled.
const flagContent = 1 << 19

// A Message is one as the platform tells it.
//
// Source: https://docs.discord.com/developers/resources/message#message-object.
type Message struct {
	ID              string          `json:"id"`
	ChannelID       string          `json:"channel_id"`
	GuildID         string          `json:"guild_id,omitempty"`
	Author          User            `json:"author"`
	Content         string          `json:"content"`
	Timestamp       string          `json:"timestamp"`
	EditedTimestamp *string         `json:"edited_timestamp"`
	MentionEveryone bool            `json:"mention_everyone"`
	Mentions        []User          `json:"mentions"`
	MentionRoles    []string        `json:"mention_roles"`
	Attachments     []Attachment    `json:"attachments"`
	Embeds          []Embed         `json:"embeds"`
	Components      []Row           `json:"components"`
	Reactions       []Reaction      `json:"reactions,omitempty"`
	Pinned          bool            `json:"pinned"`
	Type            int             `json:"type"`
	Flags           int             `json:"flags"`
	Reference       *Reference      `json:"message_reference,omitempty"`
	Referenced      *Message        `json:"referenced_message,omitempty"`
	Snapshots       []Snapshot      `json:"message_snapshots,omitempty"`
	Nonce           json.RawMessage `json:"nonce,omitempty"` // in the answer to its sender and in MESSAGE_CREATE alone
	Thread          *Channel        `json:"thread,omitempty"`
}

// A Reference names the message that another one answers or forwards.
type Reference struct {
	Type      int    `json:"type"` // 0 an answer, 1 a forward
	MessageID string `json:"message_id,omitempty"`
	ChannelID string `json:"channel_id,omitempty"`
	GuildID   string `json:"guild_id,omitempty"`
	FailIfNot *bool  `json:"fail_if_not_exists,omitempty"`
}

// A Snapshot is what a forwarded message said.
type Snapshot struct {
	Message struct {
		Content     string       `json:"content"`
		Attachments []Attachment `json:"attachments"`
	} `json:"message"`
}

// An Attachment is a file of a message.
type Attachment struct {
	ID          string  `json:"id"`
	Filename    string  `json:"filename"`
	Title       string  `json:"title,omitempty"`
	ContentType string  `json:"content_type,omitempty"`
	Size        int64   `json:"size"`
	URL         string  `json:"url"`
	ProxyURL    string  `json:"proxy_url"`
	Seconds     float64 `json:"duration_secs,omitempty"`
	Waveform    string  `json:"waveform,omitempty"` // of a voice message alone
}

// An Embed is what the platform shows of a link.
type Embed struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// A Row is a row of buttons.
//
// Source: https://docs.discord.com/developers/components/reference.
type Row struct {
	Type       int      `json:"type"`
	Components []Button `json:"components"`
}

// A Button is one under a message.
type Button struct {
	Type     int    `json:"type"`
	Style    int    `json:"style"`
	Label    string `json:"label"`
	CustomID string `json:"custom_id,omitempty"`
	URL      string `json:"url,omitempty"`
}

// A Reaction is a sign on a message.
type Reaction struct {
	Count int      `json:"count"`
	Me    bool     `json:"me"`
	Emoji Emoji    `json:"emoji"`
	users []string // who put it
}

// An Emoji is one of all, or with an ID a guild's own.
type Emoji struct {
	ID   *string `json:"id"`
	Name string  `json:"name"`
}

// A Channel is a place as the platform tells it.
//
// Source: https://docs.discord.com/developers/resources/channel#channel-object.
type Channel struct {
	ID          string  `json:"id"`
	Type        int     `json:"type"`
	GuildID     string  `json:"guild_id,omitempty"`
	ParentID    string  `json:"parent_id,omitempty"`
	Name        string  `json:"name,omitempty"`
	OwnerID     string  `json:"owner_id,omitempty"`
	LastMessage *string `json:"last_message_id"`
	Recipients  []User  `json:"recipients,omitempty"`
}

// The types of channels that are here.
const (
	TypeText   = 0
	TypeDirect = 1
	TypeThread = 11
	TypeForum  = 15
)

// A Command is one that the bot registered.
//
// Source: https://docs.discord.com/developers/interactions/application-commands#application-command-object.
type Command struct {
	ID               string            `json:"id"`
	ApplicationID    string            `json:"application_id"`
	Type             int               `json:"type"`
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	Localizations    map[string]string `json:"description_localizations,omitempty"`
	Contexts         []int             `json:"contexts,omitempty"`
	IntegrationTypes []int             `json:"integration_types,omitempty"`
	Options          []json.RawMessage `json:"options,omitempty"`
	Version          string            `json:"version"`
}

// An Interaction is a button that was pressed, or a command that was given.
//
// Source: https://docs.discord.com/developers/interactions/receiving-and-responding.
type Interaction struct {
	ID      string
	Answers []Callback // what the bot answered
	token   string
	at      time.Time
	place   string
	message string
}

// A Callback is the answer to an interaction.
type Callback struct {
	Type int `json:"type"`
	Data struct {
		Content string `json:"content"`
		Flags   int    `json:"flags"`
	} `json:"data"`
}
