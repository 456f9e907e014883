package discordtest

// at finds the channel of a call. The bot must be there and have these permissions; a call
// about what it cannot see at all is answered like that.
func (s *calls) at(r *request, needs uint64) (*place, *Rejection) {
	p := s.places[r.PathValue("channel")]
	if p == nil {
		return nil, UnknownChannel
	}
	if p.Type == TypeDirect {
		return p, nil
	}
	denied := p.denied
	if up := s.places[p.ParentID]; up != nil {
		denied |= up.denied
	}
	switch {
	case s.guilds[p.GuildID].botIn == "" || denied&ViewChannel != 0:
		return nil, MissingAccess
	case denied&needs != 0:
		return nil, MissingPermissions
	}
	return p, nil
}

func (s *calls) getChannel(r *request) (any, *Rejection) {
	p, refused := s.at(r, 0)
	if refused != nil {
		return nil, refused
	}
	return p.Channel, nil
}

func (s *calls) openDirect(r *request) (any, *Rejection) {
	var body struct {
		Recipient string `json:"recipient_id"`
	}
	if refused := r.decode(&body); refused != nil {
		return nil, refused
	}
	if s.users[body.Recipient] == nil {
		return nil, UnknownUser
	}
	return s.direct(body.Recipient).Channel, nil
}

// startThread makes a thread of a message; it has the message's number.
//
// Source: https://docs.discord.com/developers/resources/channel#start-thread-from-message.
func (s *calls) startThread(r *request) (any, *Rejection) {
	p, refused := s.at(r, CreateThreads)
	if refused != nil {
		return nil, refused
	}
	var body struct {
		Name string `json:"name"`
	}
	if refused := r.decode(&body); refused != nil {
		return nil, refused
	}
	m := p.byID(r.PathValue("message"))
	switch n := Units(body.Name); {
	case p.Type != TypeText:
		return nil, &Rejection{Status: 400, Code: 50024, Message: "Cannot execute action on this channel type"}
	case m == nil:
		return nil, UnknownMessage
	case m.thread != nil:
		return nil, ThreadExists
	case n < 1 || n > 100:
		return nil, invalid("name: Must be between 1 and 100 in length.")
	}
	return s.begin(p, m, s.bot.ID, body.Name), nil
}
