//go:build unix

package natstest

import (
	"syscall"
	"testing"
)

// Pause stops the process until Resume, as SIGSTOP does: its connections stay, and it says
// nothing.
func (s *Server) Pause(tb testing.TB) { s.signal(tb, syscall.SIGSTOP) }

// Resume lets the process go on.
func (s *Server) Resume(tb testing.TB) { s.signal(tb, syscall.SIGCONT) }

func (s *Server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
}
