//go:build !linux

package serve

import (
	"context"
	"time"
)

// empty waits for the time of a handshake, so that connections are taken that wait
// for it. It cannot see whether there are any.
func empty(ctx context.Context, l *listener, handshake time.Duration) error {
	l.withdraw()
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	<-ctx.Done()
	return nil
}
