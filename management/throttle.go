package management

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The limits of management.md §2.6 on attempts to guess a secret or to annoy a user. The
// Store counts the attempts, so that neither a restart nor another process gives new
// ones. While the Store does not work, no attempt is allowed.
var (
	userAttempts      = storage.Limit{N: 5, Per: time.Minute}
	verificationMails = storage.Limit{N: 6, Per: 24 * time.Hour}
	addressMails      = storage.Limit{N: 6, Per: 24 * time.Hour}
	organizationMails = storage.Limit{N: 50, Per: time.Hour}
	emailProofs       = storage.Limit{N: 6, Per: 20 * time.Minute}
	secondFactors     = storage.Limit{N: 6, Per: 20 * time.Minute}
	signIns           = storage.Limit{N: 30, Per: 10 * time.Minute}  // of an account, and of a browser that knows it
	clientSignIns     = storage.Limit{N: 100, Per: 10 * time.Minute} // of a client's network, for all accounts together
	passwordResets    = storage.Limit{N: 6, Per: 24 * time.Hour}
)

// throttle counts an attempt. It returns an ErrThrottled if there were too many.
func (s *Service) throttle(ctx context.Context, bucket string, l storage.Limit) error {
	wait, err := s.c.Store.Throttle(ctx, bucket, l, s.now())
	if err != nil {
		return fmt.Errorf("management: count an attempt: %w", err)
	}
	if wait > 0 {
		return throttledError(wait)
	}
	return nil
}

func userBucket(u *storage.User) string { return "user:" + strconv.FormatInt(u.ID, 10) }
