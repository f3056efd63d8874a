package server

import (
	"fmt"
	"net/http"
)

// healthz says that the process answers.
func (s *Server) healthz(x *exchange) error {
	return x.respond(http.StatusOK, typeText, []byte("ok"))
}

// readyz says whether the server can do its work.
func (s *Server) readyz(x *exchange) error {
	if s.config.Ready != nil {
		if err := s.config.Ready(x.r.Context()); err != nil {
			return fmt.Errorf("%w: %w", errNotReady, err)
		}
	}
	return x.respond(http.StatusOK, typeText, []byte("ready"))
}
