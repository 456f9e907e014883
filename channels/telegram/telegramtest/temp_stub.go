package telegramtest

import "net/http"

type press struct{}
type webhook struct{}
type scopeKey struct{}

func (s *Server) page() http.Handler                             { return http.NotFoundHandler() }
func parseMode(mode, text string) (string, []Entity, *Rejection) { return text, nil, nil }
