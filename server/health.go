package server

import (
	"errors"
	"net/http"
)

// A NotReady is an error of [Config.Ready] that says in What, in words that
// everybody may read, what does not work. /readyz shows it. Err has the cause, for
// the log. It is nil if the program is not ready on purpose, which is not logged.
type NotReady struct {
	What string
	Err  error
}

func (e *NotReady) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

func (e *NotReady) Unwrap() error { return e.Err }

// healthz says that the process answers.
func (s *Server) healthz(x *exchange) error {
	return x.respond(http.StatusOK, typeText, []byte("ok"))
}

// readyz says whether the server can do its work. Balancers ask every second, so
// only changes are logged.
func (s *Server) readyz(x *exchange) error {
	var err error
	if s.config.Ready != nil {
		err = s.config.Ready(x.r.Context())
	}
	if err == nil {
		if s.unready.Swap(nil) != nil {
			s.config.Log.Info("ready again")
		}
		return x.respond(http.StatusOK, typeText, []byte("ready"))
	}
	text, onPurpose := "not ready", false
	if e, ok := errors.AsType[*NotReady](err); ok {
		text += ": " + e.What
		onPurpose = e.Err == nil
	}
	if old := s.unready.Swap(&text); (old == nil || *old != text) && !onPurpose {
		s.config.Log.Error(text, "error", err)
	}
	x.w.Header()["Retry-After"] = []string{"1"}
	return x.respond(http.StatusServiceUnavailable, typeText, []byte(text))
}
