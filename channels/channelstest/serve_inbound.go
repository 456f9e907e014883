package channelstest

import (
	"net/http"

	"switchboard/channels/channelstest/scripted"
)

func (s *Server) toast(w http.ResponseWriter, r *http.Request) {
	var call scripted.ToastCall
	if read(w, r, &call) {
		answer(w, scripted.Reply{}, s.platform.Toast(r.Context(), call.Callback, call.Text))
	}
}

func (s *Server) fetch(w http.ResponseWriter, r *http.Request) {
	var call scripted.FetchCall
	if read(w, r, &call) {
		data, err := s.platform.Fetch(r.Context(), call.ID)
		answer(w, scripted.Reply{Data: data}, err)
	}
}
