package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sessions opens connections for tasks that last as long as the connection.
type sessions struct {
	config *pgx.ConnConfig

	// patience is how long a connection may be silent before it is pinged, and
	// how long it may take to answer.
	patience time.Duration
}

var patience = 5 * time.Second // tests set it lower

func (s sessions) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, s.config.Copy())
}

func (s sessions) hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	_ = conn.Close(ctx)
}

// listen is Listen of sqldb.Dialect.
func (s sessions) listen(ctx context.Context, channel string, heard func()) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer s.hangUp(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	heard()
	return s.attend(ctx, conn, heard)
}

// attend calls heard for each notification of a connection. It returns nil when
// ctx ends, and an error when the connection is lost.
func (s sessions) attend(ctx context.Context, conn *pgx.Conn, heard func()) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, s.patience)
		_, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			heard()
		case ctx.Err() != nil:
			return nil
		case !pgconn.Timeout(err):
			return err
		default:
			if err := s.ping(ctx, conn); err != nil {
				return err
			}
		}
	}
}

// ping is not interrupted when ctx ends, which would break the connection.
func (s sessions) ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	return conn.Ping(ctx)
}

// leaderLocks is the class of the leaders' advisory locks: "lead".
const leaderLocks = 0x6c656164

// lead is Lead of sqldb.Dialect. The server releases the lock when
// the connection is lost. The loss is reported at once unless the network is
// gone.
func (s sessions) lead(ctx context.Context, name string, f func(context.Context) error) (led bool, err error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	defer s.hangUp(conn)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	key := int32(hash.Sum32())
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", leaderLocks, key).Scan(&led); err != nil || !led {
		return false, err
	}
	work, end := context.WithCancelCause(ctx)
	defer end(nil)
	attending, stop := context.WithCancel(context.WithoutCancel(ctx))
	lost := make(chan error, 1)
	go func() {
		err := s.attend(attending, conn, func() {})
		if err != nil {
			err = fmt.Errorf("postgres: the lock %q is lost: %w", name, err)
			end(err)
		}
		lost <- err
	}()
	defer func() { // also after a panic
		stop()
		if e := <-lost; e != nil {
			err = errors.Join(err, e)
			return
		}
		// Closing the connection releases the lock too, but only a moment
		// later.
		unlocking, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
		defer cancel()
		_, _ = conn.Exec(unlocking, "SELECT pg_advisory_unlock($1, $2)", leaderLocks, key)
	}()
	return true, f(work)
}
