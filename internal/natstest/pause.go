//go:build unix

package natstest

import (
	"syscall"
	"testing"
)

// Pause stops the process until Resume, as SIGSTOP does: its connections stay, and it says
// nothing.
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGSTOP)
	// It stops in its own time.
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(s.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err != nil:
			tb.Fatalf("wait for a process to stop: %v", err)
		case status.Stopped():
			return
		default:
			tb.Fatalf("a process has ended that was to stop: %v", status)
		}
	}
}

// Resume lets the process go on.
func (s *Server) Resume(tb testing.TB) { s.signal(tb, syscall.SIGCONT) }

func (s *Server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
}
