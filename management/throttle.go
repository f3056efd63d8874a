package management

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// The limits of management.md §2.6 on attempts to guess a secret or to annoy a user. The
// Store counts the attempts, so that neither a restart nor another process gives new
// ones. While the Store does not work, no attempt is allowed.
var (
	userAttempts      = Limit{N: 5, Per: time.Minute}
	verificationMails = Limit{N: 6, Per: 24 * time.Hour}
	addressMails      = Limit{N: 6, Per: 24 * time.Hour}
	organizationMails = Limit{N: 50, Per: time.Hour}
	emailProofs       = Limit{N: 6, Per: 20 * time.Minute}
	secondFactors     = Limit{N: 6, Per: 20 * time.Minute}
	signIns           = Limit{N: 30, Per: 10 * time.Minute}  // of an account, and of a browser that knows it
	clientSignIns     = Limit{N: 100, Per: 10 * time.Minute} // of a client's network, for all accounts together
	passwordResets    = Limit{N: 6, Per: 24 * time.Hour}
)

// throttle counts an attempt. It returns an ErrThrottled if there were too many.
func (s *Service) throttle(ctx context.Context, bucket string, l Limit) error {
	wait, err := s.c.Store.Throttle(ctx, bucket, l, s.now())
	if err != nil {
		return fmt.Errorf("management: count an attempt: %w", err)
	}
	if wait > 0 {
		return throttledError(wait)
	}
	return nil
}

func userBucket(u *User) string { return "user:" + strconv.FormatInt(u.ID, 10) }
