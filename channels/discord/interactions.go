package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"switchboard/channels"
	"switchboard/channels/render"
	"switchboard/channels/wire"
)

// What whoever pressed a button or gave a command is shown, to nobody else.
const (
	textLate  = "Not confirmed yet; pressing again is harmless."
	textGiven = "Got it."
	textMute  = "There is no answer here."
	// maxToast keeps a notice to a few lines.
	maxToast = 300
)

// pressesAtOnce bounds the interactions under way: their answers are a courtesy.
const pressesAtOnce = 64

// A press is one interaction. The platform waits three seconds for its answer and tells it only
// once.
//
// Source: https://docs.discord.com/developers/interactions/receiving-and-responding#responding-to-an-interaction.
type press chan channels.Receipt

// taken says that the event was taken, or is nothing of ours; of none it does nothing.
func (p press) taken(r channels.Receipt) {
	select {
	case p <- r:
	default:
	}
}

// begin answers an interaction as soon as it is taken, or says in time that it is not yet.
func (l *connection) begin(ctx context.Context, raw json.RawMessage) press {
	var i interaction
	if json.Unmarshal(raw, &i) != nil || i.ID == 0 || i.Token == "" {
		return nil
	}
	one := make(press, 1)
	if !l.presses.TryGo(func() error {
		late := time.NewTimer(l.c.pace.press)
		defer late.Stop()
		var text string
		select {
		case r := <-one:
			text = shownFor(&i, r)
		case <-late.C:
			text = textLate
		case <-ctx.Done():
			return nil
		}
		if err := l.c.respond(ctx, &i, text); err != nil {
			l.c.Log.DebugContext(ctx, "an interaction was not answered", "error", err)
		}
		return nil
	}) {
		return nil
	}
	return one
}

// shownFor is what is shown for an interaction that was taken; empty: nothing.
func shownFor(i *interaction, r channels.Receipt) string {
	switch {
	case r.Silent && i.Type == interactionCommand: // unanswered, people are shown that the bot failed
		return textMute
	case r.Silent:
		return ""
	case r.Rejected != "":
		return render.Clip(r.Rejected, maxToast)
	case i.Type == interactionCommand:
		return textGiven
	}
	return render.Clip(r.Toast, maxToast)
}

// respond answers an interaction: a button without a trace, or with a line that only whoever
// pressed it sees.
func (a *api) respond(ctx context.Context, i *interaction, text string) error {
	answer := discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	if text != "" {
		answer.Type = discordgo.InteractionResponseChannelMessageWithSource
		answer.Data = &discordgo.InteractionResponseData{
			Content: escape(text), Flags: discordgo.MessageFlagsEphemeral, AllowedMentions: &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}},
		}
	}
	r := route{op: opRespond, method: http.MethodPost, path: "/interactions/" + i.ID.String() + "/" + i.Token + "/callback", major: i.ID.String()}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return a.do(ctx, r, answer)
}

// interacted makes EventAction of a button and EventMessage of a command.
func interacted(ctx context.Context, h *reader) ([]channels.Event, error) {
	i, err := parse[interaction](h)
	elsewhere := i.Guild == 0 && i.In != nil && i.In.Type != typeDirect // in a chat of others
	if err != nil || elsewhere || !h.c.serves(i.Guild) {
		return nil, err
	}
	who := i.who()
	if i.ID == 0 || who == nil || who.ID == 0 {
		return nil, errors.New("the interaction has no number or nobody did it")
	}
	conv, _, err := h.c.conversation(ctx, i.Channel, i.Guild, who)
	if err != nil {
		return nil, err
	}
	e := channels.Event{Conversation: conv, Sender: sender(who), At: i.ID.at()}
	switch {
	case i.Type == interactionButton && i.Message != nil && i.Data.Code != "":
		e.Kind, e.Key = channels.EventAction, wire.Key(h.bot.String(), "action", i.ID.String())
		e.Action = channels.Action{Code: i.Data.Code, MessageID: messageID(i.Message.ID)}
	case i.Type == interactionCommand && i.Data.Name != "":
		e.Kind, e.Key = channels.EventMessage, wire.Key(h.bot.String(), "command", i.ID.String())
		e.Message = channels.Message{ID: "c" + messageID(i.ID), Text: strings.TrimSpace("/" + wire.Clean(i.Data.Name) + typed(i.Data.Options)), Mentioned: true}
	default:
		return nil, fmt.Errorf("interactions of type %d are not known here", i.Type)
	}
	return []channels.Event{e}, nil
}

// typed is the options of a command as somebody would type them.
func typed(options []option) string {
	var b strings.Builder
	for _, o := range options {
		var text string
		if json.Unmarshal(o.Value, &text) != nil {
			text = string(o.Value) // a number, true or false
		}
		if len(o.Options) > 0 { // of a command below a command
			text = o.Name + typed(o.Options)
		}
		b.WriteString(" " + wire.Clean(text))
	}
	return b.String()
}
