package discord

import (
	"cmp"
	"encoding/json"

	"switchboard/channels/wire"
)

// What is read of the platform's payloads; fields that do not matter here are left out, so that
// an odd one among them costs nothing.

// Source: https://docs.discord.com/developers/resources/user#user-object.
type user struct {
	ID         snowflake `json:"id"`
	Username   string    `json:"username"`
	GlobalName string    `json:"global_name"`
	Bot        bool      `json:"bot"`
	System     bool      `json:"system"`
}

func (u *user) label() string { return wire.Clean(cmp.Or(u.GlobalName, u.Username)) }

// Source: https://docs.discord.com/developers/resources/message#message-object.
type message struct {
	ID         snowflake               `json:"id"`
	Channel    snowflake               `json:"channel_id"`
	Guild      snowflake               `json:"guild_id"`
	Author     *user                   `json:"author"`
	Content    string                  `json:"content"`
	Edited     string                  `json:"edited_timestamp"`
	Mentions   []user                  `json:"mentions"`
	Roles      []snowflake             `json:"mention_roles"`
	Files      []file                  `json:"attachments"`
	Type       int                     `json:"type"`
	Flags      int                     `json:"flags"`
	Webhook    string                  `json:"webhook_id"`
	Reference  *reference              `json:"message_reference"`
	Referenced *message                `json:"referenced_message"`
	Snapshots  []snapshot              `json:"message_snapshots"`
	Stickers   []struct{ Name string } `json:"sticker_items"`
	Poll       *poll                   `json:"poll"`
}

type member struct {
	User *user `json:"user"`
}

type reference struct {
	Type    int       `json:"type"`
	Message snowflake `json:"message_id"`
}

// referenceForward is the type of a forward; others are answers.
//
// Source: https://docs.discord.com/developers/resources/message#message-reference-types.
const referenceForward = 1

// Source: https://docs.discord.com/developers/resources/message#message-snapshot-object.
type snapshot struct {
	Message message `json:"message"`
}

type poll struct {
	Question struct {
		Text string `json:"text"`
	} `json:"question"`
	Answers []struct {
		Media struct {
			Text string `json:"text"`
		} `json:"poll_media"`
	} `json:"answers"`
}

// Source: https://docs.discord.com/developers/resources/message#attachment-object.
type file struct {
	ID       snowflake `json:"id"`
	Filename string    `json:"filename"`
	Title    string    `json:"title"`
	Type     string    `json:"content_type"`
	Size     int64     `json:"size"`
	URL      string    `json:"url"`
	Waveform string    `json:"waveform"` // of a voice message alone
}

// A head is what each message says of itself, and all that is told of those that were deleted.
//
// Source: https://docs.discord.com/developers/events/gateway-events#message-delete.
type head struct {
	ID      snowflake   `json:"id"`
	IDs     []snowflake `json:"ids"`
	Channel snowflake   `json:"channel_id"`
	Guild   snowflake   `json:"guild_id"`
}

// Source: https://docs.discord.com/developers/events/gateway-events#message-reaction-add.
type reaction struct {
	User    snowflake `json:"user_id"`
	Channel snowflake `json:"channel_id"`
	Message snowflake `json:"message_id"`
	Guild   snowflake `json:"guild_id"`
	Member  *member   `json:"member"`
	Emoji   struct {
		ID   *snowflake `json:"id"`
		Name string     `json:"name"`
	} `json:"emoji"`
}

// Source: https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object.
type interaction struct {
	ID      snowflake `json:"id"`
	Type    int       `json:"type"`
	Token   string    `json:"token"`
	Channel snowflake `json:"channel_id"`
	Guild   snowflake `json:"guild_id"`
	Member  *member   `json:"member"`
	User    *user     `json:"user"`
	Message *message  `json:"message"`
	In      *place    `json:"channel"` // where it was caused
	Data    struct {
		Name    string   `json:"name"`
		Code    string   `json:"custom_id"`
		Options []option `json:"options"`
	} `json:"data"`
}

// The types of interactions.
const (
	interactionCommand = 2
	interactionButton  = 3
)

type option struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Options []option        `json:"options"`
}

// who is whoever caused an interaction.
func (i *interaction) who() *user {
	if i.Member != nil && i.Member.User != nil {
		return i.Member.User
	}
	return i.User
}
