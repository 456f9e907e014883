package telegramtest

import (
	"slices"
	"strconv"

	"switchboard/internal/words"
)

// A scope says who sees a list of commands.
//
// Source: https://core.telegram.org/bots/api#botcommandscope
type scope struct {
	Type   string `json:"type"`
	ChatID any    `json:"chat_id"`
	UserID int64  `json:"user_id"`
}

// A scopeKey names one list of commands.
type scopeKey struct {
	typ        string
	chat, user int64
	language   string
}

var (
	commandName  = words.Pattern(`^[a-z0-9_]{1,32}$`)
	languageCode = words.Pattern(`^[a-z]{2}$`)
	chatScopes   = []string{"chat", "chat_administrators", "chat_member"}
	plainScopes  = []string{"default", "all_private_chats", "all_group_chats", "all_chat_administrators"}
)

// scope reads which list a call is about.
func (s *calls) scope(b *Bot, p *params) scopeKey {
	const page = "botcommandscope"
	sc := scope{Type: "default"}
	p.decode("scope", page, &sc)
	key := scopeKey{typ: sc.Type, language: p.values["language_code"]}
	p.failIf(key.language != "" && !languageCode().MatchString(key.language), "setmycommands", "invalid language code specified")
	if slices.Contains(plainScopes, sc.Type) {
		return key
	}
	p.failIf(!slices.Contains(chatScopes, sc.Type), page, "can't parse BotCommandScope: Unsupported type specified")
	switch id := sc.ChatID.(type) {
	case float64:
		key.chat = int64(id)
	case string:
		key.chat, _ = strconv.ParseInt(id, 10, 64)
	}
	p.failIf(s.find(b, key.chat) == nil, page, "chat not found")
	if sc.Type == "chat_member" {
		key.user = sc.UserID
		p.failIf(s.users[key.user] == nil, page, "user not found")
	}
	return key
}

func (s *calls) setMyCommands(b *Bot, p *params) any {
	const page = "setmycommands"
	key := s.scope(b, p)
	var commands []Command
	p.failIf(!p.decode("commands", page, &commands), page, "can't parse commands: expected an Array of BotCommand")
	p.failIf(len(commands) > 100, page, "BOT_COMMANDS_TOO_MUCH")
	for _, c := range commands {
		p.failIf(!commandName().MatchString(c.Command), "botcommand", "BOT_COMMAND_INVALID")
		n := Units(c.Description)
		p.failIf(n < 1 || n > 256, "botcommand", "BOT_COMMAND_DESCRIPTION_INVALID")
	}
	if p.wrong == nil {
		b.commands[key] = commands
	}
	return true
}

func (s *calls) getMyCommands(b *Bot, p *params) any {
	return append([]Command{}, b.commands[s.scope(b, p)]...)
}

func (s *calls) deleteMyCommands(b *Bot, p *params) any {
	if key := s.scope(b, p); p.wrong == nil {
		delete(b.commands, key)
	}
	return true
}

// Menus counts the lists of commands that the first bot has set.
func (s *people) Menus() int {
	s.Lock()
	defer s.Unlock()
	return len(s.bots[0].commands)
}

// Menu is what a user sees in a chat: the narrowest list that is set, in the user's
// language if there is one.
//
// Source: https://core.telegram.org/bots/api#determining-list-of-commands
func (s *people) Menu(chatID, user int64) []Command {
	s.Lock()
	defer s.Unlock()
	return s.menu(s.bots[0], s.mustChat(nil, chatID), user)
}

func (s *world) menu(b *Bot, c *chat, user int64) []Command {
	narrowing := []scopeKey{{typ: "chat", chat: c.ID}, {typ: "all_private_chats"}, {typ: "default"}}
	if c.Type != "private" {
		narrowing = []scopeKey{{typ: "chat_member", chat: c.ID, user: user}}
		status := c.members[user]
		admin := status == "administrator" || status == "creator"
		if admin {
			narrowing = append(narrowing, scopeKey{typ: "chat_administrators", chat: c.ID})
		}
		narrowing = append(narrowing, scopeKey{typ: "chat", chat: c.ID})
		if admin {
			narrowing = append(narrowing, scopeKey{typ: "all_chat_administrators"})
		}
		narrowing = append(narrowing, scopeKey{typ: "all_group_chats"}, scopeKey{typ: "default"})
	}
	language := ""
	if u := s.users[user]; u != nil {
		language = u.LanguageCode
	}
	for _, key := range narrowing {
		for _, key.language = range []string{language, ""} {
			if commands := b.commands[key]; len(commands) > 0 {
				return commands
			}
		}
	}
	return nil
}
