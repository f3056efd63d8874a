//go:build !linux

package serve

import (
	"context"
	"net"
	"time"
)

// empty waits for the time of a handshake, so that connections are taken that wait
// for it. It cannot see whether there are any.
func empty(ctx context.Context, _ net.Listener, handshake time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	<-ctx.Done()
}
