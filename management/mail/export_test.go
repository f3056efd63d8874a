package mail

import (
	"context"
	"net"
)

// SetDial replaces the function by which s connects.
func (s *SMTP) SetDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.dial = dial
}
