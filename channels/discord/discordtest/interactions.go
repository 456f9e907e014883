package discordtest

import (
	"slices"
	"time"

	"switchboard/internal/words"
)

// answerWithin is how long the platform waits for the answer to an interaction.
//
// Source: https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction.
const answerWithin = 3 * time.Second

// interaction makes one. It is called under the lock.
func (s *people) interaction(p *place, user string, kind int, message *stored, data any) string {
	i := &Interaction{ID: s.id(), token: "token-" + s.id(), at: s.Now(), place: p.ID}
	told := map[string]any{
		"id": i.ID, "application_id": s.app.ID, "type": kind, "token": i.token, "version": 1, "channel_id": p.ID, "data": data,
		"channel": p.Channel, "locale": "en-US",
	}
	if message != nil {
		i.message = message.ID
		told["message"] = *message.wire()
	}
	if p.GuildID != "" {
		told["guild_id"], told["member"] = p.GuildID, map[string]any{"user": *s.users[user], "permissions": "0"}
	} else {
		told["user"] = *s.users[user]
	}
	s.presses[i.ID] = i
	s.tell("INTERACTION_CREATE", p.GuildID, told)
	return i.ID
}

// Press makes a person press the button of that label under a message and returns the
// interaction's ID. It panics where there is none.
func (s *people) Press(channel, user, id, label string) (interaction string) {
	s.Change(func() {
		p, m := s.find(channel, id)
		for _, row := range m.Components {
			for _, b := range row.Components {
				if b.Label == label {
					interaction = s.interaction(p, user, 3, m, map[string]any{"component_type": 2, "custom_id": b.CustomID})
					return
				}
			}
		}
		panic(detail("no button %q is under %s", label, id))
	})
	return interaction
}

// Give makes a person give a command of the bot with one text, and returns the interaction's
// ID.
func (s *people) Give(channel, user, command, text string) (interaction string) {
	s.Change(func() {
		data := map[string]any{"id": "1", "type": 1, "name": command}
		if text != "" {
			data["options"] = []any{map[string]any{"name": "text", "type": 3, "value": text}}
		}
		interaction = s.interaction(s.mustPlace(channel), user, 2, nil, data)
	})
	return interaction
}

// Answers are what the bot answered to an interaction.
func (s *people) Answers(interaction string) []Callback {
	s.Lock()
	defer s.Unlock()
	if i := s.presses[interaction]; i != nil {
		return slices.Clone(i.Answers)
	}
	return nil
}

// respond is the answer to an interaction: one, and in time.
func (s *calls) respond(r *request) (any, *Rejection) {
	i := s.presses[r.PathValue("interaction")]
	var answer Callback
	if refused := r.decode(&answer); refused != nil {
		return nil, refused
	}
	switch {
	case i == nil || i.token != r.PathValue("token") || s.Now().Sub(i.at) > answerWithin:
		return nil, UnknownInteraction
	case len(i.Answers) > 0:
		return nil, Acknowledged
	case !slices.Contains([]int{4, 5, 6, 7}, answer.Type) || answer.Type == 6 && i.message == "":
		return nil, invalid("type: Value must be one of {4, 5, 6, 7}.")
	case answer.Type == 4 && (answer.Data.Content == "" || Units(answer.Data.Content) > maxText):
		return nil, EmptyMessage
	}
	i.Answers = append(i.Answers, answer)
	if answer.Type == 4 && answer.Data.Flags&flagEphemeral == 0 {
		p := s.places[i.place]
		m := &stored{Message: Message{Content: answer.Data.Content}}
		s.post(p, m, s.bot, nil)
		s.tell("MESSAGE_CREATE", p.GuildID, *m.wire())
	}
	return nil, nil
}

// commandName is how a command may be called.
//
// Source: https://docs.discord.com/developers/interactions/application-commands#application-command-object-application-command-naming.
var commandName = words.Pattern(`^[-_'\p{Ll}\p{Lo}\p{N}]{1,32}$`)

func (s *calls) createCommand(r *request) (any, *Rejection) {
	var c Command
	if refused := r.decode(&c); refused != nil {
		return nil, refused
	}
	switch n := Units(c.Description); {
	case !commandName().MatchString(c.Name):
		return nil, invalid("name: Command name is invalid")
	case n < 1 || n > 100:
		return nil, invalid("description: Must be between 1 and 100 in length.")
	}
	for _, text := range c.Localizations {
		if n := Units(text); n < 1 || n > 100 {
			return nil, invalid("description_localizations: Must be between 1 and 100 in length.")
		}
	}
	c.ID, c.ApplicationID, c.Type, c.Version = s.id(), s.app.ID, 1, s.id()
	i := slices.IndexFunc(s.commands, func(o Command) bool { return o.Name == c.Name })
	if i < 0 {
		if len(s.commands) >= 100 {
			return nil, &Rejection{Status: 400, Code: 30032, Message: "Maximum number of application commands reached (100)"}
		}
		s.commands = append(s.commands, c)
		return c, nil
	}
	c.ID = s.commands[i].ID
	s.commands[i] = c
	return c, nil
}

func (s *calls) deleteCommand(r *request) (any, *Rejection) {
	before := len(s.commands)
	s.commands = slices.DeleteFunc(s.commands, func(c Command) bool { return c.ID == r.PathValue("command") })
	if len(s.commands) == before {
		return nil, UnknownCommand
	}
	return nil, nil
}

// Commands are those that the bot registered.
func (s *calls) Commands() []Command {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.commands)
}
