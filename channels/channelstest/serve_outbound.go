package channelstest

import (
	"net/http"

	"switchboard/channels/channelstest/scripted"
)

func (s *Server) change(w http.ResponseWriter, r *http.Request) {
	var call scripted.Change
	if read(w, r, &call) {
		id, err := s.platform.Change(r.Context(), call)
		answer(w, scripted.Reply{ID: id}, err)
	}
}
