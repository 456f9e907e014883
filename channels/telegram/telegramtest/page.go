package telegramtest

import "net/http"

func (s *Server) page() http.Handler { return http.NotFoundHandler() }
