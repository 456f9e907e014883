package slack

// A wireMessage is a message, or what happened to one.
//
// Source: https://docs.slack.dev/reference/events/message.
type wireMessage struct {
	Type        string       `json:"type"`
	Subtype     string       `json:"subtype"`
	Channel     string       `json:"channel"`
	ChannelType string       `json:"channel_type"`
	User        string       `json:"user"`
	BotID       string       `json:"bot_id"`
	Team        string       `json:"team"`
	UserTeam    string       `json:"user_team"`
	SourceTeam  string       `json:"source_team"`
	Text        string       `json:"text"`
	TS          string       `json:"ts"`
	EventTS     string       `json:"event_ts"`
	ThreadTS    string       `json:"thread_ts"`
	ParentUser  string       `json:"parent_user_id"`
	ReplyCount  int          `json:"reply_count"`
	DeletedTS   string       `json:"deleted_ts"`
	Edited      *wireEdited  `json:"edited"`
	Files       []wireFile   `json:"files"`
	Now         *wireMessage `json:"message"`          // message_changed
	Before      *wireMessage `json:"previous_message"` // message_changed, message_deleted
	Forwarded   []struct {
		IsShare    bool       `json:"is_share"`
		IsUnfurl   bool       `json:"is_msg_unfurl"`
		Text       string     `json:"text"`
		AuthorName string     `json:"author_name"`
		Files      []wireFile `json:"files"`
	} `json:"attachments"`
	Metadata *struct {
		Type    string `json:"event_type"`
		Payload struct {
			Nonce string `json:"nonce"`
		} `json:"event_payload"`
	} `json:"metadata"`
}

type wireEdited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// A wireFile is a file of a message.
//
// Source: https://docs.slack.dev/reference/objects/file-object.
type wireFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"mimetype"`
	Subtype  string `json:"subtype"`
	Mode     string `json:"mode"`
	Size     int64  `json:"size"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
	Shares   struct {
		Public  map[string][]wireShare `json:"public"`
		Private map[string][]wireShare `json:"private"`
	} `json:"shares"`
}

// A wireShare is a message that shows a file.
type wireShare struct {
	TS string `json:"ts"`
}

// A wireEvent is an event that is no message.
type wireEvent struct {
	Type     string `json:"type"`
	User     string `json:"user"`
	Channel  string `json:"channel"`
	Thread   string `json:"thread_ts"`
	EventTS  string `json:"event_ts"`
	Reaction string `json:"reaction"`
	ItemUser string `json:"item_user"` // who wrote what was reacted to
	Actor    string `json:"actor_id"`
	Inviter  string `json:"inviter"`
	Old      string `json:"old_channel_id"`
	New      string `json:"new_channel_id"`
	Item     struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	} `json:"item"`
}

// A wirePress is what somebody did with a button.
//
// Source: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload.
type wirePress struct {
	Type string `json:"type"`
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Container struct {
		Channel   string `json:"channel_id"`
		TS        string `json:"message_ts"`
		Thread    string `json:"thread_ts"`
		Ephemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	Message struct {
		Thread string `json:"thread_ts"`
	} `json:"message"`
	ResponseURL string `json:"response_url"`
	Actions     []struct {
		Value string `json:"value"`
		At    string `json:"action_ts"`
	} `json:"actions"`
}

// A wireCommand is a slash command.
//
// Source: https://docs.slack.dev/interactivity/implementing-slash-commands.
type wireCommand struct {
	Channel     string `json:"channel_id"`
	User        string `json:"user_id"`
	Command     string `json:"command"`
	Text        string `json:"text"`
	Trigger     string `json:"trigger_id"`
	ResponseURL string `json:"response_url"`
}
