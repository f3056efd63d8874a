package mail

import (
	"context"
	"net"
)

// SetDial makes s connect in another way.
func (s *SMTP) SetDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.dial = dial
}
